/** Writes dates and times of MySQL's binary protocol digit by digit, without a Date or a string. */

import { type ByteWriter, type FieldEncoder, type TextForm, writeNull, writePair } from './primitives.ts';

const quote = 0x22;
const dash = 0x2d;
const point = 0x2e;
const colon = 0x3a;
const zero = 0x30;
const letterT = 0x54;
const letterZ = 0x5a;

/** The longest value: quotes, a sign, a date of 10, a time with hours of up to 10 digits, a fraction, a zone. */
const bytesMax = 40;

/** Writes a time and returns its end. Hours have at least two digits. */
function writeClock(
  out: ByteWriter,
  from: number,
  parts: [hours: number, minute: number, second: number],
): number {
  const [hours, minute, second] = parts;
  const { buffer, view } = out;
  let at = from;
  if (hours >= 100) at += buffer.write(String(hours), at, 'latin1');
  else {
    writePair(view, at, hours);
    at += 2;
  }
  buffer[at] = colon;
  writePair(view, at + 1, minute);
  buffer[at + 3] = colon;
  writePair(view, at + 4, second);
  return at + 6;
}

/** Writes at least `atLeast` digits and no further trailing zeros. */
function writeFraction(
  { buffer, view }: ByteWriter,
  from: number,
  { micros, atLeast }: { micros: number; atLeast: number },
): number {
  if (micros === 0 && atLeast === 0) return from;
  buffer[from] = point;
  const hundreds = (micros / 100) >>> 0;
  writePair(view, from + 1, (hundreds / 100) >>> 0);
  writePair(view, from + 3, hundreds);
  writePair(view, from + 5, micros);
  let at = from + 7;
  while (at > from + 1 + atLeast && buffer[at - 1] === zero) at--;
  return at;
}

/** True for a date of zeros, which stands for no date. */
export function isZeroDate(source: Buffer, start: number, end: number): boolean {
  return end - start < 4 || (source.readUInt16LE(start) === 0 && source.readUInt16LE(start + 2) === 0);
}

/** If `zone` is undefined, writes only the date. */
export function packedDateEncoder(zone: 'Z' | '' | undefined, form: TextForm): FieldEncoder {
  return (out, source, start, end) => {
    const length = end - start;
    if (isZeroDate(source, start, end)) {
      if (form === 'json') writeNull(out);
      return;
    }
    const year = source.readUInt16LE(start);
    const month = source[start + 2] as number;
    const day = source[start + 3] as number;
    begin(out, form);
    const { buffer, view } = out;
    let at = out.position;
    writePair(view, at, (year / 100) >>> 0);
    writePair(view, at + 2, year);
    buffer[at + 4] = dash;
    writePair(view, at + 5, month);
    buffer[at + 7] = dash;
    writePair(view, at + 8, day);
    at += 10;
    if (zone !== undefined) {
      const part = (offset: number) => (length >= 7 ? (source[start + offset] as number) : 0);
      buffer[at++] = letterT;
      at = writeClock(out, at, [part(4), part(5), part(6)]);
      const micros = length >= 11 ? source.readUInt32LE(start + 7) : 0;
      at = writeFraction(out, at, { micros, atLeast: 3 });
      if (zone === 'Z') buffer[at++] = letterZ;
    }
    finish(out, at, form);
  };
}

/** Writes a TIME, which may be negative or longer than 24 hours. */
export function packedTimeEncoder(form: TextForm): FieldEncoder {
  return (out, source, start, end) => {
    const isZero = end - start < 8;
    begin(out, form);
    let at = out.position;
    if (!isZero && source[start] === 1) out.buffer[at++] = dash;
    const part = (offset: number) => (isZero ? 0 : (source[start + offset] as number));
    const days = isZero ? 0 : source.readUInt32LE(start + 1);
    at = writeClock(out, at, [days * 24 + part(5), part(6), part(7)]);
    const micros = end - start >= 12 ? source.readUInt32LE(start + 8) : 0;
    finish(out, writeFraction(out, at, { micros, atLeast: 0 }), form);
  };
}

function begin(out: ByteWriter, form: TextForm): void {
  out.reserve(bytesMax);
  if (form === 'json') out.buffer[out.position++] = quote;
}

function finish(out: ByteWriter, at: number, form: TextForm): void {
  if (form === 'json') out.buffer[at] = quote;
  out.position = form === 'json' ? at + 1 : at;
}
