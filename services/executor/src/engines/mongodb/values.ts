/** BSON → JSON bytes, the same JSON that the values of the other engines become. */

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

/** MongoDB itself stops at less. */
const depthMax = 250;
const comma = 0x2c;
const colon = 0x3a;

export class DocumentWriter {
  readonly #quoted: boolean;
  #depth = 0;

  constructor(numbers: 'auto' | 'string') {
    this.#quoted = numbers === 'string';
  }

  /** A whole document as an object. */
  readonly document = (out: ByteWriter, source: Buffer, start: number): void => {
    this.#members(out, source, start, true);
  };

  /** One member's value, found from the byte of its type on; a field of a row of CSV. */
  readonly element = (out: ByteWriter, source: Buffer, start: number, end: number): void => {
    const at = textEnd(source, start + 1, end) + 1;
    this.#value(out, source, source[start] as number, at, end);
  };

  #members(out: ByteWriter, source: Buffer, start: number, named: boolean): void {
    if (++this.#depth > depthMax) throw new RangeError('A document is nested too deep.');
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
      this.#value(out, source, type, nameEnd + 1, at);
    }
    writeAscii(out, named ? '}' : ']');
    this.#depth--;
  }

  #value(out: ByteWriter, source: Buffer, type: number, at: number, end: number): void {
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
        this.#members(out, source, at, true);
        break;
      case types.array:
        this.#members(out, source, at, false);
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
        this.#digits(out, String(source.readBigInt64LE(at)));
        break;
      case types.decimal:
        this.#digits(out, new Decimal128(source.subarray(at, end)).toString());
        break;
      case types.binary:
        writeBinary(out, source, at, end);
        break;
      default:
        writeText(out, otherText(type, source, at, end));
    }
  }

  #digits(out: ByteWriter, text: string): void {
    const bytes = Buffer.from(text, 'latin1');
    if (this.#quoted) writeQuoted(out, bytes, 0, bytes.length);
    else writeDecimal(out, bytes, 0, bytes.length);
  }
}

/** JSON is UTF-8, and MongoDB keeps what it is given: other bytes fail the answer, rather than being changed in silence. */
function writeChecked(out: ByteWriter, source: Buffer, start: number, end: number): void {
  if (end - start > 0 && !isUtf8(source.subarray(start, end))) {
    throw new HubError('SQL_REJECTED', 'A text of the answer is not UTF-8. Leave its field out.', {
      retryable: false,
    });
  }
  writeString(out, source, start, end);
}

/** NaN and the infinities are no JSON numbers. */
function writeDouble(out: ByteWriter, value: number): void {
  const text = Object.is(value, -0) ? '-0' : String(value);
  writeAscii(out, Number.isFinite(value) ? text : `"${text}"`);
}

const daysMs = 8_640_000_000_000_000n;

/** Milliseconds since 1970, where a calendar has no date for them. */
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

/** What only MongoDB knows, as its shell writes it. */
function otherText(type: number, source: Buffer, at: number, end: number): string {
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
      throw new RangeError('An unknown type of BSON.');
  }
}
