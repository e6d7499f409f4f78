/** Converts PostgreSQL's text format of each type to JSON bytes. */

import { isUtf8 } from 'node:buffer';
import { anyJson, type JsonType } from '@datahub/contract/json-types';
import { HubError } from '@datahub/service-kit/call/error';
import type { ByteWriter } from '../../result/byte-writer.ts';
import {
  copyBytes,
  writeAscii,
  writeBase64,
  writeBoolean,
  writeDecimal,
  writeJson,
  writeNull,
  writeQuoted,
  writeRaw,
  writeString,
} from '../../result/json-encoder.ts';
import type { FieldEncoder } from '../../row-sink.ts';

interface Type {
  name: string;
  encode: FieldEncoder;
}

const writeTruth: FieldEncoder = (out, source, start) => writeBoolean(out, source[start] === 0x74);

/**
 * The server sends the shortest digits that round-trip. NaN and the infinities become strings, because JSON has no such
 * numbers.
 */
const writeFloat: FieldEncoder = (out, source, start, end) => {
  const last = source[end - 1] as number;
  const isNumber = last >= 0x30 && last <= 0x39;
  if (isNumber) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
};

const writeBytes: FieldEncoder = (out, source, start, end) => {
  const bytes = Buffer.from(source.toString('latin1', start + 2, end), 'hex');
  writeBase64(out, bytes, 0, bytes.length);
};

const quote = 0x22;
const letterC = 0x43;
const letterT = 0x54;
const letterZ = 0x5a;
const dash = 0x2d;
const point = 0x2e;
const space = 0x20;
const zero = 0x30;
/** Matches `2026-11-20 13:04:05` after the year. */
const afterYearBytes = 15;

/** ISO 8601 with at least milliseconds. Infinity and years BC stay in the database's format. */
function timestampEncoder(zone: string): FieldEncoder {
  // The session's time zone is UTC, so a timestamptz ends with +00.
  const tailBytes = zone === '' ? 0 : 3;
  return (out, source, start, end) => {
    let year = start + 4;
    while (year < start + 6 && source[year] !== dash) year++;
    const seconds = year + afterYearBytes;
    const stop = end - tailBytes;
    const fits = source[year] === dash && source[year + 6] === space && source[end - 1] !== letterC;
    if (!fits || (stop !== seconds && source[seconds] !== point)) {
      writeQuoted(out, source, start, end);
      return;
    }
    out.reserve(end - start + 8);
    out.buffer[out.position++] = quote;
    copyBytes(out, source, start, stop);
    const { buffer } = out;
    let at = out.position;
    buffer[at - (stop - year - 6)] = letterT;
    if (stop === seconds) buffer[at++] = point;
    for (let digits = Math.max(0, stop - seconds - 1); digits < 3; digits++) buffer[at++] = zero;
    if (zone !== '') buffer[at++] = letterZ;
    buffer[at++] = quote;
    out.position = at;
  };
}

const writeBit: FieldEncoder = (out, source, start) => writeBoolean(out, source[start] === 0x31);

const types: Record<number, Type & { array?: number }> = {
  16: { name: 'boolean', encode: writeTruth, array: 1000 },
  17: { name: 'bytea', encode: writeBytes, array: 1001 },
  18: { name: 'char', encode: writeString, array: 1002 },
  19: { name: 'name', encode: writeString, array: 1003 },
  20: { name: 'bigint', encode: writeDecimal, array: 1016 },
  21: { name: 'smallint', encode: writeRaw, array: 1005 },
  23: { name: 'integer', encode: writeRaw, array: 1007 },
  25: { name: 'text', encode: writeString, array: 1009 },
  26: { name: 'oid', encode: writeRaw, array: 1028 },
  114: { name: 'json', encode: writeJson, array: 199 },
  142: { name: 'xml', encode: writeString, array: 143 },
  600: { name: 'point', encode: writeString, array: 1017 },
  650: { name: 'cidr', encode: writeString, array: 651 },
  700: { name: 'real', encode: writeFloat, array: 1021 },
  701: { name: 'double precision', encode: writeFloat, array: 1022 },
  790: { name: 'money', encode: writeString, array: 791 },
  829: { name: 'macaddr', encode: writeString, array: 1040 },
  869: { name: 'inet', encode: writeString, array: 1041 },
  1042: { name: 'character', encode: writeString, array: 1014 },
  1043: { name: 'character varying', encode: writeString, array: 1015 },
  1082: { name: 'date', encode: writeQuoted, array: 1182 },
  1083: { name: 'time', encode: writeQuoted, array: 1183 },
  1114: { name: 'timestamp', encode: timestampEncoder(''), array: 1115 },
  1184: { name: 'timestamptz', encode: timestampEncoder('Z'), array: 1185 },
  1186: { name: 'interval', encode: writeQuoted, array: 1187 },
  1266: { name: 'timetz', encode: writeQuoted, array: 1270 },
  1560: { name: 'bit', encode: writeQuoted, array: 1561 },
  1562: { name: 'bit varying', encode: writeQuoted, array: 1563 },
  1700: { name: 'numeric', encode: writeDecimal, array: 1231 },
  2950: { name: 'uuid', encode: writeQuoted, array: 2951 },
  3802: { name: 'jsonb', encode: writeJson, array: 3807 },
};

const quotedNumbers: Record<number, FieldEncoder> = { 20: writeQuoted, 1700: writeQuoted };
const elementOf = new Map(Object.entries(types).map(([id, { array }]) => [array, Number(id)]));

/** True for built-in types, which need no catalog query. */
export function isKnownType(typeId: number): boolean {
  return types[typeId] !== undefined || elementOf.has(typeId);
}

/** A type that is not built in, from the server's catalog: an enum, a composite, or an array of one. */
export interface ServerType {
  name: string;
  /** The element type of an array. */
  elementId: number | undefined;
  /** The base type of a domain. The server resolves it itself, except for array elements. */
  baseId: number | undefined;
}

export interface TypeOptions {
  modifier: number;
  numbers: 'auto' | 'string';
  serverTypes: ReadonlyMap<number, ServerType>;
}

export function typeName(typeId: number, serverTypes: ReadonlyMap<number, ServerType>): string {
  const element = elementOf.get(typeId);
  if (element !== undefined) return `${types[element]?.name}[]`;
  return types[typeId]?.name ?? serverTypes.get(typeId)?.name ?? 'unknown';
}

export function encoderOf(typeId: number, options: TypeOptions): FieldEncoder {
  if (typeId === 1560 && options.modifier === 1) return writeBit;
  const quoted = options.numbers === 'string' ? quotedNumbers[typeId] : undefined;
  if (quoted !== undefined) return quoted;
  const known = types[typeId];
  if (known !== undefined) return known.encode;
  const own = options.serverTypes.get(typeId);
  if (own?.baseId !== undefined) return encoderOf(own.baseId, options);
  const element = elementOf.get(typeId) ?? own?.elementId;
  // Composites, ranges, enums and extension types are written as their text format.
  return element === undefined ? writeString : createArrayEncoder(encoderOf(element, options));
}

/**
 * For databases that do not validate text. JSON must be UTF-8, so invalid bytes fail the execution instead of being
 * replaced silently.
 */
export function checked(encode: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    if (isUtf8(source.subarray(start, end))) encode(out, source, start, end);
    else throw new HubError('SQL_REJECTED', notUtf8, { retryable: false, sql: { state: '22021' } });
  };
}

const notUtf8 =
  "A text in the result is not valid UTF-8, and the database’s encoding SQL_ASCII does not define its encoding. Convert it in the statement, as in convert_from(convert(convert_to(name, 'SQL_ASCII'), 'LATIN1', 'UTF8'), 'SQL_ASCII').";

const jsonTypeOfEncoder = new Map<FieldEncoder, JsonType>([
  [writeTruth, 'boolean'],
  [writeBit, 'boolean'],
  [writeRaw, 'number'],
  [writeFloat, 'number|string'],
  [writeDecimal, 'number|string'],
  [writeJson, anyJson],
]);

/** `int2vector` and `oidvector`. The catalog calls them arrays, but their text format is not that of arrays. */
const vectors = new Set([22, 30]);

export function jsonTypeOf(typeId: number, options: Omit<TypeOptions, 'numbers'>): JsonType {
  const { baseId, elementId } = options.serverTypes.get(typeId) ?? {};
  if (types[typeId] === undefined && baseId !== undefined) return jsonTypeOf(baseId, options);
  if (elementOf.has(typeId) || (elementId !== undefined && !vectors.has(typeId))) return 'array';
  return jsonTypeOfEncoder.get(encoderOf(typeId, { ...options, numbers: 'auto' })) ?? 'string';
}

/** True for JSON types: their strings keep their quotes. */
export function isJson(typeId: number): boolean {
  return typeId === 114 || typeId === 3802;
}

const open = 0x7b;
const close = 0x7d;
const comma = 0x2c;
const backslash = 0x5c;
const equals = 0x3d;
const bounds = 0x5b;

/** Parses `{1,NULL,{2}}`, optionally with bounds in front, as in `[0:1]={1,2}`. */
function createArrayEncoder(element: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let at = start;
    if (source[at] === bounds) at = source.indexOf(equals, at) + 1;
    else if (source[at] !== open) {
      // int2vector and oidvector are arrays in the catalog, but their text format has no braces.
      writeString(out, source, start, end);
      return;
    }
    while (at < end) at = writeToken(out, source, { at, end, element });
  };
}

/** Writes the element at `at` and returns the position of the next token. */
function writeToken(
  out: ByteWriter,
  source: Buffer,
  { at, end, element }: { at: number; end: number; element: FieldEncoder },
): number {
  const byte = source[at];
  if (byte === open || byte === close || byte === comma) {
    writeAscii(out, byte === open ? '[' : byte === close ? ']' : ',');
    return at + 1;
  }
  if (byte === quote) return writeQuotedElement(out, source, { at: at + 1, element });
  let stop = at;
  while (stop < end && source[stop] !== comma && source[stop] !== close) stop++;
  if (source.toString('latin1', at, stop) === 'NULL') writeNull(out);
  else element(out, source, at, stop);
  return stop;
}

function writeQuotedElement(
  out: ByteWriter,
  source: Buffer,
  { at, element }: { at: number; element: FieldEncoder },
): number {
  let stop = at;
  let escaped = false;
  while (source[stop] !== quote) {
    if (source[stop] === backslash) {
      escaped = true;
      stop++;
    }
    stop++;
  }
  if (!escaped) element(out, source, at, stop);
  else {
    const bytes = removeEscapes(source, at, stop);
    element(out, bytes, 0, bytes.length);
  }
  return stop + 1;
}

function removeEscapes(source: Buffer, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let i = start; i < end; i++) {
    if (source[i] === backslash) i++;
    bytes[length++] = source[i] as number;
  }
  return bytes.subarray(0, length);
}
