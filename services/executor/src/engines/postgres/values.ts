/** The kinds of PostgreSQL's types, in the text format and in the binary one. */

import { isUtf8 } from 'node:buffer';
import { HubError } from '@datahub/service-kit/call/error';
import type { Expected } from '@datahub/statement/sql/untyped';
import type { BinaryKind, ColumnKind } from '../../ports/column-kind.ts';
import { type Format, formats } from './formats.ts';

const integer = (bits: 16 | 32 | 64, isUnsigned = false): ColumnKind => ({
  is: 'integer',
  bits,
  isUnsigned,
  bytes: 'digits',
});
const boolean: ColumnKind = { is: 'boolean', bytes: 'letter' };
const text: ColumnKind = { is: 'text' };
const ascii: ColumnKind = { is: 'ascii' };
const json: ColumnKind = { is: 'json', mayBeInvalid: false };
const timestamp = (hasZone: boolean): ColumnKind => ({ is: 'timestamp', hasZone, bytes: 'iso' });

const bigEndian = (bits: 16 | 32 | 64, isUnsigned = false): BinaryKind => ({
  is: 'integer',
  bits,
  isUnsigned,
  bytes: 'big-endian',
});
const float = (bits: 32 | 64) =>
  ({
    kind: { is: 'float', bits, bytes: 'digits' },
    binary: { is: 'float', bits, bytes: 'big-endian' },
  }) as const;
const binaryTimestamp = (hasZone: boolean): BinaryKind => ({ is: 'timestamp', hasZone, bytes: 'micros' });

interface Type {
  name: string;
  kind: ColumnKind;
  /**
   * The kind in the binary format, if this costs the database and the hub less together. Texts, JSON, booleans and
   * numerics cost the database as much or more.
   */
  binary?: BinaryKind | ColumnKind;
  /** The type of its arrays. */
  array: number;
}

const types: Record<number, Type> = {
  16: { name: 'boolean', kind: boolean, array: 1000 },
  17: {
    name: 'bytea',
    kind: { is: 'binary', bytes: 'hex' },
    binary: { is: 'binary', bytes: 'raw' },
    array: 1001,
  },
  18: { name: 'char', kind: text, array: 1002 },
  19: { name: 'name', kind: text, array: 1003 },
  20: { name: 'bigint', kind: integer(64), binary: bigEndian(64), array: 1016 },
  21: { name: 'smallint', kind: integer(16), binary: bigEndian(16), array: 1005 },
  // The catalog calls vectors arrays, but their text format is not that of arrays.
  22: { name: 'int2vector', kind: text, array: 1006 },
  23: { name: 'integer', kind: integer(32), binary: bigEndian(32), array: 1007 },
  25: { name: 'text', kind: text, array: 1009 },
  26: { name: 'oid', kind: integer(32, true), binary: bigEndian(32, true), array: 1028 },
  30: { name: 'oidvector', kind: text, array: 1013 },
  114: { name: 'json', kind: json, array: 199 },
  142: { name: 'xml', kind: text, array: 143 },
  600: { name: 'point', kind: text, array: 1017 },
  650: { name: 'cidr', kind: text, array: 651 },
  700: { name: 'real', ...float(32), array: 1021 },
  701: { name: 'double precision', ...float(64), array: 1022 },
  790: { name: 'money', kind: text, array: 791 },
  829: { name: 'macaddr', kind: text, array: 1040 },
  869: { name: 'inet', kind: text, array: 1041 },
  1042: { name: 'character', kind: text, array: 1014 },
  1043: { name: 'character varying', kind: text, array: 1015 },
  1082: {
    name: 'date',
    kind: { is: 'date', bytes: 'iso' },
    binary: { is: 'date', bytes: 'days' },
    array: 1182,
  },
  1083: {
    name: 'time',
    kind: { is: 'time', bytes: 'iso' },
    binary: { is: 'time', bytes: 'micros' },
    array: 1183,
  },
  1114: { name: 'timestamp', kind: timestamp(false), binary: binaryTimestamp(false), array: 1115 },
  1184: { name: 'timestamptz', kind: timestamp(true), binary: binaryTimestamp(true), array: 1185 },
  1186: { name: 'interval', kind: ascii, array: 1187 },
  1266: { name: 'timetz', kind: ascii, array: 1270 },
  // It can be empty, as a part of another one.
  1560: { name: 'bit', kind: text, array: 1561 },
  1562: { name: 'bit varying', kind: text, array: 1563 },
  1700: { name: 'numeric', kind: { is: 'decimal' }, array: 1231 },
  2950: { name: 'uuid', kind: ascii, binary: { is: 'uuid' }, array: 2951 },
  3802: { name: 'jsonb', kind: json, array: 3807 },
};

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
  /** True for a kind of text, such as citext. */
  isText: boolean;
}

export function typeName(typeId: number, serverTypes: ReadonlyMap<number, ServerType>): string {
  const element = elementOf.get(typeId);
  if (element !== undefined) return `${types[element]?.name}[]`;
  return types[typeId]?.name ?? serverTypes.get(typeId)?.name ?? 'unknown';
}

/** What a value without a declared type must look like in a place of this type. */
export function expectedOf(typeId: number, serverTypes: ReadonlyMap<number, ServerType>): Expected {
  if (typeId === 114 || typeId === 3802) return 'json';
  if (integers.has(typeId)) return 'integer';
  if (texts.has(typeId)) return 'text';
  const own = serverTypes.get(typeId);
  if (own?.baseId !== undefined) return expectedOf(own.baseId, serverTypes);
  const element = elementOf.get(typeId) ?? own?.elementId;
  if (element !== undefined) return { elements: expectedOf(element, serverTypes) };
  return own?.isText ? 'text' : 'other';
}

/** True for a kind of text, and for a list of one. */
export function isTextType(typeId: number, serverTypes: ReadonlyMap<number, ServerType>): boolean {
  const expected = expectedOf(typeId, serverTypes);
  return typeof expected === 'object' ? expected.elements === 'text' : expected === 'text';
}

const integers = new Set([20, 21, 23, 26]);
const texts = new Set([18, 19, 25, 1042, 1043]);

export interface TypeOptions {
  /** The length, or precision and scale, of the column; -1 if it has none. */
  modifier: number;
  serverTypes: ReadonlyMap<number, ServerType>;
}

const bit = 1560;
const numeric = 1700;

export function kindOf(typeId: number, options: TypeOptions): ColumnKind {
  const { modifier, serverTypes } = options;
  if (typeId === bit && modifier === 1) return { is: 'boolean', bytes: 'bit' };
  if (typeId === numeric && modifier >= 0) return toDecimal(modifier);
  const known = types[typeId];
  if (known !== undefined) return known.kind;
  const own = serverTypes.get(typeId);
  if (own?.baseId !== undefined) return kindOf(own.baseId, options);
  const element = elementOf.get(typeId) ?? own?.elementId;
  // Composites, ranges, enums and extension types are written as their text format.
  return element === undefined ? text : { is: 'array', element: kindOf(element, options) };
}

const ownFormats: Record<number, readonly Format[]> = {
  17: ['bytea_output'],
  600: ['extra_float_digits'],
  700: ['extra_float_digits'],
  701: ['extra_float_digits'],
  1082: ['DateStyle'],
  1114: ['DateStyle'],
  1184: ['TimeZone', 'DateStyle'],
  1186: ['IntervalStyle'],
};

/** The settings of the session that decide how values of the type are written. */
export function formatsOf(typeId: number, serverTypes: ReadonlyMap<number, ServerType>): readonly Format[] {
  const own = serverTypes.get(typeId);
  const inner = elementOf.get(typeId) ?? own?.baseId ?? own?.elementId;
  if (inner !== undefined) return formatsOf(inner, serverTypes);
  const kind = own?.isText ? text : types[typeId]?.kind;
  // Ranges, composites and types of extensions can have values of any type in them.
  if (kind === undefined) return formats;
  return ownFormats[typeId] ?? (kind.is === 'text' || kind.is === 'json' ? ['client_encoding'] : []);
}

/** Undefined if the values come as text. Domains are resolved by the server. */
export const binaryKindOf = (typeId: number): BinaryKind | ColumnKind | undefined => types[typeId]?.binary;

/** The modifier has the precision in its upper half, and 11 bits with a signed scale, all plus 4. */
function toDecimal(modifier: number): ColumnKind {
  const packed = modifier - 4;
  return { is: 'decimal', precision: packed >> 16, scale: ((packed & 0x7ff) ^ 0x400) - 0x400 };
}

/**
 * For databases that do not validate text. Formats need UTF-8, so invalid bytes fail the execution instead of being
 * replaced silently.
 */
export function requireUtf8(source: Buffer, offsets: Int32Array): void {
  for (let i = 0; i < offsets.length; i += 2) {
    const start = offsets[i] as number;
    if (start < 0 || isUtf8(source.subarray(start, offsets[i + 1]))) continue;
    throw new HubError('SQL_REJECTED', notUtf8, { retryable: false, sql: { state: '22021' } });
  }
}

const notUtf8 =
  "A text in the result is not valid UTF-8, and the database’s encoding SQL_ASCII does not define its encoding. Convert it in the statement, as in convert_from(convert(convert_to(name, 'SQL_ASCII'), 'LATIN1', 'UTF8'), 'SQL_ASCII').";
