/** How a value of each kind is written as JSON. */

import { anyJson, type JsonType } from '@datahub/contract/json-types';
import type { ColumnKind } from '../../ports/column-kind.ts';
import { BsonWriter } from './bson.ts';
import { isoTimestampEncoder } from './iso-times.ts';
import { isJson } from './json-check.ts';
import { bigintEncoder, integerEncoder, writeDouble, writeFloat } from './little-endian.ts';
import { malformedError } from './malformed.ts';
import { bitsEncoder, withoutLeadingZeros, writeHexAsBase64 } from './other-bytes.ts';
import { packedDateEncoder, packedTimeEncoder } from './packed-times.ts';
import {
  type ByteWriter,
  type FieldEncoder,
  inQuotes,
  type Numbers,
  writeBase64,
  writeBit,
  writeDigits,
  writeJson,
  writeLetter,
  writeNull,
  writeQuoted,
  writeRaw,
  writeString,
} from './primitives.ts';

const quotedBigints = { auto: 'long', string: 'all', number: 'none' } as const satisfies Record<
  Numbers,
  string
>;

/** The encoder of a kind's values as JSON. A kind that is missing does not compile. */
export function jsonEncoder(kind: ColumnKind, numbers: Numbers): FieldEncoder {
  switch (kind.is) {
    case 'boolean':
      return kind.bytes === 'letter' ? writeLetter : writeBit;
    case 'integer':
      if (kind.bits !== 64)
        return kind.bytes === 'digits' ? writeRaw : integerEncoder(kind.bits, kind.isUnsigned);
      if (kind.bytes === 'digits') return writeDigits[numbers];
      return bigintEncoder(kind.isUnsigned, quotedBigints[numbers]);
    case 'float':
      if (kind.bytes === 'digits') return writeFloatDigits;
      return kind.bits === 32 ? writeFloat : writeDouble;
    case 'decimal': {
      const write = writeDigits[numbers];
      return kind.isPadded ? withoutLeadingZeros(write) : write;
    }
    case 'date':
      return kind.bytes === 'iso' ? writeQuoted : packedDateEncoder(undefined, 'json');
    case 'time':
      return kind.bytes === 'iso' ? writeQuoted : packedTimeEncoder('json');
    case 'timestamp':
      if (kind.bytes === 'iso') return isoTimestampEncoder(kind.hasZone, 'json');
      return packedDateEncoder(kind.hasZone ? 'Z' : '', 'json');
    case 'bits':
      return inQuotes(bitsEncoder(kind.width));
    case 'binary':
      return inQuotes(kind.bytes === 'raw' ? writeBase64 : writeHexAsBase64);
    case 'text':
      return writeString;
    case 'ascii':
      return writeQuoted;
    case 'json':
      return kind.mayBeInvalid ? writeCheckedJson : writeJson;
    case 'array':
      return arrayEncoder(jsonEncoder(kind.element, numbers));
    case 'bson':
      return new BsonWriter(numbers, 'json').element;
  }
}

/** The JSON types of a kind's values, apart from null. */
export function jsonTypeOf(kind: ColumnKind): JsonType {
  switch (kind.is) {
    case 'boolean':
    case 'array':
      return kind.is;
    case 'integer':
      return kind.bits === 64 ? 'number|string' : 'number';
    case 'float':
      return kind.bytes === 'digits' ? 'number|string' : 'number';
    case 'decimal':
      return 'number|string';
    case 'json':
    case 'bson':
      return anyJson;
    default:
      return 'string';
  }
}

/**
 * The server sends the shortest digits that round-trip. NaN and the infinities become strings, because JSON has no such
 * numbers.
 */
const writeFloatDigits: FieldEncoder = (out, source, start, end) => {
  const last = source[end - 1] as number;
  const isNumber = last >= 0x30 && last <= 0x39;
  if (isNumber) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
};

/**
 * Writes invalid JSON as a string, because MariaDB's JSON columns may contain it (`1.`, its own escapes, unchecked
 * text).
 */
const writeCheckedJson: FieldEncoder = (out, source, start, end) => {
  if (isJson(source, start, end)) writeJson(out, source, start, end);
  else writeString(out, source, start, end);
};

const quote = 0x22;
const open = 0x7b;
const close = 0x7d;
const comma = 0x2c;
const backslash = 0x5c;
const equals = 0x3d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Parses `{1,NULL,{2}}`, optionally with bounds in front, as in `[0:1]={1,2}`. Throws for a text that ends too early: the
 * bytes after it belong to other values.
 */
function arrayEncoder(element: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let at = source[start] === openBracket ? find(equals, source, start, end) + 1 : start;
    while (at < end) at = writeToken(out, source, { at, end, element });
  };
}

function find(wanted: number, source: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && source[at] !== wanted) at += source[at] === backslash ? 2 : 1;
  if (at < end) return at;
  throw malformedError('an array that has no end');
}

/** Writes the element at `at` and returns the position of the next token. */
function writeToken(
  out: ByteWriter,
  source: Buffer,
  { at, end, element }: { at: number; end: number; element: FieldEncoder },
): number {
  const byte = source[at];
  if (byte === open || byte === close || byte === comma) {
    out.reserve(1);
    out.buffer[out.position++] = byte === comma ? byte : byte === open ? openBracket : closeBracket;
    return at + 1;
  }
  if (byte === quote) return writeQuotedElement(out, source, { at: at + 1, end, element });
  let stop = at;
  while (stop < end && source[stop] !== comma && source[stop] !== close) stop++;
  if (isNull(source, at, stop)) writeNull(out);
  else element(out, source, at, stop);
  return stop;
}

/** Without a string for each element, which would take most of the time of a long array of numbers. */
const isNull = (source: Buffer, start: number, end: number): boolean =>
  end - start === 4 && source[start] === 0x4e && source.toString('latin1', start, end) === 'NULL';

function writeQuotedElement(
  out: ByteWriter,
  source: Buffer,
  { at, end, element }: { at: number; end: number; element: FieldEncoder },
): number {
  const stop = find(quote, source, at, end);
  let plain = at;
  while (plain < stop && source[plain] !== backslash) plain++;
  if (plain === stop) element(out, source, at, stop);
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
