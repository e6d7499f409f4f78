/** Wire bytes → JSON bytes, for what several engines share. No value is made on the way. */

import type { ByteWriter } from './byte-writer.ts';

const quote = 0x22;
const backslash = 0x5c;
const zero = 0x30;
const nine = 0x39;
const hex = Buffer.from('0123456789abcdef');

/** What a double gives back digit by digit. */
const exactDigitsMax = 15;

/** Short escapes by control character; 0 where only the long form exists. */
const shortEscapes = new Uint8Array(32);
shortEscapes[0x08] = 0x62;
shortEscapes[0x09] = 0x74;
shortEscapes[0x0a] = 0x6e;
shortEscapes[0x0c] = 0x66;
shortEscapes[0x0d] = 0x72;

/** Room is made for the longest escapes of a piece at a time, so that a long text does not take six times its length. */
const pieceBytes = 16_384;

/** UTF-8 text as a JSON string. */
export function writeString(out: ByteWriter, source: Buffer, start: number, end: number): void {
  let from = start;
  out.reserve(Math.min(end - start, pieceBytes) * 6 + 2);
  out.buffer[out.position++] = quote;
  while (end - from > pieceBytes) {
    out.position = writeEscaped(out.buffer, out.position, { source, start: from, end: from + pieceBytes });
    from += pieceBytes;
    out.reserve(Math.min(end - from, pieceBytes) * 6 + 1);
  }
  out.position = writeEscaped(out.buffer, out.position, { source, start: from, end });
  out.buffer[out.position++] = quote;
}

function writeEscaped(
  target: Buffer,
  from: number,
  { source, start, end }: { source: Buffer; start: number; end: number },
): number {
  let at = from;
  for (let i = start; i < end; i++) {
    const byte = source[i] as number;
    if (byte >= 0x20 && byte !== quote && byte !== backslash) target[at++] = byte;
    else if (byte >= 0x20) {
      target[at++] = backslash;
      target[at++] = byte;
    } else at = writeControl(target, at, byte);
  }
  return at;
}

function writeControl(target: Buffer, from: number, byte: number): number {
  let at = from;
  target[at++] = backslash;
  const short = shortEscapes[byte] as number;
  if (short !== 0) {
    target[at++] = short;
    return at;
  }
  target[at++] = 0x75;
  target[at++] = zero;
  target[at++] = zero;
  target[at++] = hex[byte >> 4] as number;
  target[at++] = hex[byte & 15] as number;
  return at;
}

/** Bytes that are JSON already. */
export function writeRaw(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(end - start);
  if (end - start < 24) {
    for (let i = start, at = out.position; i < end; i++, at++) out.buffer[at] = source[i] as number;
  } else source.copy(out.buffer, out.position, start, end);
  out.position += end - start;
}

/** ASCII that needs no escapes, in quotes. */
export function writeQuoted(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(end - start + 2);
  out.buffer[out.position++] = quote;
  writeRaw(out, source, start, end);
  out.reserve(1);
  out.buffer[out.position++] = quote;
}

/** A literal known to be ASCII and short. */
export function writeAscii(out: ByteWriter, text: string): void {
  out.reserve(text.length);
  for (let i = 0; i < text.length; i++) out.buffer[out.position + i] = text.charCodeAt(i);
  out.position += text.length;
}

/** A JSON string of a text made here. */
export function writeText(out: ByteWriter, text: string): void {
  const bytes = Buffer.from(text);
  writeString(out, bytes, 0, bytes.length);
}

/** Decimal digits: a number with at most 15 significant digits, else a string; anything else (NaN, Infinity) a string. */
export function writeDecimal(out: ByteWriter, source: Buffer, start: number, end: number): void {
  if (isExactNumber(source, start, end)) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
}

/** Leading zeros, and trailing zeros after the point, do not count. */
export function isExactNumber(source: Buffer, start: number, end: number): boolean {
  let significant = 0;
  let zeros = 0;
  let afterPoint = false;
  for (let i = source[start] === 0x2d ? start + 1 : start; i < end; i++) {
    const byte = source[i] as number;
    if (byte === 0x2e) {
      afterPoint = true;
      // Zeros before the point are part of the number's size.
      significant += zeros;
      zeros = 0;
    } else if (byte === zero) {
      if (significant > 0) zeros++;
    } else if (byte > zero && byte <= nine) {
      significant += zeros + 1;
      zeros = 0;
    } else return false;
  }
  return significant + (afterPoint ? 0 : zeros) <= exactDigitsMax;
}

const base64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');

/** Bytes as base64 in quotes. */
export function writeBase64(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve(Math.ceil((end - start) / 3) * 4 + 2);
  const target = out.buffer;
  let at = out.position;
  target[at++] = quote;
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
  target[at++] = quote;
  out.position = at;
}
