/** The binary forms of dates and times → JSON bytes, digit by digit: no date object and no text on the way. */

import type { ByteWriter } from '../../rows/byte-writer.ts';
import { writeAscii } from '../../rows/encode.ts';
import type { FieldEncoder } from '../../rows/row-sink.ts';

const quote = 0x22;
const dash = 0x2d;
const point = 0x2e;
const colon = 0x3a;
const zero = 0x30;
const letterT = 0x54;
const letterZ = 0x5a;

/** Quotes, a sign, a date of ten, a time with hours of up to ten digits, a fraction, a zone. */
const bytesMax = 40;

/** Exactly `width` digits; where they end. */
function writeDigits(target: Buffer, at: number, digits: { value: number; width: number }): number {
  let { value } = digits;
  for (let i = at + digits.width - 1; i >= at; i--) {
    target[i] = zero + (value % 10);
    value = Math.trunc(value / 10);
  }
  return at + digits.width;
}

function writeClock(
  target: Buffer,
  from: number,
  parts: [hours: number, minute: number, second: number],
): number {
  const [hours, minute, second] = parts;
  let at = writeDigits(target, from, { value: hours, width: hours < 100 ? 2 : String(hours).length });
  target[at++] = colon;
  at = writeDigits(target, at, { value: minute, width: 2 });
  target[at++] = colon;
  return writeDigits(target, at, { value: second, width: 2 });
}

/** At least `atLeast` digits; no zeros after those that are needed. */
function writeFraction(
  target: Buffer,
  from: number,
  { micros, atLeast }: { micros: number; atLeast: number },
): number {
  if (micros === 0 && atLeast === 0) return from;
  target[from] = point;
  let at = writeDigits(target, from + 1, { value: micros, width: 6 });
  while (at > from + 1 + atLeast && target[at - 1] === zero) at--;
  return at;
}

/** `zone` undefined: the date alone. A zero date is no date. */
export function dateEncoder(zone: 'Z' | '' | undefined): FieldEncoder {
  return (out, source, start, end) => {
    const length = end - start;
    const year = length >= 4 ? source.readUInt16LE(start) : 0;
    const month = length >= 4 ? (source[start + 2] as number) : 0;
    const day = length >= 4 ? (source[start + 3] as number) : 0;
    if (year === 0 && month === 0 && day === 0) {
      writeAscii(out, 'null');
      return;
    }
    const target = begin(out);
    let at = writeDigits(target, out.position, { value: year, width: 4 });
    target[at++] = dash;
    at = writeDigits(target, at, { value: month, width: 2 });
    target[at++] = dash;
    at = writeDigits(target, at, { value: day, width: 2 });
    if (zone !== undefined) {
      const part = (offset: number) => (length >= 7 ? (source[start + offset] as number) : 0);
      target[at++] = letterT;
      at = writeClock(target, at, [part(4), part(5), part(6)]);
      const micros = length >= 11 ? source.readUInt32LE(start + 7) : 0;
      at = writeFraction(target, at, { micros, atLeast: 3 });
      if (zone === 'Z') target[at++] = letterZ;
    }
    finish(out, at);
  };
}

/** A span of time: negative and over 24 hours too. */
export const writeTime: FieldEncoder = (out, source, start, end) => {
  const isZero = end - start < 8;
  const target = begin(out);
  let at = out.position;
  if (!isZero && source[start] === 1) target[at++] = dash;
  const part = (offset: number) => (isZero ? 0 : (source[start + offset] as number));
  const days = isZero ? 0 : source.readUInt32LE(start + 1);
  at = writeClock(target, at, [days * 24 + part(5), part(6), part(7)]);
  const micros = end - start >= 12 ? source.readUInt32LE(start + 8) : 0;
  finish(out, writeFraction(target, at, { micros, atLeast: 0 }));
};

function begin(out: ByteWriter): Buffer {
  out.reserve(bytesMax);
  out.buffer[out.position++] = quote;
  return out.buffer;
}

function finish(out: ByteWriter, at: number): void {
  out.buffer[at] = quote;
  out.position = at + 1;
}
