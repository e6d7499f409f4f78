/** Converts BSON to JSON bytes, in the same form as the values of the other engines. */

import { isUtf8 } from 'node:buffer';
import { HubError } from '@datahub/service-kit/call/error';
import { Decimal128 } from 'mongodb';
import type { ByteWriter } from '../../result/byte-writer.ts';
import {
  writeAscii,
  writeBase64,
  writeBoolean,
  writeDecimal,
  writeInteger,
  writeNull,
  writeQuoted,
  writeString,
  writeText,
} from '../../result/json-encoder.ts';
import { documentEnd, textEnd, types, valueEnd } from './bson-reader.ts';

/** The deepest nesting of a document. MongoDB's own limit is lower. */
const depthMax = 250;
const comma = 0x2c;
const colon = 0x3a;

export class DocumentWriter {
  readonly #quoted: boolean;
  #depth = 0;
  /** The writer of the current document or element. */
  #out!: ByteWriter;

  constructor(numbers: 'auto' | 'string') {
    this.#quoted = numbers === 'string';
  }

  /** Writes a document as a JSON object. */
  readonly document = (out: ByteWriter, source: Buffer, start: number): void => {
    this.#out = out;
    this.#members(source, start, true);
  };

  /** Writes the value of one element, whose type byte is at `start`. Used for the fields of CSV rows. */
  readonly element = (out: ByteWriter, source: Buffer, start: number, end: number): void => {
    this.#out = out;
    const at = textEnd(source, start + 1, end) + 1;
    this.#value(source, source[start] as number, at, end);
  };

  #members(source: Buffer, start: number, named: boolean): void {
    const out = this.#out;
    if (++this.#depth > depthMax) throw new RangeError('A document is nested too deeply.');
    const end = documentEnd(source, start, source.length) - 1;
    writeAscii(out, named ? '{' : '[');
    for (let at = start + 4; at < end; ) {
      const type = source[at] as number;
      const nameEnd = textEnd(source, at + 1, end);
      out.reserve(2);
      if (at > start + 4) out.buffer[out.position++] = comma;
      if (named) {
        writeChecked(out, source, at + 1, nameEnd);
        out.reserve(1);
        out.buffer[out.position++] = colon;
      }
      at = valueEnd(type, source, nameEnd + 1, end);
      this.#value(source, type, nameEnd + 1, at);
    }
    writeAscii(out, named ? '}' : ']');
    this.#depth--;
  }

  #value(source: Buffer, type: number, at: number, end: number): void {
    const out = this.#out;
    switch (type) {
      case types.string:
      case types.symbol:
      case types.code:
        writeChecked(out, source, at + 4, end - 1);
        break;
      case types.int32:
        writeInteger(out, source.readInt32LE(at));
        break;
      case types.double:
        writeDouble(out, source.readDoubleLE(at));
        break;
      case types.document:
        this.#members(source, at, true);
        break;
      case types.array:
        this.#members(source, at, false);
        break;
      case types.boolean:
        writeBoolean(out, source[at] !== 0);
        break;
      case types.null:
      case types.undefined:
        writeNull(out);
        break;
      case types.objectId:
        writeAscii(out, `"${source.toString('hex', at, end)}"`);
        break;
      case types.date:
        writeAscii(out, dateText(source.readBigInt64LE(at)));
        break;
      case types.int64:
        this.#digits(String(source.readBigInt64LE(at)));
        break;
      case types.decimal:
        this.#digits(new Decimal128(source.subarray(at, end)).toString());
        break;
      case types.binary:
        writeBinary(out, source, at, end);
        break;
      default:
        writeText(out, shellText(type, source, at, end));
    }
  }

  #digits(text: string): void {
    const bytes = Buffer.from(text, 'latin1');
    if (this.#quoted) writeQuoted(this.#out, bytes, 0, bytes.length);
    else writeDecimal(this.#out, bytes, 0, bytes.length);
  }
}

/**
 * MongoDB can store strings that are not UTF-8. JSON cannot contain them, so the answer fails instead of altering them.
 */
function writeChecked(out: ByteWriter, source: Buffer, start: number, end: number): void {
  if (end - start > 0 && !isUtf8(source.subarray(start, end))) {
    throw new HubError(
      'SQL_REJECTED',
      'A string in the result is not valid UTF-8. Exclude its field with a projection.',
      {
        retryable: false,
      },
    );
  }
  writeString(out, source, start, end);
}

/** Writes NaN and the infinities as strings, because JSON has no such numbers. */
function writeDouble(out: ByteWriter, value: number): void {
  const text = Object.is(value, -0) ? '-0' : String(value);
  writeAscii(out, Number.isFinite(value) ? text : `"${text}"`);
}

const daysMs = 8_640_000_000_000_000n;

/** Returns an ISO date, or the milliseconds since 1970 for dates beyond the range of JavaScript's Date. */
function dateText(ms: bigint): string {
  if (ms > daysMs || ms < -daysMs) return `"${ms}"`;
  return `"${new Date(Number(ms)).toISOString()}"`;
}

const uuidSubtype = 4;
const oldBinarySubtype = 2;

function writeBinary(out: ByteWriter, source: Buffer, at: number, end: number): void {
  const subtype = source[at + 4];
  const start = at + 5;
  if (subtype === uuidSubtype && end - start === 16) {
    const hex = source.toString('hex', start, end);
    writeAscii(out, `"${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}"`);
  } else writeBase64(out, source, subtype === oldBinarySubtype ? start + 4 : start, end);
}

/** Returns values of types that only MongoDB has in the notation of its shell. */
function shellText(type: number, source: Buffer, at: number, end: number): string {
  switch (type) {
    case types.timestamp:
      return `Timestamp(${source.readUInt32LE(at + 4)}, ${source.readUInt32LE(at)})`;
    case types.regex: {
      const patternEnd = textEnd(source, at, end);
      return `/${source.toString('utf8', at, patternEnd)}/${source.toString('utf8', patternEnd + 1, end - 1)}`;
    }
    case types.pointer:
      return source.toString('hex', end - 12, end);
    case types.scopedCode:
      return source.toString('utf8', at + 8, at + 8 + source.readInt32LE(at + 4) - 1);
    case types.minKey:
      return 'MinKey';
    case types.maxKey:
      return 'MaxKey';
    default:
      throw new RangeError('A document has an unknown BSON type.');
  }
}
