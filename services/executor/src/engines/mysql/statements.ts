/** Prepared statements: the response to COM_STMT_PREPARE, and COM_STMT_EXECUTE. */

import type { Param, Statement } from '../../ports/engine.ts';
import { turnForColumns } from '../../result/column-turns.ts';
import { withCommentInFront } from '../shared/comment.ts';
import type { KeptOfConnection } from '../shared/kept-statements.ts';
import { controlError, droppedError, NotPreparable, tooLargeError, tooWideError } from './errors.ts';
import { int64Max, isInteger, lettersOf } from './parameter-marks.ts';
import { ExpectedTypes, keyOf, mariadbMarks } from './parameter-types.ts';
import * as protocol from './protocol.ts';
import { keepColumns, type WithColumns } from './result-columns.ts';
import { begin, rollback, savepoint, undo } from './session.ts';
import { ok, type Response, type Wire } from './wire.ts';

export interface Prepared extends WithColumns {
  id: number;
  /** Only if it was prepared to be described: each result says its columns. */
  columns: protocol.ColumnDefinition[];
  /** True if it has more columns than the hub reads. It must not run. */
  isTooWide: boolean;
  parameterCount: number;
  /** True if the server has dropped a part of the text with some of the parameters. It must not run. */
  isIncomplete: boolean;
  preparedAt: number;
  expected: ExpectedTypes;
  /** Those that are written into the text, by their indexes. They are not sent. */
  written?: ReadonlySet<number>;
  /** Of columns without a name of their own: as with `?` for each parameter, by the places of the columns. */
  names: ReadonlyMap<number, string>;
  /** True once it is known that all its tables have transactions. */
  isTransactional: boolean;
}

/** The most prepared statements of one connection. The server's own limit is for all connections together. */
export const preparedMax = 50;

/** Of a statement with values in it that is kept. */
const keptTextMax = 65_536;

/**
 * After this, a statement with parameters is prepared again. MySQL keeps the types that it gave to them, also when it
 * prepares the statement anew by itself because a table has changed.
 */
const typesKeptMs = 60_000;

interface Preparing {
  prepare(statement: Statement, inTransaction: boolean): Promise<Prepared>;
  /** Closes a statement of the server, which does not answer this. */
  close(id: number): void;
  isMariadb: boolean;
}

/** The prepared statements of one connection. The most recently used is last. */
export class PreparedStatements {
  readonly #byKey = new Map<string, Prepared>();
  /** Statements of this run or snapshot that are not kept. */
  readonly #once = new Map<string, Prepared>();
  readonly #preparing: Preparing;

  constructor(preparing: Preparing) {
    this.#preparing = preparing;
  }

  has(statement: Statement): boolean {
    return this.#get(keyOf(statement)) !== undefined;
  }

  #get(key: string): Prepared | undefined {
    const known = this.#byKey.get(key);
    if (known === undefined) return this.#once.get(key);
    if (known.parameterCount > 0 && performance.now() - known.preparedAt > typesKeptMs) return undefined;
    this.#byKey.delete(key);
    this.#byKey.set(key, known);
    return known;
  }

  prepare(statement: Statement, inTransaction = false): Promise<Prepared> {
    return this.#prepareAs(keyOf(statement), statement, inTransaction);
  }

  /**
   * Resolves to the prepared statement, or to another one if MySQL would read the values of this run as others. Throws
   * CONTEXT_INVALID for a value that cannot be beside others.
   */
  async find(statement: Statement, inTransaction: boolean): Promise<Prepared> {
    const key = keyOf(statement);
    const prepared = this.#get(key) ?? (await this.#prepareAs(key, statement, inTransaction));
    if (statement.textWith === undefined) return prepared;
    prepared.expected.require(statement.untyped);
    const marks = this.#preparing.isMariadb ? mariadbMarks(statement) : prepared.expected.marks(statement);
    if (marks.size === 0) return prepared;
    const marked = `${key} ${lettersOf(marks, statement.params.length)}`;
    const known = this.#get(marked);
    if (known !== undefined) return known;
    const text = statement.textWith(marks);
    // A long literal is seldom sent again.
    const isOnce = statement.isOnce === true || text.length > keptTextMax;
    const found = await this.#prepareAs(marked, { ...statement, text, isOnce }, inTransaction);
    const written = [...marks].flatMap(([index, mark]) => (mark.includes('?') ? [] : [index]));
    if (written.length > 0) found.written = new Set(written);
    found.names = prepared.names;
    return found;
  }

  async #prepareAs(key: string, statement: Statement, inTransaction: boolean): Promise<Prepared> {
    const prepared = await this.#preparing.prepare(statement, inTransaction);
    if (statement.isOnce) this.#once.set(key, prepared);
    else this.#keep(key, prepared);
    return prepared;
  }

  /** Closes the one that it replaces, or one too many. */
  #keep(key: string, prepared: Prepared): void {
    const [oldest] = this.#byKey.size < preparedMax ? [] : this.#byKey.keys();
    const leaving = this.#byKey.has(key) ? key : oldest;
    const left = leaving === undefined ? undefined : this.#byKey.get(leaving);
    if (leaving !== undefined) this.#byKey.delete(leaving);
    this.#byKey.set(key, prepared);
    if (left === undefined) return;
    keepColumns(left, undefined);
    this.#preparing.close(left.id);
  }

  /** Forgets and closes the statements that are not kept. */
  closeOnce(): void {
    if (this.#once.size === 0) return;
    for (const { id } of this.#takeOnce()) this.#preparing.close(id);
  }

  #takeOnce(): Prepared[] {
    const taken = [...this.#once.values()];
    this.#once.clear();
    for (const one of taken) keepColumns(one, undefined);
    return taken;
  }

  /** Forgets all, which the server has closed. */
  clear(): void {
    this.#takeOnce();
    for (const one of this.#byKey.values()) keepColumns(one, undefined);
    this.#byKey.clear();
  }
}

interface Preparation {
  /** True if statements are sent with their comments. */
  comments: boolean;
  hasExtended: boolean;
  isMariadb: boolean;
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
  const { isTooWide, isIncomplete } = prepared;
  if (isTooWide || isIncomplete) {
    wire.send(protocol.closeStatement(prepared.id));
    throw isTooWide ? tooWideError() : droppedError();
  }
  return prepared;
}

/** `prepared` is complete when the response is. */
export function createPrepareReader(
  wire: Pick<Wire, 'readOnIn'>,
  {
    hasExtended,
    describes,
    isMariadb,
    kept,
  }: Pick<Preparation, 'hasExtended' | 'describes' | 'isMariadb' | 'kept'>,
): { prepared: Prepared; response: Response } {
  const prepared: Prepared = {
    id: 0,
    columns: [],
    isTooWide: false,
    parameterCount: 0,
    isIncomplete: false,
    names: new Map(),
    preparedAt: performance.now(),
    expected: new ExpectedTypes(),
    lastColumns: undefined,
    kept,
    isTransactional: false,
  };
  let reader = new protocol.ColumnReader(0, false);
  let parametersLeft = 0;
  let packets = 0;
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
      const columnCount = source.readUInt16LE(start + 5);
      prepared.isTooWide = columnCount > protocol.columnsMax;
      reader = new protocol.ColumnReader(prepared.isTooWide ? 0 : columnCount, hasExtended);
      prepared.parameterCount = source.readUInt16LE(start + 7);
      prepared.expected.begin(prepared.parameterCount, isMariadb);
      parametersLeft = lists(prepared.parameterCount);
      packets = parametersLeft + lists(columnCount);
    } else if (parametersLeft > 1 && protocol.isEof(source, start, end)) {
      // The definitions of what MySQL has dropped are missing.
      prepared.isIncomplete = true;
      packets -= parametersLeft - 1;
      parametersLeft = 0;
    } else if (parametersLeft > 0) {
      prepared.expected.read(seen, source, end);
      parametersLeft--;
    } else if (seen === packets - 1 && !protocol.isEof(source, start, end)) {
      // The head has the last 16 bits of the number of columns, and there are more.
      prepared.isTooWide = true;
      packets++;
    } else if ((describes || prepared.parameterCount > 0) && !reader.whole) {
      takeTurn();
      reader.read(source, start, end);
    }
    seen++;
    if (seen < packets) return false;
    prepared.names = namesOf(reader.columns);
    prepared.columns = describes ? reader.columns : [];
    return true;
  };
  return { prepared, response };
}

/** The most characters of names that are kept with a statement. */
const nameCharactersMax = 4_096;

function namesOf(columns: readonly protocol.ColumnDefinition[]): Map<number, string> {
  const names = new Map<number, string>();
  let characters = 0;
  for (const [i, { name }] of columns.entries()) {
    if (!name.includes('?')) continue;
    characters += name.length;
    if (characters <= nameCharactersMax) names.set(i, name);
  }
  return names;
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
  { id: statementId, text, written }: Pick<Prepared, 'id' | 'text' | 'written'>,
  { params: all }: Pick<Statement, 'params'>,
  { before, after }: Around,
): Buffer {
  if (text !== undefined) return Buffer.concat([before, protocol.query(text), after]);
  const params = written === undefined ? all : all.filter((_, i) => !written.has(i));
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
    out[typeAt++] = typeof param === 'bigint' && param > int64Max ? unsignedFlag : 0;
    at = writeValue(out, param, at);
  }
  return out;
}

const lengthByteMax = 0xfa;
const unsignedFlag = 0x80;

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
  if (small !== param) return out.writeBigInt64LE(BigInt.asIntN(64, BigInt(param)), at);
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
