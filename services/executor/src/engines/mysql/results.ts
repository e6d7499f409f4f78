/**
 * Reads the response to an execution: columns, binary rows, end. A procedure can return several results.
 */

import { isUtf8 } from 'node:buffer';
import type { Outcome } from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import { turnForColumns } from '../../result/column-turns.ts';
import { OwnAnswer, ownAnswerBytesMax } from '../shared/bounds.ts';
import { formatError, outTextError, tooWideError } from './errors.ts';
import { ColumnReader, type Format, isEof, readEof, readLength, readOk, type Status } from './protocol.ts';
import { type ResultColumns, ResultColumnsReader } from './result-columns.ts';
import type { Prepared } from './statements.ts';
import { literal, wordsOf } from './text.ts';
import type { Response } from './wire.ts';

export interface ResultOptions {
  prepared: Prepared;
  sink: RowSink;
  /** Filled while the response is read. */
  outcome: Outcome;
  /** By default, the sink gets the first result. */
  allResults?: boolean | undefined;
}

/** The part of a session that its results share. */
export interface ResultHost {
  hasExtended: boolean;
  discarding: () => boolean;
  /** Called for each row that is dropped because no more are taken. */
  dropped: () => void;
  /** Called if a row could not be written. */
  onFailure: (err: unknown) => void;
  pause: () => void;
  resume: () => void;
  /** Reads the next packet in that turn. */
  readOnIn: (turn: Promise<void>) => void;
}

const okHeader = 0x00;
const asciiMax = 0x7f;

/** Reads one response to COM_STMT_EXECUTE or COM_QUERY. */
export class ResultReader {
  /** True if the statement, or a function in it, changed the session. */
  sessionChanged = false;
  /** The formats that it changed. */
  readonly changed = new Set<Format>();
  isCut = false;
  /** True if an OUT parameter has a text that is another one in some character sets. */
  hasForeignOut = false;
  /** True if the session is in a transaction after the statement. */
  inTransaction = false;
  /** The error of a row that could not be written. Later rows were dropped. */
  failure: unknown;
  readonly #options: ResultOptions;
  readonly #host: ResultHost;
  #state: 'head' | 'columns' | 'columns-end' | 'rows' = 'head';
  #columnsReader: ResultColumnsReader | undefined;
  /** Those of the last result that the sink got. */
  #columns: ResultColumns | undefined;
  /** Of the results before it. Their columns are not kept: a procedure can return many wide ones. */
  #earlierFormats: Set<Format> | undefined;
  /** False in a result that the sink does not get: it is read and dropped. */
  #isAnswer = false;
  /** True in the result that has the values of OUT parameters. */
  #areOut = false;
  /** Includes rows that the sink dropped: a write with RETURNING affected all of them. */
  #rowsSeen = 0;

  constructor(options: ResultOptions, host: ResultHost) {
    this.#options = options;
    this.#host = host;
  }

  readonly response: Response = (source, start, end) => {
    switch (this.#state) {
      case 'head':
        return this.#readHead(source, start, end);
      case 'columns':
        this.#readColumn(source, start, end);
        return false;
      case 'columns-end':
        this.#areOut = readEof(source, start).areOutParameters;
        this.#begin();
        this.#state = 'rows';
        return false;
      default:
        if (isEof(source, start, end)) return this.#end(source, start);
        this.#row(source, start, end);
        return false;
    }
  };

  /** The server was made to end the statement, so that it did not report what that changed. */
  cut(inTransaction: boolean): void {
    this.isCut = true;
    this.#noteStatus({ sessionChanged: true, inTransaction });
    this.#options.outcome.affectedRows = this.#rowsSeen;
  }

  /** The settings by which the server wrote the values that the sink got. */
  get formats(): Set<Format> {
    const formats = this.#earlierFormats ?? new Set();
    for (const format of this.#columns?.formats ?? []) formats.add(format);
    return formats;
  }

  #readHead(source: Buffer, start: number, end: number): boolean {
    const { outcome, prepared } = this.#options;
    if (source[start] === okHeader) {
      const status = readOk(source, start, end);
      const { affectedRows, insertId, moreResults } = status;
      this.#noteStatus(status);
      for (const format of status.changed) this.changed.add(format);
      if (!outcome.hasRows) {
        outcome.affectedRows = affectedRows;
        if (insertId !== '0') outcome.insertId = insertId;
      }
      // The last of several results has no rows, and the one before it may have paused the socket.
      if (!moreResults) this.#leaveRows();
      return !moreResults;
    }
    const count = readLength(source, start).value;
    if (count === 0) throw new RangeError('The server announced a result without columns.');
    this.#columnsReader = new ResultColumnsReader(prepared, count, this.#host.hasExtended);
    this.#state = 'columns';
    this.#takeTurn();
    return false;
  }

  #readColumn(source: Buffer, start: number, end: number): void {
    if (this.#columnsReader?.read(source, start, end)) this.#state = 'columns-end';
    else this.#takeTurn();
  }

  #takeTurn(): void {
    const { seen, count } = this.#columnsReader as ResultColumnsReader;
    const turn = turnForColumns(seen, count);
    if (turn !== undefined) this.#host.readOnIn(turn);
  }

  #begin(): void {
    const { sink, outcome, allResults = false } = this.#options;
    this.#isAnswer = allResults || !outcome.hasRows;
    if (!this.#isAnswer) {
      outcome.moreResults = true;
      return;
    }
    outcome.hasRows = true;
    if (this.#columnsReader?.isTooWide) {
      this.#fail(tooWideError());
      return;
    }
    const { columns } = this.#columnsReader as ResultColumnsReader;
    if (this.#columns !== undefined && this.#columns !== columns) this.#earlierFormats = this.formats;
    this.#columns = columns;
    if (columns.isForeign) this.#fail(formatError('character_set_results'));
    else sink.begin(columns.forSink(this.#areOut));
    sink.onDrain(this.#host.resume);
    if (sink.full) this.#host.pause();
  }

  #row(source: Buffer, start: number, end: number): void {
    if (!this.#isAnswer) return;
    this.#rowsSeen++;
    const { sink } = this.#options;
    if (this.#host.discarding() || this.failure !== undefined) return;
    if (sink.truncated) {
      sink.rowsRead?.();
      this.#host.dropped();
      return;
    }
    const columns = this.#columns as ResultColumns;
    if (findFields(source, start, columns) > end) throw new RangeError('A row is shorter than its fields.');
    if (this.#areOut) this.#judgeTexts(source, columns);
    if (this.failure !== undefined) return;
    try {
      sink.row(source, columns.offsets);
    } catch (err) {
      this.#fail(err);
      // The sink of a failed answer never drains.
      this.#host.resume();
      return;
    }
    if (sink.full) this.#host.pause();
  }

  /** MySQL sends a text of an OUT parameter in the parameter's own character set, and says nowhere which it is. */
  #judgeTexts(source: Buffer, columns: ResultColumns): void {
    const { offsets } = columns;
    for (const [i, { kind }] of columns.forSink(true).entries()) {
      const start = offsets[2 * i] as number;
      if (kind.is !== 'text' || start === -1) continue;
      const text = source.subarray(start, offsets[2 * i + 1]);
      if (!isUtf8(text)) this.#fail(outTextError());
      this.hasForeignOut ||= text.some((byte) => byte === 0 || byte > asciiMax);
    }
  }

  #fail(err: unknown): void {
    this.failure = err;
    this.#host.onFailure(err);
  }

  #end(source: Buffer, start: number): boolean {
    this.#state = 'head';
    if (this.#isAnswer) this.#options.outcome.affectedRows = this.#rowsSeen;
    const status = readEof(source, start);
    this.#noteStatus(status);
    // MySQL announces no packet after OUT parameters, and sends an OK.
    const isLast = !status.moreResults && !this.#areOut;
    // Only rows pause the socket, and no more rows for the sink follow.
    if (isLast || !this.#options.allResults) this.#leaveRows();
    return isLast;
  }

  #leaveRows(): void {
    this.#options.sink.rowsRead?.();
    this.#host.resume();
  }

  #noteStatus({ sessionChanged, inTransaction }: Pick<Status, 'sessionChanged' | 'inTransaction'>): void {
    this.sessionChanged ||= sessionChanged;
    this.inTransaction = inTransaction;
  }
}

/**
 * Finds the fields of a binary row: a zero byte, a bitmap of NULLs whose first two bits are unused, then the values.
 * Returns the end of the last value.
 */
function findFields(source: Buffer, start: number, columns: ResultColumns): number {
  if (columns.isText) return findTexts(source, start, columns);
  const { sizes, offsets } = columns;
  let at = start + 1 + ((sizes.length + 9) >> 3);
  for (let i = 0; i < sizes.length; i++) {
    const bit = i + 2;
    if (((source[start + 1 + (bit >> 3)] as number) & (1 << (bit & 7))) !== 0) {
      offsets[2 * i] = -1;
      continue;
    }
    const size = sizes[i] as number;
    if (size >= 0) {
      offsets[2 * i] = at;
      at += size;
    } else if (size === -2) {
      offsets[2 * i] = at + 1;
      at += 1 + (source[at] as number);
    } else {
      const { value, next } = readLength(source, at);
      offsets[2 * i] = next;
      at = next + value;
    }
    offsets[2 * i + 1] = at;
  }
  return at;
}

/** Finds the fields of a row of the text protocol. */
function findTexts(source: Buffer, start: number, { sizes, offsets }: ResultColumns): number {
  let at = start;
  for (let i = 0; i < sizes.length; i++) {
    const { value, next } = readLength(source, at);
    offsets[2 * i] = value < 0 ? -1 : next;
    at = next + Math.max(0, value);
    offsets[2 * i + 1] = at;
  }
  return at;
}

export type TextRow = (string | null)[];

/** Reads the rows of the hub's own queries, which use the text protocol. `rows` is complete when the response is. */
export function createTextReader(
  hasExtended: boolean,
  bytesMax = ownAnswerBytesMax,
): { rows: TextRow[]; response: Response } {
  const rows: TextRow[] = [];
  let columns: ColumnReader | undefined;
  let state: 'columns' | 'columns-end' | 'rows' = 'columns';
  const answer = new OwnAnswer(bytesMax);
  const response: Response = (source, start, end) => {
    answer.add(end - start, state === 'rows' ? columns?.count : 0);
    if (columns === undefined) {
      if (source[start] === okHeader) return true;
      columns = new ColumnReader(readLength(source, start).value, hasExtended);
    } else if (state === 'columns') {
      columns.read(source, start, end);
      if (columns.whole) state = 'columns-end';
    } else if (state === 'columns-end') {
      state = 'rows';
    } else {
      if (isEof(source, start, end)) return true;
      rows.push(readTextRow(source.subarray(start, end), columns.count));
    }
    return false;
  };
  return { rows, response };
}

function readTextRow(row: Buffer, count: number): TextRow {
  let at = 0;
  return Array.from({ length: count }, () => {
    const { value, next } = readLength(row, at);
    at = next + Math.max(0, value);
    // What follows the row in the buffer is not part of it.
    if (at > row.length) throw new RangeError('The server sent a row that is shorter than its columns.');
    return value < 0 ? null : row.toString('utf8', next, at);
  });
}

/** Ids from here on are either of an unsigned column, or negative. */
const firstSigned = 2n ** 63n;
const idBits = 64;
/** A text with more words is not looked up. */
const wordsMax = 1_000;

/**
 * Returns the outcome with the id as its column has it, without the id if the columns with AUTO_INCREMENT of the tables
 * that the text names do not tell, for instance behind a view.
 */
export function withExactId(outcome: Outcome, text: string, runQuery: RunQuery): Outcome | Promise<Outcome> {
  const { insertId } = outcome;
  const isClear = insertId === undefined || BigInt(insertId) < firstSigned;
  return isClear ? outcome : withSign(outcome, text, runQuery);
}

type RunQuery = (query: string) => Promise<TextRow[]>;

async function withSign(
  { insertId = '', ...others }: Outcome,
  text: string,
  runQuery: RunQuery,
): Promise<Outcome> {
  const found = [...wordsOf(text)];
  if (found.length > wordsMax) return others;
  const words = found.map(literal).join(',');
  const query = `
    SELECT DISTINCT COLUMN_TYPE LIKE '%unsigned%' FROM information_schema.COLUMNS
    WHERE (TABLE_SCHEMA = DATABASE() OR TABLE_SCHEMA IN (${words})) AND TABLE_NAME IN (${words})
      AND EXTRA LIKE '%auto_increment%'`;
  // The write has been made, so a failure here is not its own.
  const types = await runQuery(query).catch(() => []);
  if (types.length !== 1) return others;
  const isUnsigned = types[0]?.[0] === '1';
  return { ...others, insertId: isUnsigned ? insertId : String(BigInt.asIntN(idBits, BigInt(insertId))) };
}
