/** Converts binary values of MySQL and MariaDB to JSON bytes, in the same form as PostgreSQL's values. */

import {
  writeAscii,
  writeBase64,
  writeBoolean,
  writeDecimal,
  writeInteger,
  writeJson,
  writeQuoted,
  writeString,
} from '../../result/json-encoder.ts';
import type { FieldEncoder } from '../../row-sink.ts';
import type { ColumnDefinition } from './protocol.ts';
import { dateEncoder, writeTime } from './temporal.ts';

/** Returns the size in bytes; -1 if a length-encoded integer precedes the value, -2 if a length byte does. */
export function sizeOf(type: number): number {
  switch (type) {
    case 0x01:
      return 1;
    case 0x02:
    case 0x0d:
      return 2;
    case 0x03:
    case 0x04:
    case 0x09:
      return 4;
    case 0x05:
    case 0x08:
      return 8;
    case 0x07:
    case 0x0a:
    case 0x0b:
    case 0x0c:
      return -2;
    case 0x06:
      return 0;
    default:
      return -1;
  }
}

const unsignedFlag = 0x20;
const zerofillFlag = 0x40;
const binaryCharset = 63;

export function encoderOf(column: ColumnDefinition, numbers: 'auto' | 'string'): FieldEncoder {
  const unsigned = (column.flags & unsignedFlag) !== 0;
  switch (column.type) {
    case 0x01:
      return unsigned ? (out, source, start) => writeInteger(out, source[start] as number) : writeInt8;
    case 0x02:
      return unsigned ? writeUint16 : (out, source, start) => writeInteger(out, source.readInt16LE(start));
    case 0x0d:
      return writeUint16;
    case 0x03:
    case 0x09:
      return unsigned
        ? (out, source, start) => writeInteger(out, source.readUInt32LE(start))
        : (out, source, start) => writeInteger(out, source.readInt32LE(start));
    case 0x08:
      return bigintEncoder(unsigned, numbers);
    case 0x04:
      return (out, source, start) => writeAscii(out, shortestFloat(source.readFloatLE(start)));
    case 0x05:
      return (out, source, start) => writeAscii(out, numberText(source.readDoubleLE(start)));
    case 0x00:
    case 0xf6:
      return decimalEncoder(column, numbers === 'string' ? writeQuoted : writeDecimal);
    case 0x0a:
      return dateEncoder(undefined);
    case 0x0c:
      return dateEncoder('');
    case 0x07:
      return dateEncoder('Z');
    case 0x0b:
      return writeTime;
    case 0x10:
      return column.length === 1 ? writeBit : bitsEncoder(column.length);
    case 0xf5:
      return writeJson;
    default:
      return textEncoder(column);
  }
}

function textEncoder({ type, charset, extended }: ColumnDefinition): FieldEncoder {
  if (extended === 'json') return writeCheckedJson;
  if (extended !== '' && type !== 0xff) return writeString;
  // Geometry has the storage format: four bytes of SRID, then WKB.
  return charset === binaryCharset ? writeBase64 : writeString;
}

const writeInt8: FieldEncoder = (out, source, start) => writeInteger(out, source.readInt8(start));
const writeUint16: FieldEncoder = (out, source, start) => writeInteger(out, source.readUInt16LE(start));

const exactMax = 999_999_999_999_999n;

function bigintEncoder(unsigned: boolean, numbers: 'auto' | 'string'): FieldEncoder {
  return (out, source, start) => {
    const high = source.readInt32LE(start + 4);
    // Most values are small and need no BigInt.
    if (high === 0 && numbers === 'auto') {
      writeInteger(out, source.readUInt32LE(start));
      return;
    }
    const value = unsigned ? source.readBigUInt64LE(start) : source.readBigInt64LE(start);
    const exact = numbers === 'auto' && value <= exactMax && value >= -exactMax;
    writeAscii(out, exact ? String(value) : `"${value}"`);
  };
}

/** Keeps the sign of negative zero, which JSON allows but String() drops. */
const numberText = (value: number) => (Object.is(value, -0) ? '-0' : String(value));

const normalFloatMin = 2 ** -126;

/**
 * Returns the fewest digits that parse to the same 32-bit number. The search starts at six digits, except for
 * subnormals.
 */
function shortestFloat(value: number): string {
  if (value === 0) return numberText(value);
  for (let digits = Math.abs(value) < normalFloatMin ? 1 : 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** Removes the leading zeros of ZEROFILL, which JSON numbers must not have. */
function decimalEncoder({ flags }: ColumnDefinition, encode: FieldEncoder): FieldEncoder {
  if ((flags & zerofillFlag) === 0) return encode;
  return (out, source, start, end) => {
    let from = start;
    while (from + 1 < end && source[from] === 0x30 && source[from + 1] !== 0x2e) from++;
    encode(out, source, from, end);
  };
}

const writeBit: FieldEncoder = (out, source, _start, end) =>
  writeBoolean(out, ((source[end - 1] as number) & 1) === 1);

function bitsEncoder(width: number): FieldEncoder {
  return (out, source, start, end) => {
    let value = 0n;
    for (let i = start; i < end; i++) value = (value << 8n) | BigInt(source[i] as number);
    writeAscii(out, `"${value.toString(2).padStart(width, '0')}"`);
  };
}

/**
 * Writes invalid JSON as a string, because MariaDB's JSON columns may contain it (`1.`, its own escapes, unchecked
 * text).
 */
const writeCheckedJson: FieldEncoder = (out, source, start, end) => {
  try {
    JSON.parse(source.toString('utf8', start, end));
  } catch {
    writeString(out, source, start, end);
    return;
  }
  writeJson(out, source, start, end);
};

const names: Record<number, string> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  4: 'float',
  5: 'double',
  6: 'null',
  7: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  12: 'datetime',
  13: 'year',
  16: 'bit',
  245: 'json',
  246: 'decimal',
  255: 'geometry',
};

const enumFlag = 0x100;
const setFlag = 0x800;

/** Types that have no sign, although their columns have the unsigned flag: TIMESTAMP, YEAR, BIT. */
const signless = new Set([7, 13, 16]);

export function typeName({ type, flags, charset, extended }: ColumnDefinition): string {
  const known = names[type];
  if (known !== undefined) {
    return (flags & unsignedFlag) !== 0 && !signless.has(type) ? `${known} unsigned` : known;
  }
  if (extended !== '') return extended;
  if ((flags & enumFlag) !== 0) return 'enum';
  if ((flags & setFlag) !== 0) return 'set';
  const binary = charset === binaryCharset;
  if (type >= 0xf9 && type <= 0xfc) return binary ? 'blob' : 'text';
  if (type === 0xfe) return binary ? 'binary' : 'char';
  return binary ? 'varbinary' : 'varchar';
}

/** True for JSON columns. Their strings keep their quotes in CSV, too. */
export function isJson({ type, extended }: ColumnDefinition): boolean {
  return type === 0xf5 || extended === 'json';
}
