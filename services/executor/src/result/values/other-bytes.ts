/** Writes values that databases send as bits or hexadecimal digits. */

import { HubError } from '@datahub/service-kit/call/error';
import { malformedError } from './malformed.ts';
import { type ByteWriter, type FieldEncoder, writeAscii, writeBase64 } from './primitives.ts';

/** Writes bytes, given in hexadecimal digits after `\x`, as base64. */
export const writeHexAsBase64: FieldEncoder = (out, source, start, end) => {
  const bytes = bytesOfHex(start, end);
  const base64Bytes = 4 * Math.ceil(bytes / 3);
  out.reserve(base64Bytes + bytes);
  // Behind the base64, which is written over them later.
  const from = out.position + base64Bytes;
  decodeHex(out.buffer, from, source, { start, end });
  writeBase64(out, out.buffer, from, from + bytes);
};

/** Writes bytes, given in hexadecimal digits after `\x`. */
export const writeHexAsBytes: FieldEncoder = (out, source, start, end) => {
  const bytes = bytesOfHex(start, end);
  out.reserve(bytes);
  decodeHex(out.buffer, out.position, source, { start, end });
  out.position += bytes;
};

function bytesOfHex(start: number, end: number): number {
  const bytes = (end - start - 2) >> 1;
  if (bytes < 0) throw malformedError('bytes that do not begin with \\x');
  return bytes;
}

/** A string for each short value would take most of the time of many. */
const shortDigits = 64;

function decodeHex(
  target: Buffer,
  at: number,
  source: Buffer,
  { start, end }: { start: number; end: number },
): void {
  if (end - start > shortDigits) {
    const written = target.write(source.toString('latin1', start + 2, end), at, 'hex');
    // What the target held before must not be read as bytes of the value.
    if (written < bytesOfHex(start, end)) throw malformedError('bytes with digits that are not hexadecimal');
    return;
  }
  for (let i = start + 2, to = at; i + 1 < end; i += 2, to++)
    target[to] = (digitOf(source[i] as number) << 4) | digitOf(source[i + 1] as number);
}

/** Of 0 to 9 and a to f, as PostgreSQL writes them. */
const digitOf = (code: number): number => (code <= 0x39 ? code - 0x30 : (code & 0x0f) + 9);

/** Of BIT in MySQL and MariaDB. */
const bitsMax = 64;

interface Bits {
  width: number;
  mayBeDigits?: boolean;
  mayBeNarrower?: boolean;
  areDigits?: true;
}

/**
 * Writes a number as `width` binary digits. The time for each byte grows with their number. Throws SQL_REJECTED for a
 * value that can be read in two ways.
 */
export function bitsEncoder(bits: Bits): FieldEncoder {
  const { width, mayBeDigits = false, mayBeNarrower = false } = bits;
  const encode: FieldEncoder = (out, source, start, end) => {
    if (width > bitsMax || 8 * (end - start) > bitsMax) throw malformedError(`more than ${bitsMax} bits`);
    writeBits(out, readBytes(source, start, end), width);
  };
  const isValue = (value: bigint | undefined) => value !== undefined && value < 1n << BigInt(width);
  if (bits.areDigits)
    return (out, source, start, end) => {
      const value = readSigned(source, start, end);
      if (!isValue(value)) throw malformedError(`a number that has more than ${width} bits`);
      writeBits(out, value as bigint, width);
    };
  if (!mayBeDigits) return encode;
  const bytes = Math.ceil(width / 8);
  const fits = (length: number) => (mayBeNarrower ? length <= bytes : length === bytes);
  return (out, source, start, end) => {
    const digits = readDigits(source, start, end);
    const inBytes = fits(end - start) ? readBytes(source, start, end) : undefined;
    if (isValue(digits) && isValue(inBytes)) throw ambiguousBits();
    if (isValue(digits)) return writeBits(out, digits as bigint, width);
    if (inBytes !== undefined) return encode(out, source, start, end);
    const text = bytesOfLatin1(source.toString('utf8', start, end));
    if (text === undefined || !fits(text.length)) throw ambiguousBits();
    encode(out, text, 0, text.length);
  };
}

/** The characters of the bytes 0 to 255 in what MySQL calls latin1. */
const latin1 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, i) => i));

/** MySQL takes the bits of a CASE for latin1, and sends them in UTF-8. Undefined for other characters. */
function bytesOfLatin1(text: string): Buffer | undefined {
  const bytes = [...text].map((character) => latin1.indexOf(character));
  return bytes.includes(-1) ? undefined : Buffer.from(bytes);
}

function readBytes(source: Buffer, start: number, end: number): bigint {
  let value = 0n;
  for (let i = start; i < end; i++) value = (value << 8n) | BigInt(source[i] as number);
  return value;
}

const writeBits = (out: ByteWriter, value: bigint, width: number): void =>
  writeAscii(out, value.toString(2).padStart(width, '0'));

/** Undefined for other bytes than the digits of a number, which has no leading zeros. */
function readDigits(source: Buffer, start: number, end: number): bigint | undefined {
  if (start === end || (source[start] === 0x30 && end - start > 1)) return undefined;
  for (let i = start; i < end; i++) {
    const code = source[i] as number;
    if (code < 0x30 || code > 0x39) return undefined;
  }
  return BigInt(source.toString('latin1', start, end));
}

/** MySQL writes 64 bits as a number with a sign. */
function readSigned(source: Buffer, start: number, end: number): bigint | undefined {
  const isNegative = source[start] === 0x2d;
  const digits = readDigits(source, isNegative ? start + 1 : start, end);
  return isNegative && digits !== undefined ? BigInt.asUintN(bitsMax, -digits) : digits;
}

const ambiguousBits = () =>
  new HubError(
    'SQL_REJECTED',
    'The database sends a value of a BIT expression in a form that has two meanings. Select it as a number, such as `max(flags) + 0`.',
  );

/**
 * The encoder of digits that zeros can precede, which JSON numbers must not have. Throws SQL_REJECTED for bytes that are no
 * number.
 */
export function looseDigits(encode: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    let from = start;
    while (from + 1 < end && source[from] === 0x30 && source[from + 1] !== 0x2e) from++;
    if (!isNumber(source, from, end)) throw bitsAsNumber();
    encode(out, source, from, end);
  };
}

/** Digits, perhaps with a sign and a point. */
function isNumber(source: Buffer, start: number, end: number): boolean {
  let digits = 0;
  let points = 0;
  for (let i = source[start] === 0x2d ? start + 1 : start; i < end; i++) {
    const code = source[i] as number;
    if (code >= 0x30 && code <= 0x39) digits++;
    else if (code !== 0x2e || ++points > 1) return false;
  }
  return digits > 0;
}

const bitsAsNumber = () =>
  new HubError(
    'SQL_REJECTED',
    'The database sends the bits of a BIT value in place of a number, because an expression mixes both. Let it calculate with the number, such as `IF(done, flags + 0, 0)`.',
  );
