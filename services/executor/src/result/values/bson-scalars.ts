/** Writes values of BSON that lists have in great number, straight from their bytes. */

import { type ByteWriter, writeAscii, writePair } from './primitives.ts';

const dayMs = 86_400_000;
/** The dates of the years 0 to 9999, which have four digits. */
const firstMs = -62_167_219_200_000;
const endMs = 253_402_300_800_000;
/** The last one of JavaScript's Date. */
const dateMsMax = 8_640_000_000_000_000;

const [hyphen, colon, point, zero] = [0x2d, 0x3a, 0x2e, 0x30];

/** Writes a date as `toISOString` does; beyond the range of JavaScript's Date, its milliseconds since 1970. */
export function writeDate(out: ByteWriter, source: Buffer, at: number): void {
  const ms = source.readInt32LE(at + 4) * 0x1_0000_0000 + source.readUInt32LE(at);
  if (ms >= firstMs && ms < endMs) writeUsualDate(out, ms);
  else
    writeAscii(
      out,
      Math.abs(ms) > dateMsMax ? String(source.readBigInt64LE(at)) : new Date(ms).toISOString(),
    );
}

function writeUsualDate(out: ByteWriter, ms: number): void {
  out.reserve(24);
  const { view, position: at } = out;
  const days = Math.floor(ms / dayMs);
  const ofDay = ms - days * dayMs;
  writeDay(view, at, days);
  view.setUint8(at + 10, 0x54);
  writePair(view, at + 11, Math.trunc(ofDay / 3_600_000));
  view.setUint8(at + 13, colon);
  writePair(view, at + 14, Math.trunc(ofDay / 60_000) % 60);
  view.setUint8(at + 16, colon);
  writePair(view, at + 17, Math.trunc(ofDay / 1_000) % 60);
  view.setUint8(at + 19, point);
  view.setUint8(at + 20, zero + (Math.trunc(ofDay / 100) % 10));
  writePair(view, at + 21, ofDay % 100);
  view.setUint8(at + 23, 0x5a);
  out.position = at + 24;
}

/** The day in the calendar, by the algorithm `civil_from_days` of Howard Hinnant. Years begin in March. */
function writeDay(view: DataView, at: number, days: number): void {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.trunc(
    (ofEra - Math.trunc(ofEra / 1_460) + Math.trunc(ofEra / 36_524) - Math.trunc(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.trunc(yearOfEra / 4) - Math.trunc(yearOfEra / 100));
  const fromMarch = Math.trunc((5 * ofYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  writePair(view, at, Math.trunc(year / 100));
  writePair(view, at + 2, year);
  view.setUint8(at + 4, hyphen);
  writePair(view, at + 5, month);
  view.setUint8(at + 7, hyphen);
  writePair(view, at + 8, ofYear - Math.trunc((153 * fromMarch + 2) / 5) + 1);
}

const hexDigits = Buffer.from('0123456789abcdef');

export function writeHex(out: ByteWriter, source: Buffer, start: number, end: number): void {
  out.reserve((end - start) * 2);
  let { position } = out;
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
    out.buffer[position++] = hexDigits[byte >> 4] as number;
    out.buffer[position++] = hexDigits[byte & 15] as number;
  }
  out.position = position;
}

const exponentBias = 6_176;
const digitsMax = 34;

/** The text of a Decimal128, by the rules of the BSON specification. */
export function decimalText(source: Buffer, at: number): string {
  const high = source.readUInt32LE(at + 12);
  const sign = high >>> 31 === 1 ? '-' : '';
  const combination = (high >>> 26) & 31;
  if (combination === 31) return 'NaN';
  if (combination === 30) return `${sign}Infinity`;
  // Two more bits of the exponent, in place of bits of the number.
  const isShifted = combination >> 3 === 3;
  const exponent = ((high >>> (isShifted ? 15 : 17)) & 0x3fff) - exponentBias;
  const first = isShifted ? 0x2_0000 | (high & 0x7fff) : high & 0x1_ffff;
  return sign + withExponent(digitsOf(source, at, first), exponent);
}

function digitsOf(source: Buffer, at: number, first: number): string {
  const second = source.readUInt32LE(at + 8);
  const rest = source.readUInt32LE(at + 4) * 0x1_0000_0000 + source.readUInt32LE(at);
  if (first === 0 && second === 0 && rest <= Number.MAX_SAFE_INTEGER) return String(rest);
  const upper = BigInt(first) * 0x1_0000_0000n + BigInt(second);
  return String((upper << 64n) | source.readBigUInt64LE(at));
}

function withExponent(digits: string, exponent: number): string {
  const scientific = digits.length - 1 + exponent;
  if (scientific >= digitsMax || scientific <= -7 || exponent > 0) {
    // No number has so many digits. The driver writes zero here.
    if (digits.length > digitsMax)
      return `0${exponent === 0 ? '' : `E${exponent > 0 ? '+' : ''}${exponent}`}`;
    const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${mantissa}E${scientific < 0 ? '' : '+'}${scientific}`;
  }
  if (exponent === 0) return digits;
  const before = digits.length + exponent;
  return before > 0
    ? `${digits.slice(0, before)}.${digits.slice(before)}`
    : `0.${'0'.repeat(-before)}${digits}`;
}
