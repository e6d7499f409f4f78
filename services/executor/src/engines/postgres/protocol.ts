/** Encodes and decodes messages of PostgreSQL's frontend/backend protocol 3.0. */

import type { Param, RunOptions, Statement } from '../../ports/engine.ts';

/** A statement with types for some of its parameters. The server infers those that are 0. */
export type Typed = Statement & { types?: readonly number[] | undefined };

const encoder = (text: string) => Buffer.from(text, 'utf8');

function message(type: string, parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  const header = Buffer.allocUnsafe(5);
  header.write(type, 0, 1, 'latin1');
  header.writeInt32BE(length, 1);
  return Buffer.concat([header, ...parts]);
}

const cString = (text: string) => encoder(`${text}\0`);

export const query = (text: string) => message('Q', [cString(text)]);
/** The server infers the types of parameters that are not given. */
export function parse(name: string, text: string, parameterTypes: readonly number[] = []): Buffer {
  const types = Buffer.allocUnsafe(2 + 4 * parameterTypes.length);
  types.writeUInt16BE(parameterTypes.length);
  for (const [i, typeId] of parameterTypes.entries()) types.writeUInt32BE(typeId, 2 + 4 * i);
  return message('P', [cString(name), cString(text), types]);
}

export const describeStatement = (name: string) => message('D', [Buffer.from('S'), cString(name)]);
/** Describes the unnamed portal. */
export const describePortal = message('D', [Buffer.from('P'), cString('')]);
export const closePortal = (name: string) => message('C', [Buffer.from('P'), cString(name)]);
export const closeStatement = (name: string) => message('C', [Buffer.from('S'), cString(name)]);
export const sync = message('S', []);
/** The server sends at once what it has kept for the end of the round trip. */
export const flush = message('H', []);
export const copyFail = message('f', [cString('The hub does not support COPY.')]);

/** The server reads the number of rows as a signed integer. A negative number would mean all rows. */
export const executeRowsMax = 2_147_483_647;

/** Executes the unnamed portal. A `rowsMax` of 0 returns all rows. */
export function execute(rowsMax: number): Buffer {
  const limit = Buffer.alloc(5);
  limit.writeInt32BE(rowsMax, 1);
  return message('E', [limit]);
}

export const executeAll = execute(0);

/** Binds texts to a portal that has the name of its statement. */
export function bindPortal(name: string, params: readonly string[]): Buffer {
  const bound = bind(name, params);
  return message('B', [cString(name), bound.subarray(6)]);
}
export const executePortal = (name: string) => message('E', [cString(name), Buffer.alloc(4)]);

/** Calls a function without arguments by its OID. The server answers the call with its own ReadyForQuery. */
export function callFunction(id: number): Buffer {
  const call = Buffer.alloc(10);
  call.writeUInt32BE(id, 0);
  return message('F', [call]);
}

/**
 * Binds values as text to the unnamed portal, with results as text, or as `formats` says. Avoids copies, because every
 * execution sends it.
 */
export function bind(name: string, params: readonly Param[], formats?: Buffer): Buffer {
  const texts: (string | null)[] = new Array(params.length);
  // Type, length, portal name, statement name, formats of parameters (none means text), count, values, formats of
  // results.
  let size = 5 + 1 + name.length + 1 + 2 + 2 + (formats?.length ?? 2);
  // Iterators would take a quarter of this function.
  for (let i = 0; i < params.length; i++) {
    const param = params[i] as Param;
    const text = param === null ? null : toText(param);
    texts[i] = text;
    size += 4 + (text === null ? 0 : bytesOf(text));
  }
  const out = Buffer.allocUnsafe(size);
  out[0] = bindType;
  out.writeInt32BE(size - 1, 1);
  out[5] = 0;
  // The hub chooses the names of statements, which are ASCII.
  let at = writeText(out, name, 6);
  out[at] = 0;
  out.writeInt16BE(0, at + 1);
  at = out.writeUInt16BE(texts.length, at + 3);
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i] as string | null;
    const start = at + 4;
    at = text === null ? start : writeText(out, text, start);
    writeLength(out, text === null ? -1 : at - start, start - 4);
  }
  if (formats === undefined) out.writeInt16BE(0, at);
  else out.set(formats, at);
  return out;
}

/** Like `writeInt32BE` without its checks, which take longer than the writing. */
function writeLength(out: Buffer, length: number, at: number): void {
  out[at] = length >> 24;
  out[at + 1] = length >> 16;
  out[at + 2] = length >> 8;
  out[at + 3] = length;
}

const bindType = 0x42;

/**
 * Returns the messages of the statement itself. A statement without a name is parsed in the same round trip, so that
 * SQL that ran before in the session can neither drop nor replace it, and its plan cannot be stale.
 */
export function statementMessages(
  { text, params, untyped, types: own, kind }: Typed,
  {
    prepared: { name, fields, parameterTypes },
    formats,
  }: {
    prepared: { name: string; fields: unknown; parameterTypes: readonly number[] };
    formats: Buffer | undefined;
  },
  { maxRows }: RunOptions,
): Buffer[] {
  // A write is read to its end: a SELECT that writes would stop writing at the limit, and `maxAffected` needs the count.
  const all = maxRows === undefined || maxRows >= executeRowsMax || kind !== 'read';
  const limit = all ? executeAll : execute(maxRows + 1);
  if (name !== '') return [bind(name, params, formats), limit];
  const described = fields === undefined ? [] : [describePortal];
  // The values have the forms of these types.
  const types = untyped === undefined && own === undefined ? [] : parameterTypes;
  return [parse('', text, types), bind('', params), ...described, limit];
}

/** The formats of the results: binary for each column that is true. */
export function resultFormats(areBinary: readonly boolean[]): Buffer {
  const formats = Buffer.alloc(2 + 2 * areBinary.length);
  formats.writeUInt16BE(areBinary.length);
  for (const [i, isBinary] of areBinary.entries()) formats.writeInt16BE(Number(isBinary), 2 + 2 * i);
  return formats;
}

/** Up to this length, a loop is faster than `Buffer.write` and `Buffer.byteLength`. */
const shortTextMax = 24;

/** The length of a text in UTF-8. */
function bytesOf(text: string): number {
  if (text.length > shortTextMax) return Buffer.byteLength(text);
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return Buffer.byteLength(text);
  return text.length;
}

/** Writes a text as UTF-8 and returns its end. */
function writeText(out: Buffer, text: string, start: number): number {
  if (text.length > shortTextMax) return start + out.write(text, start);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return start + out.write(text, start);
    out[start + i] = code;
  }
  return start + text.length;
}

/** Every PostgreSQL type that accepts booleans accepts `true` and `false`. */
function toText(param: Exclude<Param, null>): string {
  if (typeof param === 'string') return param;
  return typeof param === 'object' ? param.decimal : String(param);
}

/** The first message of a session, with parameters by name. */
export function startUp(parameters: Record<string, string>): Buffer {
  const texts = Object.entries(parameters).flat();
  if (texts.some((text) => text.includes('\0')))
    throw new RangeError('A parameter contains a NUL character.');
  const body = Buffer.concat([...texts.map(cString), Buffer.alloc(1)]);
  const header = Buffer.allocUnsafe(8);
  header.writeInt32BE(8 + body.length, 0);
  header.writeInt32BE(196_608, 4);
  return Buffer.concat([header, body]);
}

export const password = (text: string) => message('p', [cString(text)]);
export const saslAnswer = (text: string) => message('p', [encoder(text)]);
export function saslStart(mechanism: string, text: string): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeInt32BE(Buffer.byteLength(text));
  return message('p', [cString(mechanism), length, encoder(text)]);
}

/** Requests TLS on a new connection. The answer is one byte. */
export const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export function cancelRequest(processId: number, secretKey: number): Buffer {
  const out = Buffer.allocUnsafe(16);
  out.writeInt32BE(16, 0);
  out.writeInt32BE(80_877_102, 4);
  out.writeInt32BE(processId, 8);
  out.writeInt32BE(secretKey, 12);
  return out;
}

/** Far more than is shown of a message, and less than a server could send. */
const fieldBytesMax = 65_536;
/** PostgreSQL has 18. */
const fieldsMax = 64;

/** Reads the fields of an ErrorResponse by their one-letter codes. Long ones are cut. */
export function readFields(body: Buffer): Map<string, string> {
  const fields = new Map<string, string>();
  let at = 0;
  for (let left = fieldsMax; left > 0 && at < body.length && body[at] !== 0; left--) {
    const end = body.indexOf(0, at + 1);
    fields.set(
      String.fromCharCode(body[at] as number),
      body.toString('utf8', at + 1, Math.min(end < 0 ? body.length : end, at + 1 + fieldBytesMax)),
    );
    if (end < 0) break;
    at = end + 1;
  }
  return fields;
}

export interface FieldDescription {
  name: string;
  /** The OID of the table that the column comes from, and the column's number in it; 0 for an expression. */
  tableId: number;
  attribute: number;
  typeId: number;
  /** -1 for none. */
  modifier: number;
}

/** More than PostgreSQL's 1,664. */
const columnsMax = 4_096;
/** More than the 63 bytes of PostgreSQL, and of all columns together. */
const nameBytesMax = 4_096;
const namesBytesMax = 524_288;

export function readRowDescription(body: Buffer): FieldDescription[] {
  const fields: FieldDescription[] = [];
  let at = 2;
  let namesBytes = 0;
  const count = body.readUInt16BE(0);
  if (count > columnsMax) throw new RangeError('The server described too many columns.');
  for (let i = count; i > 0; i--) {
    const end = body.indexOf(0, at);
    if (end < 0) throw new RangeError('The server sent a column name without a terminator.');
    namesBytes += end - at;
    if (end - at > nameBytesMax || namesBytes > namesBytesMax)
      throw new RangeError('The server sent names of columns that are too long.');
    const name = body.toString('utf8', at, end);
    fields.push({
      name,
      tableId: body.readUInt32BE(end + 1),
      attribute: body.readInt16BE(end + 5),
      typeId: body.readUInt32BE(end + 7),
      modifier: body.readInt32BE(end + 13),
    });
    at = end + 19;
  }
  return fields;
}

export function readParameterTypes(body: Buffer): number[] {
  return Array.from({ length: body.readUInt16BE(0) }, (_, i) => body.readUInt32BE(2 + 4 * i));
}

/** Reads the fields of a DataRow as texts. */
export function readRow(body: Buffer): (string | null)[] {
  const row: (string | null)[] = [];
  let at = 2;
  for (let i = body.readUInt16BE(0); i > 0; i--) {
    const length = body.readInt32BE(at);
    row.push(length < 0 ? null : body.toString('utf8', at + 4, at + 4 + length));
    at += 4 + Math.max(0, length);
  }
  return row;
}
