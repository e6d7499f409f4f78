/** Reads the response to an execution: passes rows to the sink, and collects the affected count and errors. */

import { isDeepStrictEqual } from 'node:util';
import { longRowBytes } from '../../network/shared-read-buffer.ts';
import type { Outcome } from '../../ports/engine.ts';
import type { RowSink, SinkColumn } from '../../ports/row-sink.ts';
import { turnForResult } from '../../result/column-turns.ts';
import type { BinaryResult, Prepared } from './prepared.ts';
import { type FieldDescription, readRow, readRowDescription, resultFormats } from './protocol.ts';
import type { Tags } from './session.ts';
import { binaryKindOf, kindOf, requireUtf8, type ServerType, typeName } from './values.ts';

export interface ResultOptions {
  prepared: Prepared;
  /** Set if the values come in the formats of this result. */
  binary: BinaryResult | undefined;
  sink: RowSink;
  /** Filled while the response is read. */
  outcome: Outcome;
  serverTypes: ReadonlyMap<number, ServerType>;
  /** False if the database may contain text that is not valid UTF-8. */
  checksTexts: boolean;
  /** The number of commands that complete before the statement itself. */
  commandsBefore: number;
  tags: Tags;
  /** Gets the row of a block that asks for the server. Returns true if it is not that of the prepared statement. */
  meetServer?: ((row: Buffer) => boolean) | undefined;
  /** Gets the first value of the command behind the statement. */
  onTail?: ((text: string | undefined) => void) | undefined;
  discarding: () => boolean;
  /** Called if a row could not be written. */
  onFailure: (err: unknown) => void;
  pause: () => void;
  resume: () => void;
  /** Reads the next message in that turn. */
  readOnIn: (turn: Promise<void>) => void;
}

const code = (letter: string) => letter.charCodeAt(0);
const dataRow = code('D');
const commandComplete = code('C');
const portalSuspended = code('s');
const bindComplete = code('2');
const rowDescription = code('T');
const [space, zero, nine] = [code(' '), code('0'), code('9')];

const isOfRows = (type: number): boolean => type === dataRow || type === rowDescription;

/** This is a class because every execution creates one, and closures per object would cost a third more. */
export class ResultReader {
  /** True after the sink got the columns. */
  begun = false;
  /** True after the server accepted the statement and its values: it may have run from then on. */
  bound = false;
  /** True if the columns are no longer those of the prepared statement. */
  isOutdated = false;
  /** True if the statement ran at another server than the one that described it. The sink got nothing then. */
  isMoved = false;
  /** Expected tags that have not arrived yet. */
  tagsMissing: number;
  /** Why a row could not be written. Later rows were skipped. */
  failure: unknown;
  readonly #options: ResultOptions;
  #prepared: Prepared;
  #offsets: Int32Array;
  #completed: number;
  /** Of the check's portal, which is bound before the statement's. */
  #bindsBefore: number;
  #isChecking: boolean;
  #asksServer: boolean;
  #source: Buffer | undefined;
  #view: DataView = nothing;

  constructor(options: ResultOptions) {
    this.#options = options;
    this.#prepared = options.prepared;
    this.tagsMissing = options.tags.bytes.size;
    this.#offsets = new Int32Array((options.prepared.fields?.length ?? 0) * 2);
    this.#completed = -options.commandsBefore;
    const { check, name } = options.prepared;
    this.#isChecking = check !== undefined;
    this.#asksServer = options.meetServer !== undefined;
    this.#bindsBefore = this.#isChecking && name !== '' ? 1 : 0;
  }

  /** True after the last command with an expected tag completed. */
  get isOver(): boolean {
    return this.#completed > this.#options.tags.last;
  }

  read(type: number, source: Buffer, start: number, end: number): void {
    if (this.#asksServer && type === dataRow) {
      this.#asksServer = false;
      this.isMoved = this.#options.meetServer?.(source.subarray(start, end)) ?? false;
    } else if (this.isMoved && this.#completed === 0 && isOfRows(type)) {
      // Its columns have other types than the rows.
    } else if (type === dataRow && this.#completed === 0) {
      this.#begin();
      this.#row(source, start, end);
    } else if (type === commandComplete || type === portalSuspended) {
      if (this.#completed === 0 && !this.isMoved) {
        this.#begin();
        this.#options.sink.rowsRead?.();
        // Only rows pause the socket, and no more rows follow.
        this.#options.resume();
      }
      if (this.#completed === 1 && this.#isChecking) {
        this.#isChecking = false;
        return;
      }
      if (type === commandComplete) this.#complete(source, start, end - 1);
      this.#completed++;
    } else if (type === dataRow && this.#options.onTail !== undefined && !this.#isChecking) {
      this.#options.onTail(readRow(source.subarray(start, end))[0] ?? undefined);
    } else if (type === bindComplete) {
      if (this.#completed === 0) this.#noteBind();
    } else if (type === rowDescription && this.#completed === 0) {
      this.#describe(source.subarray(start, end));
    }
  }

  /** The rows of a wide result follow. */
  #noteBind(): void {
    this.bound = this.#bindsBefore-- <= 0;
    const turn = this.bound ? turnForResult(this.#prepared.fields?.length ?? 0) : undefined;
    if (turn !== undefined) this.#options.readOnIn(turn);
  }

  #complete(source: Buffer, start: number, end: number): void {
    const { outcome, tags } = this.#options;
    const tag = tags.bytes.get(this.#completed);
    if (tag !== undefined && source.compare(tag, 0, tag.length, start, end) === 0) this.tagsMissing--;
    if (this.#completed === 0) outcome.affectedRows = affectedBy(source, start, end);
  }

  /**
   * The table, and so the columns, may have changed since the statement was prepared. For a named statement the server
   * does not run it then, so the hub requests no description.
   */
  #describe(body: Buffer): void {
    if (this.begun || this.#prepared.name !== '')
      throw new RangeError('The server described columns unasked.');
    const fields = readRowDescription(body);
    if (isDeepStrictEqual(fields, this.#prepared.fields)) return;
    this.isOutdated = true;
    this.#prepared = { ...this.#prepared, fields, columns: undefined };
    this.#offsets = new Int32Array(fields.length * 2);
  }

  #begin(): void {
    if (!this.begun) beginRows(this.#prepared, this.#options);
    this.begun = true;
  }

  #row(source: Buffer, start: number, end: number): void {
    const { sink, checksTexts, discarding, pause, resume } = this.#options;
    if (this.failure !== undefined || discarding() || sink.truncated) return;
    if (findFields(this.#viewOf(source), start, this.#offsets) > end)
      throw new RangeError('A row message is shorter than its fields.');
    try {
      if (!checksTexts) requireUtf8(source, this.#offsets);
      sink.row(source, this.#offsets);
    } catch (err) {
      this.failure = err;
      this.#options.onFailure(err);
      // The sink of a failed answer never drains.
      resume();
      return;
    }
    // The view would keep the megabytes of a long row until the next one.
    if (source.length > longRowBytes) this.#viewOf(noSource);
    if (sink.full) pause();
  }

  /** The last view is kept: many rows come in one read. It reads lengths in half the time that Buffer takes. */
  #viewOf(source: Buffer): DataView {
    if (source !== this.#source) {
      this.#source = source;
      this.#view = new DataView(source.buffer, source.byteOffset, source.length);
    }
    return this.#view;
  }
}

const nothing = new DataView(new ArrayBuffer(0));
const noSource = Buffer.alloc(0);

function beginRows(prepared: Prepared, options: ResultOptions): void {
  const { sink, binary, serverTypes } = options;
  if (prepared.fields === undefined) return;
  prepared.columns ??= toColumns(prepared.fields, serverTypes);
  sink.begin(binary?.columns ?? prepared.columns);
  sink.onDrain(options.resume);
}

const toColumns = (
  fields: readonly FieldDescription[],
  serverTypes: ReadonlyMap<number, ServerType>,
): SinkColumn[] =>
  fields.map(({ name, typeId, modifier }) => ({
    name,
    type: typeName(typeId, serverTypes),
    kind: kindOf(typeId, { modifier, serverTypes }),
  }));

/** Requests the binary format for the columns whose type has a kind in it. */
export function toBinaryResult(
  fields: readonly FieldDescription[],
  serverTypes: ReadonlyMap<number, ServerType>,
): BinaryResult {
  const columns = toColumns(fields, serverTypes).map((column, i) => {
    const binary = binaryKindOf(fields[i]?.typeId ?? 0);
    return binary === undefined ? column : { ...column, binary };
  });
  return { columns, formats: resultFormats(columns.map((column) => column.binary !== undefined)) };
}

/**
 * Finds the fields of a row: their number, then each after its length (-1 for NULL). Returns the end of the last one.
 */
function findFields(source: DataView, start: number, offsets: Int32Array): number {
  let at = start + 2;
  for (let i = 0; i < offsets.length; i += 2) {
    const length = source.getInt32(at);
    at += 4;
    offsets[i] = length < 0 ? -1 : at;
    if (length > 0) at += length;
    offsets[i + 1] = at;
  }
  return at;
}

/** Returns the count at the end of a command tag, as in `INSERT 0 5`; 0 without one. */
export function affectedBy(source: Buffer, start: number, end: number): number {
  let count = 0;
  let unit = 1;
  for (let at = end - 1; at >= start; at--) {
    const byte = source[at] as number;
    if (byte === space) return count;
    if (byte < zero || byte > nine) return 0;
    count += (byte - zero) * unit;
    unit *= 10;
  }
  return 0;
}
