/** Reads values in PostgreSQL's binary format into Arrow's numbers. */

import { malformedError } from '../values/malformed.ts';
import type { FieldEncoder } from '../values/primitives.ts';
import type { Place, Put } from './numbers.ts';

type Words = Int16Array | Int32Array;

/** The big-endian word at an index that is inside of `source`. */
const wordAt = (source: Buffer, at: number): number =>
  ((source[at] as number) << 24) |
  ((source[at + 1] as number) << 16) |
  ((source[at + 2] as number) << 8) |
  (source[at + 3] as number);

function requireBytes(length: number, start: number, end: number): void {
  if (end - start !== length) throw malformedError(`a value of ${end - start} bytes instead of ${length}`);
}

export const putBinaryShort: Put<Words> = ({ array, at }, source, start, end) => {
  requireBytes(2, start, end);
  array[at] = ((source[start] as number) << 8) | (source[start + 1] as number);
  return true;
};

/** A number of 32 bits of any type. */
export const putBinaryWord: Put<Words> = ({ array, at }, source, start, end) => {
  requireBytes(4, start, end);
  array[at] = wordAt(source, start);
  return true;
};

/** A number of 64 bits of any type. */
export const putBinaryWords: Put<Int32Array> = ({ array, at }, source, start, end) => {
  requireBytes(8, start, end);
  array[at] = wordAt(source, start + 4);
  array[at + 1] = wordAt(source, start);
  return true;
};

/** From 1970-01-01 to 2000-01-01. */
const epochDays = 10_957;
/** From 0001-01-01 to 2000-01-01. */
const adDays = 730_119;
const infinity = 2_147_483_647;

export const putBinaryDate: Put<Words> = ({ array, at }, source, start, end) => {
  requireBytes(4, start, end);
  const days = wordAt(source, start);
  array[at] = days + epochDays;
  return days >= -adDays && days <= infinity - epochDays;
};

const wordValues = 4_294_967_296;
const dayMicros = 86_400_000_000;

export const putBinaryTime: Put<Int32Array> = (to, source, start, end) => {
  putBinaryWords(to, source, start, end);
  const { array, at } = to;
  const micros = (array[at + 1] as number) * wordValues + ((array[at] as number) >>> 0);
  return micros >= 0 && micros < dayMicros;
};

const epoch = wordsOf(epochDays * dayMicros);
const year1 = wordsOf(-adDays * dayMicros);

function wordsOf(micros: number): { high: number; low: number } {
  const high = Math.floor(micros / wordValues);
  return { high, low: micros - high * wordValues };
}

export const putBinaryTimestamp: Put<Int32Array> = ({ array, at }: Place<Int32Array>, source, start, end) => {
  requireBytes(8, start, end);
  const high = wordAt(source, start);
  const low = wordAt(source, start + 4) >>> 0;
  const sum = low + epoch.low;
  array[at] = sum;
  const upper = high + epoch.high + (sum >= wordValues ? 1 : 0);
  array[at + 1] = upper;
  const isAd = high > year1.high || (high === year1.high && low >= year1.low);
  return isAd && upper <= infinity;
};

/** The two digits of each byte, the first one in the lower half. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);
/** The bytes that a dash precedes, as bits. */
const dashes = 0b0000_0101_0101_0000;
const dash = 0x2d;

/** Writes the digits of a UUID. */
export const writeBinaryUuid: FieldEncoder = (out, source, start, end) => {
  requireBytes(16, start, end);
  out.reserve(36);
  const { buffer } = out;
  let at = out.position;
  for (let i = 0; i < 16; i++) {
    if ((dashes >> i) & 1) buffer[at++] = dash;
    const pair = hexPairs[source[start + i] as number] as number;
    buffer[at++] = pair;
    buffer[at++] = pair >> 8;
  }
  out.position = at;
};
