/** Converts binary dates and times to JSON bytes digit by digit, without a Date or a string. */

import type { ByteWriter } from '../../result/byte-writer.ts';
import { writeNull, writePair } from '../../result/json-encoder.ts';
import type { FieldEncoder } from '../../row-sink.ts';

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

/** If `zone` is undefined, writes only the date. A zero date becomes null. */
export function dateEncoder(zone: 'Z' | '' | undefined): FieldEncoder {
  return (out, source, start, end) => {
    const length = end - start;
    const year = length >= 4 ? source.readUInt16LE(start) : 0;
    const month = length >= 4 ? (source[start + 2] as number) : 0;
    const day = length >= 4 ? (source[start + 3] as number) : 0;
    if (year === 0 && month === 0 && day === 0) {
      writeNull(out);
      return;
    }
    begin(out);
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
    finish(out, at);
  };
}

/** Writes a TIME, which may be negative or longer than 24 hours. */
export const writeTime: FieldEncoder = (out, source, start, end) => {
  const isZero = end - start < 8;
  begin(out);
  let at = out.position;
  if (!isZero && source[start] === 1) out.buffer[at++] = dash;
  const part = (offset: number) => (isZero ? 0 : (source[start + offset] as number));
  const days = isZero ? 0 : source.readUInt32LE(start + 1);
  at = writeClock(out, at, [days * 24 + part(5), part(6), part(7)]);
  const micros = end - start >= 12 ? source.readUInt32LE(start + 8) : 0;
  finish(out, writeFraction(out, at, { micros, atLeast: 0 }));
};

function begin(out: ByteWriter): void {
  out.reserve(bytesMax);
  out.buffer[out.position++] = quote;
}

function finish(out: ByteWriter, at: number): void {
  out.buffer[at] = quote;
  out.position = at + 1;
}
