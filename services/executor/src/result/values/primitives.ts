/** Writes the values that formats of text share, byte by byte, without JavaScript values. */

import type { Numbers } from '@datahub/contract/numbers';
import { enlarged } from '../../network/large-buffers.ts';

/** Appends a field that is not NULL, given in the database's bytes at `source[start, end)`, to the response. */
export type FieldEncoder = (out: ByteWriter, source: Buffer, start: number, end: number) => void;

/**
 * How a value that is no number is written: `json` in quotes, and `null` for a date that is none; `plain` without quotes,
 * and nothing.
 */
export type TextForm = 'json' | 'plain';

/**
 * How bigint and decimal values are written: `number` with all digits, `string` in quotes, `auto` in quotes only if a
 * double cannot represent them exactly. NaN and the infinities are always strings.
 */
export type { Numbers };

const quote = 0x22;
const backslash = 0x5c;
const words = {
  fals: 0x736c6166,
  null: 0x6c6c756e,
  true: 0x65757274,
  zeros: 0x30303030,
  longEscape: 0x3030755c,
};
const letterE = 0x65;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const hex = Buffer.from('0123456789abcdef');

const wordBytes = 4;
const escapeBytesMax = 6;
/** The most bytes of a text that are written one by one without a look for plain words among them. */
const escapedBytesMax = 1_024;

/** A decimal number of up to this many digits survives the conversion to a double and back. */
const exactDigitsMax = 15;

/** The short escape of each byte that has one, as two bytes in little-endian order; 0 for the others. */
const shortEscapes = Uint16Array.from({ length: 256 }, (_, byte) => {
  const at = '\b\t\n\f\r"\\'.indexOf(String.fromCharCode(byte));
  return at === -1 ? 0 : backslash + ('btnfr"\\'.charCodeAt(at) << 8);
});

/** The digits of the long escape of each control character. */
const hexPairs = Uint16Array.from(
  { length: 32 },
  (_, byte) => (hex[byte >> 4] as number) + ((hex[byte & 15] as number) << 8),
);

/** Writes a UTF-8 text as a JSON string. */
export function writeString(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(end - start + 2);
  out.buffer[out.position++] = quote;
  let bytes = wordBytes;
  for (let from = copyPlain(out, source, start, end); from < end; ) {
    const stop = Math.min(from + bytes, end);
    out.reserve(end - stop + bytes * escapeBytesMax + 1);
    out.position = writeEscaped(out.view, out.position, { source, start: from, end: stop });
    from = copyPlain(out, source, stop, end);
    // Where escapes follow each other, looking for the next one takes longer than writing it.
    bytes = from === stop ? Math.min(2 * bytes, escapedBytesMax) : wordBytes;
  }
  out.buffer[out.position++] = quote;
}

/**
 * Copies whole words up to the first one that contains a byte to escape, and returns the position of that one. `out` must
 * have room for the whole text.
 */
function copyPlain(out: ByteWriter, source: Buffer, start: number, end: number): number {
  let at = out.position;
  let from = start;
  const last = end - wordBytes;
  if (last >= start) {
    const read = out.viewFrom(source);
    const write = out.view;
    for (; from < last; from += wordBytes, at += wordBytes) {
      const word = read.getInt32(from, true);
      if (needsEscape(word)) {
        out.position = at;
        return from;
      }
      write.setInt32(at, word, true);
    }
    // The last word ends with the text, and may overlap the one before it.
    const word = read.getInt32(last, true);
    if (!needsEscape(word)) {
      write.setInt32(at + last - from, word, true);
      at += end - from;
      from = end;
    }
  } else {
    for (; from < end; from++) {
      const byte = source[from] as number;
      if (byte < 0x20 || byte === quote || byte === backslash) break;
      out.buffer[at++] = byte;
    }
  }
  out.position = at;
  return from;
}

/**
 * True if one of four bytes is a control character, a quote or a backslash. A subtraction makes these bytes negative,
 * which sets their highest bit. "Determine if a word has a byte less than n", Bit Twiddling Hacks, Anderson.
 */
function needsEscape(word: number): boolean {
  const less = (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101);
  return (less & ~word & 0x80808080) !== 0;
}

/** The view must have room for the long form of each byte. */
function writeEscaped(
  target: DataView,
  from: number,
  { source, start, end }: { source: Buffer; start: number; end: number },
): number {
  let at = from;
  for (let i = start; i < end; i++) {
    const byte = source[i] as number;
    const short = shortEscapes[byte] as number;
    if (short !== 0) {
      target.setUint16(at, short, true);
      at += 2;
    } else if (byte >= 0x20) target.setUint8(at++, byte);
    else {
      target.setInt32(at, words.longEscape, true);
      target.setUint16(at + wordBytes, hexPairs[byte] as number, true);
      at += escapeBytesMax;
    }
  }
  return at;
}

/** Copies bytes that are JSON already. */
export function writeRaw(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(end - start);
  copyBytes(out, source, start, end);
}

/** Writes a JSON document on one line. Line breaks in it can only be between tokens. */
export function writeJson(out: ByteWriter, source: Buffer, start: number, end: number): void {
  const from = out.position;
  writeRaw(out, source, start, end);
  const { buffer } = out;
  for (let i = from; i < out.position; i++) if (buffer[i] === 0x0a || buffer[i] === 0x0d) buffer[i] = 0x20;
}

/** Writes ASCII that needs no escapes, in quotes. */
export function writeQuoted(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(end - start + 2);
  out.buffer[out.position++] = quote;
  copyBytes(out, source, start, end);
  out.buffer[out.position++] = quote;
}

/** From this length on, a native copy is faster than the loop. */
const nativeBytesMin = 96;

/** `out` must have room. */
export function copyBytes(out: ByteWriter, source: Buffer, start: number, end: number): void {
  const length = end - start;
  if (length >= nativeBytesMin) source.copy(out.buffer, out.position, start, end);
  else if (length >= wordBytes) {
    const read = out.viewFrom(source);
    const write = out.view;
    const last = end - wordBytes;
    let at = out.position;
    for (let from = start; from < last; from += wordBytes, at += wordBytes)
      write.setInt32(at, read.getInt32(from, true), true);
    write.setInt32(out.position + length - wordBytes, read.getInt32(last, true), true);
  } else {
    for (let i = start, at = out.position; i < end; i++, at++) out.buffer[at] = source[i] as number;
  }
  out.position += length;
}

export function writeBoolean(out: ByteWriter, value: boolean): void {
  out.reserve(5);
  out.view.setInt32(out.position, value ? words.true : words.fals, true);
  out.position += wordBytes;
  if (!value) out.buffer[out.position++] = letterE;
}

/** Writes a truth value given as `t` or `f`. */
export const writeLetter: FieldEncoder = (out, source, start) => writeBoolean(out, source[start] === 0x74);

/** Writes the lowest bit of the last byte as a truth value. */
export const writeBit: FieldEncoder = (out, source, _start, end) =>
  writeBoolean(out, ((source[end - 1] as number) & 1) === 1);

export function writeNull(out: ByteWriter): void {
  out.reserve(wordBytes);
  out.view.setInt32(out.position, words.null, true);
  out.position += wordBytes;
}

/** Writes a whole number of at most 32 bits. */
export function writeInteger(out: ByteWriter, value: number): void {
  out.reserve(11);
  const { view } = out;
  if (value < 0) out.buffer[out.position++] = minus;
  let rest = Math.abs(value) >>> 0;
  let places = 1;
  for (let limit = 10; places < 10 && rest >= limit; limit *= 10) places++;
  let at = out.position + places;
  out.position = at;
  for (; places > 1; places -= 2) {
    const hundreds = (rest / 100) >>> 0;
    at -= 2;
    writePair(view, at, rest);
    rest = hundreds;
  }
  if (places === 1) view.setUint8(at - 1, zero + rest);
}

/** The two digits of each number below a hundred. */
const pairs = Uint16Array.from(
  { length: 100 },
  (_, i) => zero + Math.trunc(i / 10) + ((zero + (i % 10)) << 8),
);

/** Writes the last two digits of a number of at most 32 bits. The view must have room. */
export function writePair(view: DataView, at: number, value: number): void {
  view.setUint16(at, pairs[value % 100] as number, true);
}

/** Writes a short ASCII literal. */
export function writeAscii(out: ByteWriter, text: string): void {
  out.reserve(text.length);
  for (let i = 0; i < text.length; i++) out.buffer[out.position + i] = text.charCodeAt(i);
  out.position += text.length;
}

/** Writes a JavaScript string as a JSON string. */
export function writeText(out: ByteWriter, text: string): void {
  const bytes = Buffer.from(text);
  writeString(out, bytes, 0, bytes.length);
}

/** Writes decimal digits as a number if they have at most 15 significant digits, else as a string, like NaN and Infinity. */
export function writeDecimal(out: ByteWriter, source: Buffer, start: number, end: number): void {
  if (isExactNumber(out.viewFrom(source), start, end)) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
}

/** Writes decimal digits as a number, and NaN and Infinity as strings. */
function writeNumber(out: ByteWriter, source: Buffer, start: number, end: number): void {
  const last = source[end - 1] as number;
  if (last >= zero && last <= nine) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
}

export const writeDigits = {
  auto: writeDecimal,
  string: writeQuoted,
  number: writeNumber,
} as const satisfies Record<Numbers, FieldEncoder>;

/** True for at most 15 significant digits. Leading zeros, and trailing zeros after the point, are not significant. */
export function isExactNumber(source: DataView, start: number, end: number): boolean {
  let significant = 0;
  let zeros = 0;
  let afterPoint = false;
  let stop = end;
  // Decimals of a large scale often end with many zeros.
  while (stop - start > exactDigitsMax && source.getInt32(stop - wordBytes) === words.zeros)
    stop -= wordBytes;
  for (let i = start; i < stop; i++) {
    const byte = source.getUint8(i);
    if (byte === 0x2e) {
      afterPoint = true;
      // Zeros before the point are significant.
      significant += zeros;
      zeros = 0;
    } else if (byte === zero) {
      if (significant > 0) zeros++;
    } else if (byte > zero && byte <= nine) {
      significant += zeros + 1;
      zeros = 0;
    } else if (byte !== minus || i > start) return false;
  }
  return significant + (afterPoint ? 0 : zeros + end - stop) <= exactDigitsMax;
}

const base64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');

/** Writes bytes as base64. */
export function writeBase64(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(Math.ceil((end - start) / 3) * 4);
  const target = out.buffer;
  let at = out.position;
  for (let i = start; i < end; i += 3) {
    const left = end - i;
    const bits =
      ((source[i] as number) << 16) |
      ((left > 1 ? (source[i + 1] as number) : 0) << 8) |
      (left > 2 ? (source[i + 2] as number) : 0);
    target[at++] = base64[bits >> 18] as number;
    target[at++] = base64[(bits >> 12) & 63] as number;
    target[at++] = left > 1 ? (base64[(bits >> 6) & 63] as number) : 0x3d;
    target[at++] = left > 2 ? (base64[bits & 63] as number) : 0x3d;
  }
  out.position = at;
}

/** The encoder of a value in quotes. `encode` writes ASCII that needs no escapes. */
export function inQuotes(encode: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    out.reserve(1);
    out.buffer[out.position++] = quote;
    encode(out, source, start, end);
    out.reserve(1);
    out.buffer[out.position++] = quote;
  };
}

/**
 * Room for what follows a long text, such as its quote. Without it the buffer would grow to twice its size, and a row has
 * it for as long as its reader waits.
 */
const roomBytes = 1_024;

/**
 * A growing buffer from which chunks are taken. Its fields are public because encoders write to them directly: bytes to
 * `buffer`, and four bytes at a time to `view`, which shares its memory.
 */
export class ByteWriter {
  buffer: Buffer = nothing;
  view: DataView = nothingView;
  position = 0;
  /** Of the arrays in the row, or in the value, that is written. */
  elements = 0;
  #nextBytes: number;
  #source: Buffer = nothing;
  #sourceView: DataView = nothingView;

  constructor(initialBytes = 16_384) {
    this.#nextBytes = initialBytes;
  }

  /** Makes room for `bytes` more. Call it before writing to `buffer` or `view`. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.buffer.length) return;
    const to = Math.max(needed + roomBytes, this.buffer.length * 2, this.#nextBytes);
    this.buffer = enlarged(this.buffer, { to, used: this.position });
    this.view = viewOf(this.buffer);
  }

  /** Takes what was written. The next write allocates a buffer of `nextBytes`. */
  take(nextBytes: number): Buffer {
    const taken = this.buffer.subarray(0, this.position);
    this.buffer = nothing;
    this.view = nothingView;
    // It can have the megabytes of a long row, and the next row may be far.
    this.#source = nothing;
    this.#sourceView = nothingView;
    this.#nextBytes = nextBytes;
    this.position = 0;
    return taken;
  }

  /** For reading `source` four bytes at a time. The last view is cached, since all fields of a row have one source. */
  viewFrom(source: Buffer): DataView {
    if (source !== this.#source) {
      this.#source = source;
      this.#sourceView = viewOf(source);
    }
    return this.#sourceView;
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

const nothing = Buffer.alloc(0);
const nothingView = viewOf(nothing);
