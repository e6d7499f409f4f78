/** How a value of each kind is written as JSON. */

import { anyJson, type JsonType } from '@datahub/contract/json-types';
import type { ColumnKind } from '../../ports/column-kind.ts';
import { BsonWriter } from './bson.ts';
import { elementsMax, tooManyElements } from './elements.ts';
import { isoTimestampEncoder } from './iso-times.ts';
import { isJson } from './json-check.ts';
import { bigintEncoder, integerEncoder, writeDouble, writeFloat } from './little-endian.ts';
import { malformedError } from './malformed.ts';
import { bitsEncoder, looseDigits, writeHexAsBase64 } from './other-bytes.ts';
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
      return kind.isLoose ? looseDigits(write) : write;
    }
    case 'date':
      return kind.bytes === 'iso' ? writeQuoted : packedDateEncoder(undefined, 'json');
    case 'time':
      return kind.bytes === 'iso' ? writeQuoted : packedTimeEncoder('json');
    case 'timestamp':
      if (kind.bytes === 'iso') return isoTimestampEncoder(kind.hasZone, 'json');
      return packedDateEncoder(kind.hasZone ? 'Z' : '', 'json');
    case 'bits':
      return inQuotes(bitsEncoder(kind));
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
 * bytes after it belong to other values. Throws RESULT_TOO_LARGE for too many elements.
 */
function arrayEncoder(element: FieldEncoder): FieldEncoder {
  const unescaped = new Unescaped();
  return (out, source, start, end) => {
    let at = source[start] === openBracket ? find(equals, source, start, end) + 1 : start;
    let left = elementsMax - out.elements;
    while (at < end) {
      const byte = source[at];
      if (byte === comma) {
        out.reserve(1);
        out.buffer[out.position++] = byte;
        at += 1;
        continue;
      }
      if (--left < 0) throw tooManyElements();
      if (byte === open || byte === close) {
        out.reserve(1);
        out.buffer[out.position++] = byte === open ? openBracket : closeBracket;
        at += 1;
      } else if (byte === quote) {
        const stop = find(quote, source, at + 1, end);
        unescaped.write(out, source, { start: at + 1, end: stop, element });
        at = stop + 1;
      } else {
        let stop = at;
        while (stop < end && source[stop] !== comma && source[stop] !== close) stop++;
        if (isNull(source, at, stop)) writeNull(out);
        else element(out, source, at, stop);
        at = stop;
      }
    }
    out.elements = elementsMax - left;
  };
}

function find(wanted: number, source: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && source[at] !== wanted) at += source[at] === backslash ? 2 : 1;
  if (at < end) return at;
  throw malformedError('an array that has no end');
}

/** Compares bytes: a string for each element would take most of the time of a long array. */
const isNull = (source: Buffer, start: number, end: number): boolean =>
  end - start === 4 &&
  source[start] === 0x4e &&
  source[start + 1] === 0x55 &&
  source[start + 2] === 0x4c &&
  source[start + 3] === 0x4c;

/** Writes elements in quotes. They share a buffer in which their escapes are removed. */
class Unescaped {
  #bytes = Buffer.alloc(0);

  write(
    out: ByteWriter,
    source: Buffer,
    { start, end, element }: { start: number; end: number; element: FieldEncoder },
  ): void {
    let plain = start;
    while (plain < end && source[plain] !== backslash) plain++;
    if (plain === end) {
      element(out, source, start, end);
      return;
    }
    if (this.#bytes.length < end - start) this.#bytes = Buffer.allocUnsafe(2 * (end - start));
    const bytes = this.#bytes;
    let length = 0;
    for (let i = start; i < end; i++) {
      if (source[i] === backslash) i++;
      bytes[length++] = source[i] as number;
    }
    element(out, bytes, 0, length);
    // A long element is not kept in memory.
    if (bytes.length > keptBytesMax) this.#bytes = Buffer.alloc(0);
  }
}

const keptBytesMax = 4_096;
