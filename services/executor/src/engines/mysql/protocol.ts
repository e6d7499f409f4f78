/**
 * Packets of the MySQL client/server protocol: splits the stream, joins packets of one payload, and writes commands.
 */

import { Carry, type LongMessage, longRowBytes } from '../../network/shared-read-buffer.ts';
import { RowTooLarge } from '../shared/bounds.ts';

/** Returns true to read no further packet now. */
export type OnPacket = (source: Buffer, start: number, end: number) => boolean;

const payloadMax = 0xffffff;

/** Passes each complete payload to `onPacket`. The bytes are valid only during the call. */
export class PacketReader {
  readonly #rowBytesMax: number;
  readonly #carry = new Carry(longRowBytes);
  /** The parts of a payload that is longer than one packet. */
  #split: Buffer[] = [];
  #splitBytes = 0;
  /**
   * True after `onPacket` has stopped the reader before another packet. The next call reads on there. The end of the rows
   * is read even so: the connection is free then, however slow the reader of the last rows is.
   */
  isStopped = false;

  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
  }

  get long(): LongMessage {
    return this.#carry.long ?? (this.#split.length > 0 ? 'begun' : undefined);
  }

  close(): void {
    this.#carry.close();
  }

  push(bytes: Buffer, onPacket: OnPacket): void {
    const source = this.#carry.join(bytes);
    if (source === undefined) {
      this.isStopped = this.long === 'whole';
      return;
    }
    let at = 0;
    let needed = 0;
    this.isStopped = false;
    while (source.length - at >= 4 && !this.isStopped) {
      const length = lengthAt(source, at);
      const end = at + 4 + length;
      if (this.#splitBytes + length > this.#rowBytesMax) throw new RowTooLarge(this.#rowBytesMax);
      if (end > source.length) {
        needed = end - at;
        break;
      }
      const isWhole = length < payloadMax && this.#split.length === 0;
      const stops = isWhole
        ? onPacket(source, at + 4, end)
        : this.#join(source.subarray(at + 4, end), onPacket);
      at = end;
      this.isStopped = stops && at < source.length && !isEof(source, at + 4, at + 4 + lengthAt(source, at));
    }
    if (at < source.length) this.#carry.keep(source, at, needed);
    this.#carry.free();
  }

  #join(part: Buffer, onPacket: OnPacket): boolean {
    this.#split.push(Buffer.from(part));
    this.#splitBytes += part.length;
    if (part.length === payloadMax) return false;
    const whole = Buffer.concat(this.#split);
    this.#split = [];
    this.#splitBytes = 0;
    return onPacket(whole, 0, whole.length);
  }
}

/** The length of the payload. `readUIntLE` would take most of the time for a short packet. */
const lengthAt = (source: Buffer, at: number): number =>
  (source[at] as number) | ((source[at + 1] as number) << 8) | ((source[at + 2] as number) << 16);

const eofHeader = 0xfe;
const eofBytesMax = 9;

/** True for the payload of an EOF, which ends columns and rows. A row begins with another byte, or is longer. */
export const isEof = (source: Buffer, start: number, end: number): boolean =>
  source[start] === eofHeader && end - start < eofBytesMax;

/** Reads a length-encoded integer and returns it with its end; -1 for NULL. */
export function readLength(source: Buffer, at: number): { value: number; next: number } {
  const first = source[at] as number;
  if (first < 0xfb) return { value: first, next: at + 1 };
  if (first === 0xfb) return { value: -1, next: at + 1 };
  if (first === 0xfc) return { value: source.readUInt16LE(at + 1), next: at + 3 };
  if (first === 0xfd) return { value: source.readUIntLE(at + 1, 3), next: at + 4 };
  return { value: Number(source.readBigUInt64LE(at + 1)), next: at + 9 };
}

/** Returns a command with its packet header, whose sequence number is 0. */
function command(code: number, body: Buffer): Buffer {
  const out = Buffer.allocUnsafe(5 + body.length);
  out.writeUIntLE(body.length + 1, 0, 3);
  out[3] = 0;
  out[4] = code;
  body.copy(out, 5);
  return out;
}

export const query = (text: string) => command(0x03, Buffer.from(text));
export const ping = command(0x0e, Buffer.alloc(0));
export const resetConnection = command(0x1f, Buffer.alloc(0));
export const prepare = (text: string) => command(0x16, Buffer.from(text));

export function closeStatement(statementId: number): Buffer {
  const body = Buffer.allocUnsafe(4);
  body.writeUInt32LE(statementId);
  return command(0x19, body);
}

/** The longest command that fits into one packet. */
export const commandBytesMax = payloadMax - 1;

export interface ColumnDefinition {
  name: string;
  /**
   * The schema and table of the column. The schema is empty for an expression, also behind a view or a subquery, and for a
   * column of a table that the server makes for them.
   */
  schema: string;
  table: string;
  /** False for MySQL. */
  isOfMariadb: boolean;
  type: number;
  charset: number;
  length: number;
  flags: number;
  decimals: number;
  /** MariaDB's extended type: `json`, `uuid`, `inet6`, …; empty for none. */
  extended: string;
}

/** As many as a table can have. Servers answer statements with more. */
export const columnsMax = 4_096;
/** More than a statement of the longest text has without joins of wide tables. */
export const announcedColumnsMax = 1_000_000;
/** Far more than the definitions of `columnsMax` need. */
const columnBytesMax = 4 * 1_048_576;
/** More than the 256 characters of an alias. */
const nameBytesMax = 4_096;

/** Collects column definitions. Throws if they exceed what a real server sends. */
export class ColumnReader {
  readonly columns: ColumnDefinition[] = [];
  readonly count: number;
  readonly #hasExtended: boolean;
  #bytes = 0;

  constructor(count: number, hasExtended: boolean) {
    if (count < 0 || count > columnsMax) throw new RangeError('The server announced too many columns.');
    this.count = count;
    this.#hasExtended = hasExtended;
  }

  get whole(): boolean {
    return this.columns.length === this.count;
  }

  read(source: Buffer, start: number, end: number): void {
    this.#bytes += end - start;
    if (this.#bytes > columnBytesMax)
      throw new RangeError('The server sent column definitions that are too long.');
    this.columns.push(readColumn(source, { start, end }, this.#hasExtended));
  }
}

/** After the texts: a length, then character set, length, type, flags and decimals. */
const fixedColumnBytes = 11;

/** `hasExtended` is true if MariaDB's extended metadata is enabled. Throws if a field passes the end of the packet. */
function readColumn(
  source: Buffer,
  { start, end }: { start: number; end: number },
  hasExtended: boolean,
): ColumnDefinition {
  let at = start;
  const texts: string[] = [];
  const skip = ({ value, next }: { value: number; next: number }) => {
    if (value > nameBytesMax) throw new RangeError('The server sent the name of a column that is too long.');
    at = next + value;
    if (at + fixedColumnBytes > end)
      throw new RangeError('The server sent a column definition that is shorter than its fields.');
  };
  for (let i = 0; i < 6; i++) {
    const text = readLength(source, at);
    skip(text);
    texts.push(source.toString('utf8', text.next, at));
  }
  let extended = '';
  if (hasExtended) {
    const list = readLength(source, at);
    skip(list);
    extended = readExtended(source, list.next, at);
  }
  at += 1;
  return {
    name: texts[4] ?? '',
    schema: texts[1] ?? '',
    table: texts[3] ?? '',
    isOfMariadb: hasExtended,
    charset: source.readUInt16LE(at),
    length: source.readUInt32LE(at + 2),
    type: source[at + 6] as number,
    flags: source.readUInt16LE(at + 7),
    decimals: source[at + 9] as number,
    extended,
  };
}

function readExtended(source: Buffer, start: number, end: number): string {
  let at = start;
  let text = '';
  while (at < end) {
    const { value, next } = readLength(source, at + 1);
    text ||= source.toString('latin1', next, next + value);
    at = next + value;
  }
  return text;
}

/** The settings by which the server writes values. */
export const formats = ['time_zone', 'character_set_results'] as const;
export type Format = (typeof formats)[number];

export interface OkPacket {
  affectedRows: number;
  /** Exact digits; `0` for none. */
  insertId: string;
  moreResults: boolean;
  /** True before the rows of a result that has the values of OUT parameters. */
  areOutParameters: boolean;
  /** True if the statement, or a function in it, changed the session. */
  sessionChanged: boolean;
  /** The formats that were set, perhaps to values that the hub does not read. */
  changed: ReadonlySet<Format>;
  inTransaction: boolean;
  /** True if the transaction is read-only. */
  isReadOnly: boolean;
}

const inTransactionFlag = 0x0001;
const moreResultsFlag = 0x0008;
const outParametersFlag = 0x1000;
const readOnlyFlag = 0x2000;
const sessionChangedFlag = 0x4000;

export function readOk(source: Buffer, start: number, end: number): OkPacket {
  const affected = readLength(source, start + 1);
  const first = source[affected.next] as number;
  const insert = readLength(source, affected.next);
  const insertId = first === 0xfe ? String(source.readBigUInt64LE(affected.next + 1)) : String(insert.value);
  const status = readStatus(source.readUInt16LE(insert.next));
  const changes = status.sessionChanged ? readChanges(source, insert.next + 4, end) : noChanges;
  return { affectedRows: affected.value, insertId, ...status, ...changes };
}

type Changes = Pick<OkPacket, 'sessionChanged' | 'changed'>;
const none: ReadonlySet<Format> = new Set();
const noChanges: Changes = { sessionChanged: false, changed: none };
const unknownChanges: Changes = { sessionChanged: true, changed: none };
/** Far more than a statement makes. An entry takes four bytes at least. */
const changesMax = 1_000;

const settingType = 0x00;
/** Entries about transactions. MySQL also sets the flag for them, although they do not outlast the transaction. */
const transactionTypes = new Set([0x04, 0x05]);

/** `at` is the position of the message in an OK packet. A missing or malformed list counts as a change. */
function readChanges(source: Buffer, at: number, end: number): Changes {
  if (at >= end) return unknownChanges;
  const message = readLength(source, at);
  const list = readLength(source, message.next + message.value);
  const listEnd = list.next + list.value;
  if (list.value <= 0 || listEnd > end) return unknownChanges;
  const changed = new Set<Format>();
  let sessionChanged = false;
  let next = list.next;
  for (let seen = 0; next < listEnd; seen++) {
    if (seen === changesMax) throw new RangeError('The server reported too many changes of the session.');
    const type = source[next] as number;
    sessionChanged ||= !transactionTypes.has(type);
    const entry = readLength(source, next + 1);
    next = entry.next + entry.value;
    if (type !== settingType) continue;
    const name = readLength(source, entry.next);
    const value = readLength(source, name.next + name.value);
    if (value.next + value.value > next) return unknownChanges;
    const isText = (text: typeof name, wanted: string) =>
      text.value === wanted.length && source.toString('latin1', text.next, text.next + text.value) === wanted;
    const format = formats.find((one) => isText(name, one));
    // A routine that restores the time zone may have returned rows before. Many begin with SET NAMES utf8mb4.
    const isOwn = format === 'character_set_results' && isText(value, 'utf8mb4');
    if (format !== undefined && !isOwn) changed.add(format);
  }
  return { sessionChanged, changed };
}

export const readEof = (source: Buffer, start: number) => readStatus(source.readUInt16LE(start + 3));

export type Status = Omit<OkPacket, 'affectedRows' | 'insertId' | 'changed'>;

const readStatus = (status: number): Status => ({
  moreResults: (status & moreResultsFlag) !== 0,
  areOutParameters: (status & outParametersFlag) !== 0,
  sessionChanged: (status & sessionChangedFlag) !== 0,
  inTransaction: (status & inTransactionFlag) !== 0,
  isReadOnly: (status & readOnlyFlag) !== 0,
});
