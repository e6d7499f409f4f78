/** Writes BSON as JSON, or single values as plain text, in the same form as the values of the other engines. */

import { isUtf8 } from 'node:buffer';
import { HubError } from '@datahub/service-kit/call/error';
import { documentEnd, textEnd, types, valueEnd } from './bson-reader.ts';
import { decimalText, writeDate, writeHex } from './bson-scalars.ts';
import { countElement } from './elements.ts';
import {
  type ByteWriter,
  type Numbers,
  type TextForm,
  writeAscii,
  writeBase64,
  writeBoolean,
  writeDigits,
  writeInteger,
  writeNull,
  writeRaw,
  writeString,
  writeText,
} from './primitives.ts';

/** The types whose values take longer to write than a short text, and as how many elements one counts. */
const slowTypes: Record<number, number> = {
  [types.decimal]: 4,
  [types.double]: 4,
  [types.regex]: 4,
  [types.int64]: 3,
  [types.timestamp]: 3,
  [types.date]: 2,
};
const weights = Uint8Array.from({ length: 256 }, (_, type) => slowTypes[type] ?? 1);

/** The deepest nesting of a document. MongoDB's own limit is lower. */
const depthMax = 250;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;

export class BsonWriter {
  readonly #numbers: Numbers;
  readonly #elementForm: TextForm;
  /** The form of the current value. */
  #form: TextForm = 'json';
  #depth = 0;
  /** The writer of the current document or element. */
  #out!: ByteWriter;

  constructor(numbers: Numbers, elementForm: TextForm) {
    this.#numbers = numbers;
    this.#elementForm = elementForm;
  }

  /** Writes a document as a JSON object. */
  readonly document = (out: ByteWriter, source: Buffer, start: number): void => {
    this.#begin(out, 'json');
    this.#members(source, start, true);
  };

  /** Writes the value of one element, whose type byte is at `start`. Documents and arrays are always JSON. */
  readonly element = (out: ByteWriter, source: Buffer, start: number, end: number): void => {
    const type = source[start] as number;
    const isNested = type === types.document || type === types.array;
    this.#begin(out, isNested ? 'json' : this.#elementForm);
    this.#value(source, type, textEnd(source, start + 1, end) + 1, end);
  };

  #begin(out: ByteWriter, form: TextForm): void {
    this.#out = out;
    this.#form = form;
    // The last document may have failed.
    this.#depth = 0;
  }

  #members(source: Buffer, start: number, named: boolean): void {
    const out = this.#out;
    if (++this.#depth > depthMax) throw new RangeError('A document is nested too deeply.');
    const end = documentEnd(source, start, source.length) - 1;
    writeAscii(out, named ? '{' : '[');
    for (let at = start + 4; at < end; ) {
      const type = source[at] as number;
      countElement(out, weights[type] as number);
      const nameEnd = textEnd(source, at + 1, end);
      out.reserve(2);
      if (at > start + 4) out.buffer[out.position++] = comma;
      if (named) {
        requireUtf8(source, at + 1, nameEnd);
        writeString(out, source, at + 1, nameEnd);
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
        this.#text(source, at + 4, end - 1);
        break;
      case types.int32:
        writeInteger(out, source.readInt32LE(at));
        break;
      case types.double:
        this.#double(source.readDoubleLE(at));
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
        this.#quote();
        writeHex(out, source, at, end);
        this.#quote();
        break;
      case types.date:
        this.#quote();
        writeDate(out, source, at);
        this.#quote();
        break;
      case types.int64:
        this.#digits(String(source.readBigInt64LE(at)));
        break;
      case types.decimal:
        this.#digits(decimalText(source, at));
        break;
      case types.binary:
        this.#binary(source, at, end);
        break;
      case types.timestamp:
        this.#ascii(`Timestamp(${source.readUInt32LE(at + 4)}, ${source.readUInt32LE(at)})`);
        break;
      default: {
        const text = shellText(type, source, at, end);
        if (this.#form === 'json') writeText(out, text);
        else this.#text(Buffer.from(text), 0, Buffer.byteLength(text));
      }
    }
  }

  /**
   * MongoDB can store strings that are not UTF-8. No format can contain them, so the response fails instead of altering
   * them.
   */
  #text(source: Buffer, start: number, end: number): void {
    requireUtf8(source, start, end);
    if (this.#form === 'json') writeString(this.#out, source, start, end);
    else writeRaw(this.#out, source, start, end);
  }

  #ascii(text: string): void {
    writeAscii(this.#out, this.#form === 'json' ? `"${text}"` : text);
  }

  /** Writes NaN and the infinities as strings, because JSON has no such numbers. */
  #double(value: number): void {
    const text = Object.is(value, -0) ? '-0' : String(value);
    if (Number.isFinite(value)) writeAscii(this.#out, text);
    else this.#ascii(text);
  }

  #digits(text: string): void {
    const bytes = Buffer.from(text, 'latin1');
    const write = this.#form === 'plain' ? writeRaw : writeDigits[this.#numbers];
    write(this.#out, bytes, 0, bytes.length);
  }

  #binary(source: Buffer, at: number, end: number): void {
    const subtype = source[at + 4];
    const start = at + 5;
    if (subtype === uuidSubtype && end - start === 16) {
      this.#quote();
      for (let i = 0; i < uuidEnds.length; i++) {
        if (i > 0) writeAscii(this.#out, '-');
        writeHex(this.#out, source, start + (uuidEnds[i - 1] ?? 0), start + (uuidEnds[i] as number));
      }
      this.#quote();
      return;
    }
    this.#quote();
    writeBase64(this.#out, source, subtype === oldBinarySubtype ? start + 4 : start, end);
    this.#quote();
  }

  #quote(): void {
    if (this.#form === 'plain') return;
    this.#out.reserve(1);
    this.#out.buffer[this.#out.position++] = quote;
  }
}

function requireUtf8(source: Buffer, start: number, end: number): void {
  if (end - start === 0 || isUtf8(source.subarray(start, end))) return;
  throw new HubError(
    'SQL_REJECTED',
    'A string in the result is not valid UTF-8. Exclude its field with a projection.',
    { retryable: false },
  );
}

const uuidSubtype = 4;
/** Of its five groups of digits, in bytes. */
const uuidEnds = [4, 6, 8, 10, 16];
const oldBinarySubtype = 2;

/** Returns values of types that only MongoDB has in the notation of its shell. */
function shellText(type: number, source: Buffer, at: number, end: number): string {
  switch (type) {
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
