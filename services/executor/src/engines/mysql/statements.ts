/** Prepared statements: the response to COM_STMT_PREPARE, COM_STMT_EXECUTE, and the columns of its result. */

import type { Param, Statement } from '../../ports/engine.ts';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { turnForColumns } from '../../result/column-turns.ts';
import { withCommentInFront } from '../shared/comment.ts';
import { type KeptOfConnection, weightOf } from '../shared/kept-statements.ts';
import { controlError, NotPreparable, tooLargeError } from './errors.ts';
import * as protocol from './protocol.ts';
import { begin, rollback, savepoint, undo } from './session.ts';
import { formatOf, kindOf, outKindOf, sizeOf, textKindOf, toOutParameter, typeName } from './values.ts';
import { ok, type Response, type Wire } from './wire.ts';

export interface Prepared {
  id: number;
  /** Only if it was prepared to be described: each result says its columns. */
  columns: protocol.ColumnDefinition[];
  parameterCount: number;
  /** Set if the server takes the statement only as a text, so that it is not prepared. */
  text?: string;
  /** The columns of its last result, if they are kept. */
  lastColumns: ResultColumns | undefined;
  readonly kept: KeptOfConnection;
  /** True once it is known that all its tables have transactions. */
  isTransactional: boolean;
}

/** The most prepared statements of one connection. The server's own limit is for all connections together. */
const preparedMax = 50;

/** The prepared statements of one connection. The most recently used is last. */
export class PreparedStatements {
  readonly #byKey = new Map<string, Prepared>();
  /** Statements of this run or snapshot that are not kept. */
  readonly #once = new Map<string, Prepared>();

  get(key: string): Prepared | undefined {
    const known = this.#byKey.get(key);
    if (known === undefined) return this.#once.get(key);
    this.#byKey.delete(key);
    this.#byKey.set(key, known);
    return known;
  }

  /** Adds a statement. Returns the one that must be closed to stay within the limit. */
  add(key: string, prepared: Prepared): Prepared | undefined {
    this.#byKey.set(key, prepared);
    const [oldest] = this.#byKey;
    if (this.#byKey.size <= preparedMax || oldest === undefined) return undefined;
    this.#byKey.delete(oldest[0]);
    keepColumns(oldest[1], undefined);
    return oldest[1];
  }

  addOnce(key: string, prepared: Prepared): void {
    this.#once.set(key, prepared);
  }

  /** Forgets and returns the statements that are not kept. They must be closed. */
  takeOnce(): Prepared[] {
    if (this.#once.size === 0) return [];
    const taken = [...this.#once.values()];
    this.#once.clear();
    for (const one of taken) keepColumns(one, undefined);
    return taken;
  }

  clear(): void {
    this.takeOnce();
    for (const one of this.#byKey.values()) keepColumns(one, undefined);
    this.#byKey.clear();
  }
}

interface Preparation {
  /** True if statements are sent with their comments. */
  comments: boolean;
  hasExtended: boolean;
  kept: KeptOfConnection;
  /** Of the session, and the reader of its response. */
  cleanUp: readonly Buffer[];
  followUp: Response;
  /** True if a transaction is open. */
  inTransaction: boolean;
  /** True if the columns are read. */
  describes: boolean;
}

/** Prepares in a transaction that is rolled back, because the server may call functions while it prepares. */
export async function prepareUndone(
  wire: Wire,
  statement: Statement,
  { comments, cleanUp, followUp, inTransaction, ...session }: Preparation,
): Promise<Prepared> {
  const [before, after] = inTransaction ? [savepoint, undo] : [begin[statement.kind], rollback];
  const text = comments ? withCommentInFront(statement) : statement.text;
  const { params } = statement;
  const { prepared, response } = createPrepareReader(wire, session);
  wire.awaitSign();
  wire.send(Buffer.concat([before, protocol.prepare(text), after, ...cleanUp]));
  const responses = [ok, response, followUp, ...cleanUp.map(() => ok)];
  const { begun, ran, ended } = await wire.exchange(responses, 1);
  if (begun !== undefined) throw controlError(begun);
  if (ended !== undefined) throw controlError(ended);
  if (ran instanceof NotPreparable && params.length === 0) return { ...prepared, text };
  if (ran !== undefined) throw ran;
  return prepared;
}

/** `prepared` is complete when the response is. */
export function createPrepareReader(
  wire: Pick<Wire, 'readOnIn'>,
  { hasExtended, describes, kept }: Pick<Preparation, 'hasExtended' | 'describes' | 'kept'>,
): { prepared: Prepared; response: Response } {
  const prepared: Prepared = {
    id: 0,
    columns: [],
    parameterCount: 0,
    lastColumns: undefined,
    kept,
    isTransactional: false,
  };
  let reader = new protocol.ColumnReader(0, false);
  let parametersLeft = 0;
  let seen = -1;
  // An EOF packet ends each of the two lists.
  const lists = (count: number) => (count > 0 ? count + 1 : 0);
  const takeTurn = () => {
    const { columns, count, whole } = reader;
    const turn = whole ? undefined : turnForColumns(columns.length, count);
    if (turn !== undefined) wire.readOnIn(turn);
  };
  const response: Response = (source, start, end) => {
    if (seen < 0) {
      prepared.id = source.readUInt32LE(start + 1);
      reader = new protocol.ColumnReader(source.readUInt16LE(start + 5), hasExtended);
      prepared.columns = reader.columns;
      prepared.parameterCount = source.readUInt16LE(start + 7);
      parametersLeft = lists(prepared.parameterCount);
    } else if (parametersLeft > 0) parametersLeft--;
    else if (describes && !reader.whole) {
      takeTurn();
      reader.read(source, start, end);
    }
    seen++;
    return seen === lists(prepared.parameterCount) + lists(reader.count);
  };
  return { prepared, response };
}

/**
 * Identifies the prepared statement on a connection. If the statement does not imply the type of a parameter, MySQL
 * uses the type of its first value: it then converts a later text to the number 0, and after a double, the digits of
 * later integers and decimals are lost. So texts, doubles and other values need separate statements.
 */
export function keyOf({ key, params }: Pick<Statement, 'key' | 'params'>, isMariadb: boolean): string {
  if (isMariadb || params.every((param) => formOf(param) === 'o')) return key;
  return `${key} ${params.map(formOf).join('')}`;
}

function formOf(param: Param): string {
  if (typeof param === 'string') return 't';
  return typeof param === 'number' && !isInteger(param) ? 'd' : 'o';
}

/** Packet header, command, statement, flags, and the number of iterations. */
const headBytes = 14;

/** Commands that are sent together with an execution. */
export interface Around {
  before: Buffer;
  after: Buffer;
}

/** COM_STMT_EXECUTE, or COM_QUERY, between other commands, in one buffer. Throws TOO_LARGE. */
export function execute(
  { id: statementId, text }: Pick<Prepared, 'id' | 'text'>,
  params: readonly Param[],
  { before, after }: Around,
): Buffer {
  if (text !== undefined) return Buffer.concat([before, protocol.query(text), after]);
  const count = params.length;
  const nullBytes = (count + 7) >> 3;
  const valuesAt = headBytes + (count === 0 ? 0 : nullBytes + 1 + 2 * count);
  let bytes = valuesAt;
  for (let i = 0; i < count; i++) bytes += bytesOf(params[i] as Param);
  if (bytes > protocol.commandBytesMax) throw tooLargeError();

  const start = before.length;
  const out = Buffer.allocUnsafe(start + bytes + after.length);
  before.copy(out, 0);
  after.copy(out, start + bytes);
  out.writeUIntLE(bytes - 4, start, 3);
  out[start + 3] = 0;
  out[start + 4] = 0x17;
  out.writeUInt32LE(statementId, start + 5);
  out[start + 9] = 0;
  out.writeUInt32LE(1, start + 10);
  if (count === 0) return out;
  const nullsAt = start + headBytes;
  out.fill(0, nullsAt, nullsAt + nullBytes);
  let typeAt = nullsAt + nullBytes;
  out[typeAt++] = 1;
  let at = start + valuesAt;
  for (let i = 0; i < count; i++) {
    const param = params[i] as Param;
    if (param === null) out[nullsAt + (i >> 3)] = (out[nullsAt + (i >> 3)] as number) | (1 << (i & 7));
    out[typeAt++] = typeOf(param);
    out[typeAt++] = 0;
    at = writeValue(out, param, at);
  }
  return out;
}

const lengthByteMax = 0xfa;

function bytesOf(param: Param): number {
  if (param === null) return 0;
  if (typeof param === 'boolean') return 1;
  if (typeof param === 'number' || typeof param === 'bigint') return 8;
  const bytes = Buffer.byteLength(typeof param === 'string' ? param : param.decimal);
  return bytes + (bytes <= lengthByteMax ? 1 : 9);
}

function typeOf(param: Param): number {
  if (param === null) return 0x06;
  if (typeof param === 'boolean') return 0x01;
  if (typeof param === 'string') return 0xfd;
  if (typeof param === 'object') return 0xf6;
  return isInteger(param) ? 0x08 : 0x05;
}

const isInteger = (param: number | bigint) => typeof param === 'bigint' || Number.isSafeInteger(param);

/** Writes a value and returns its end. */
function writeValue(out: Buffer, param: Param, at: number): number {
  if (param === null) return at;
  if (typeof param === 'boolean') {
    out[at] = param ? 1 : 0;
    return at + 1;
  }
  if (typeof param === 'string') return writeText(out, param, at);
  if (typeof param === 'object') return writeText(out, param.decimal, at);
  if (!isInteger(param)) return out.writeDoubleLE(param as number, at);
  const small = Number(param) | 0;
  if (small !== param) return out.writeBigInt64LE(BigInt(param), at);
  // `writeInt32LE` checks more than it writes.
  for (let i = 0; i < 8; i++) out[at + i] = small >> Math.min(8 * i, 31);
  return at + 8;
}

function writeText(out: Buffer, text: string, at: number): number {
  const bytes = Buffer.byteLength(text);
  if (bytes <= lengthByteMax) {
    out[at] = bytes;
    return at + 1 + out.write(text, at + 1);
  }
  out[at] = 0xfe;
  const textAt = out.writeBigUInt64LE(BigInt(bytes), at + 1);
  return textAt + out.write(text, textAt);
}

/** The columns of a result with derived data. */
export class ResultColumns {
  /** The concatenated packets of the definitions, and the end of each. */
  readonly bytes: Buffer;
  readonly ends: readonly number[];
  readonly sizes: readonly number[];
  /** True for rows of the text protocol. */
  readonly isText: boolean;
  /** The positions of a row's fields. All rows use the same array. */
  readonly offsets: Int32Array;
  readonly weight: number;
  readonly #definitions: readonly protocol.ColumnDefinition[];
  #columns: SinkColumn[] | undefined;
  #outColumns: SinkColumn[] | undefined;

  constructor(
    packets: readonly Buffer[],
    definitions: readonly protocol.ColumnDefinition[],
    { text }: Pick<Prepared, 'text'>,
  ) {
    let end = 0;
    this.isText = text !== undefined;
    this.bytes = Buffer.concat(packets);
    this.ends = packets.map((packet) => (end += packet.length));
    this.sizes = definitions.map(({ type }) => sizeOf(type));
    this.offsets = new Int32Array(definitions.length * 2);
    this.weight = weightOf(definitions.length, this.bytes.length);
    this.#definitions = definitions;
  }

  /** Returns the same array each time. */
  forSink(areOutParameters: boolean): readonly SinkColumn[] {
    if (areOutParameters) {
      this.#outColumns ??= this.#definitions.map(toOutParameter).map(toSinkColumn(outKindOf));
      return this.#outColumns;
    }
    this.#columns ??= this.#definitions.map(toSinkColumn(this.isText ? textKindOf : kindOf));
    return this.#columns;
  }

  /** The settings by which the server writes the values. */
  get formats(): protocol.Format[] {
    return this.#definitions.flatMap((definition) => formatOf(definition) ?? []);
  }

  /** True if the packet at `source[start, end)` equals the definition of column `i`. */
  matches(i: number, source: Buffer, { start, end }: { start: number; end: number }): boolean {
    const from = i === 0 ? 0 : (this.ends[i - 1] as number);
    const to = this.ends[i] as number;
    return to - from === end - start && source.compare(this.bytes, from, to, start, end) === 0;
  }
}

const toSinkColumn =
  (toKind: typeof kindOf) =>
  (column: protocol.ColumnDefinition): SinkColumn => ({
    name: column.name,
    type: typeName(column),
    kind: toKind(column),
  });

/** The most bytes of definitions that are stored with a statement. */
const keptBytesMax = 65_536;

/** Keeps the columns for the next run of the statement, if there is room, in place of those before. */
function keepColumns(prepared: Prepared, columns: ResultColumns | undefined): void {
  const { kept, lastColumns } = prepared;
  if (lastColumns !== undefined) kept.give(lastColumns.weight);
  const isKept = columns !== undefined && columns.bytes.length <= keptBytesMax && kept.take(columns.weight);
  prepared.lastColumns = isKept ? columns : undefined;
}

interface FreshColumns {
  reader: protocol.ColumnReader;
  packets: Buffer[];
}

/**
 * Reads the column definitions of a result. The server sends them with each execution. While their bytes are the same
 * as the last time, the derived data is reused.
 */
export class ResultColumnsReader {
  readonly #prepared: Prepared;
  readonly #hasExtended: boolean;
  readonly count: number;
  /** The number of definitions that are the same as the last time. */
  #same = 0;
  /** Set at the first definition that differs. */
  #fresh: FreshColumns | undefined;

  constructor(prepared: Prepared, count: number, hasExtended: boolean) {
    this.#prepared = prepared;
    this.count = count;
    this.#hasExtended = hasExtended;
    if (prepared.lastColumns?.ends.length !== count) this.#readAnew();
  }

  /** The number of definitions that were read. */
  get seen(): number {
    return this.#fresh?.packets.length ?? this.#same;
  }

  /** Reads one definition. Returns true if it was the last. */
  read(source: Buffer, start: number, end: number): boolean {
    if (this.#fresh === undefined) {
      if (this.#prepared.lastColumns?.matches(this.#same, source, { start, end }))
        return ++this.#same === this.count;
      this.#readAnew();
    }
    return this.#readFresh(source, start, end);
  }

  /** The columns, available after the last definition. */
  get columns(): ResultColumns {
    const { lastColumns } = this.#prepared;
    if (this.#fresh === undefined) return lastColumns as ResultColumns;
    const { packets, reader } = this.#fresh;
    const columns = new ResultColumns(packets, reader.columns, this.#prepared);
    keepColumns(this.#prepared, columns);
    return columns;
  }

  #readAnew(): void {
    this.#fresh = { reader: new protocol.ColumnReader(this.count, this.#hasExtended), packets: [] };
    const { bytes, ends } = this.#prepared.lastColumns ?? noColumns;
    for (let i = 0; i < this.#same; i++) this.#readFresh(bytes, ends[i - 1] ?? 0, ends[i] as number);
  }

  #readFresh(source: Buffer, start: number, end: number): boolean {
    const { reader, packets } = this.#fresh as FreshColumns;
    reader.read(source, start, end);
    packets.push(Buffer.from(source.subarray(start, end)));
    return reader.whole;
  }
}

const noColumns = new ResultColumns([], [], {});
