/** Reads dates and times into Arrow's numbers. The readers return NaN for a value that has none. */

import { isZeroDate } from '../values/packed-times.ts';
import { putBinaryDate, putBinaryTime, putBinaryTimestamp } from './binary.ts';
import { type Place, type Put, putExact, putMicros } from './numbers.ts';

const dash = 0x2d;
const point = 0x2e;
const space = 0x20;
const zero = 0x30;
const nine = 0x39;
const daySeconds = 86_400;
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The days from 1970-01-01; NaN for a date that no calendar has. "chrono-Compatible Low-Level Date Algorithms", Hinnant. */
function daysOf(year: number, month: number, day: number): number {
  if (month < 1 || month > 12 || day < 1 || day > (monthDays[month - 1] as number)) return Number.NaN;
  if (month === 2 && day === 29 && !(year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)))
    return Number.NaN;
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.trunc((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.trunc(ofEra / 4) - Math.trunc(ofEra / 100) + ofYear - 719_468;
}

/** Makes each date and time with it invalid. */
const noDigits = -1_000_000;

/** Two digits. */
function pair(source: Buffer, at: number): number {
  const tens = (source[at] as number) - zero;
  const ones = (source[at + 1] as number) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : noDigits;
}

/** Days of `2026-11-20`; years have four digits or more. */
function isoDays(source: Buffer, start: number, end: number): number {
  let year = 0;
  let at = start;
  for (; at < end && source[at] !== dash; at++) {
    const byte = source[at] as number;
    if (byte < zero || byte > nine) return Number.NaN;
    year = year * 10 + byte - zero;
  }
  return at - start >= 4 && end === at + 6
    ? daysOf(year, pair(source, at + 1), pair(source, at + 4))
    : Number.NaN;
}

/** The shortest date. */
const dateBytes = 10;

const clockBytes = 8;

/**
 * Four bytes such as `13:0` or `4:05` as a little-endian word. XOR with `zeros` leaves the digits, and 0 for the colon.
 * Adding 6 to a nibble above 9 sets a bit of `others`, as each other byte does.
 */
const hourWord = { zeros: 0x303a3030, others: 0xf0fff0f0 | 0, sixes: 0x06000606 };
const secondWord = { zeros: 0x30303a30, others: 0xf0f0fff0 | 0, sixes: 0x06060006 };
const isClockWord = (digits: number, { others, sixes }: typeof hourWord): boolean =>
  ((digits | (digits + sixes)) & others) === 0;
const nibble = (word: number, byte: number): number => (word >>> (8 * byte)) & 0xf;

/** The seconds of a day at the eight bytes `13:04:05`; negative for other bytes. */
function clockSeconds(view: DataView, at: number): number {
  const first = view.getInt32(at, true) ^ hourWord.zeros;
  const second = view.getInt32(at + 4, true) ^ secondWord.zeros;
  if (!isClockWord(first, hourWord) || !isClockWord(second, secondWord)) return -1;
  const hours = nibble(first, 0) * 10 + nibble(first, 1);
  const minutes = nibble(first, 3) * 10 + nibble(second, 0);
  return hours * 3_600 + minutes * 60 + nibble(second, 2) * 10 + nibble(second, 3);
}

/** The microseconds of the last of up to six digits of a fraction. */
const units = [0, 100_000, 10_000, 1_000, 100, 10, 1];

/** A reader of times, which keeps the last one. */
class Clock {
  /** Of the day, or from 1970-01-01. */
  seconds = 0;
  micros = 0;
  /** The last date of ten bytes and the space behind it, as words. Timestamps of neighbouring rows are often of the same day. */
  #year = 0;
  #month = 0;
  #day = 0;
  #dateSeconds = 0;
  #source: Buffer | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Reads `13:04:05` with perhaps a fraction. Returns whether it is a time of a day. */
  readIso(source: Buffer, start: number, end: number): boolean {
    if (end - start < clockBytes) return false;
    const seconds = clockSeconds(this.#viewOf(source), start);
    let micros = 0;
    const digits = end - start - clockBytes - 1;
    if (digits >= 0) {
      if (source[start + clockBytes] !== point || digits > 6) return false;
      for (let i = start + clockBytes + 1; i < end; i++) micros = micros * 10 + (source[i] as number) - zero;
      micros *= units[digits] as number;
    }
    this.seconds = seconds;
    this.micros = micros;
    return seconds >= 0 && seconds < daySeconds;
  }

  /** Reads `2026-11-20 13:04:05.123456`. */
  readIsoTimestamp(source: Buffer, start: number, end: number): boolean {
    if (end - start <= dateBytes) return false;
    const view = this.#viewOf(source);
    const year = view.getInt32(start, true);
    const month = view.getInt32(start + 4, true);
    // The last byte of the month's dash and the day, up to the space.
    const day = view.getInt32(start + 7, true);
    if (day === this.#day && month === this.#month && year === this.#year) {
      if (!this.readIso(source, start + dateBytes + 1, end)) return false;
      this.seconds += this.#dateSeconds;
      return true;
    }
    let at = start + dateBytes;
    while (at < end && source[at] !== space) at++;
    const days = isoDays(source, start, at);
    if (Number.isNaN(days) || !this.readIso(source, at + 1, end)) return false;
    this.seconds += days * daySeconds;
    if (at !== start + dateBytes) return true;
    [this.#year, this.#month, this.#day] = [year, month, day];
    this.#dateSeconds = days * daySeconds;
    return true;
  }

  /** All fields of a row have one source. */
  #viewOf(source: Buffer): DataView {
    if (source !== this.#source) {
      this.#source = source;
      this.#view = new DataView(source.buffer, source.byteOffset, source.length);
    }
    return this.#view;
  }

  /** Reads a DATETIME of MySQL's binary protocol. */
  readPacked(source: Buffer, start: number, end: number): boolean {
    const length = end - start;
    const days = packedDays(source, start);
    const clock =
      length < 7
        ? 0
        : (source[start + 4] as number) * 3_600 +
          (source[start + 5] as number) * 60 +
          (source[start + 6] as number);
    this.seconds = days * daySeconds + clock;
    this.micros = length >= 11 ? source.readUInt32LE(start + 7) : 0;
    return !Number.isNaN(days);
  }
}

/** Days of a date of MySQL's binary protocol. */
const packedDays = (source: Buffer, start: number): number =>
  daysOf(source.readUInt16LE(start), source[start + 2] as number, source[start + 3] as number);

/** Microseconds of a TIME of MySQL's binary protocol, which can be negative or longer than a day. */
function packedDuration(source: Buffer, start: number, end: number): number {
  if (end - start < 8) return 0;
  const part = (offset: number) => source[start + offset] as number;
  const seconds = source.readUInt32LE(start + 1) * daySeconds + part(5) * 3_600 + part(6) * 60 + part(7);
  const micros = seconds * 1_000_000 + (end - start >= 12 ? source.readUInt32LE(start + 8) : 0);
  return part(0) === 1 ? -micros : micros;
}

function putDays({ array, at }: Place<Int32Array>, days: number): boolean {
  array[at] = days;
  return !Number.isNaN(days);
}

const putIsoDate: Put<Int32Array> = (to, source, start, end) => putDays(to, isoDays(source, start, end));

const putPackedDate: Put<Int32Array> = (to, source, start, end) =>
  isZeroDate(source, start, end) ? null : putDays(to, packedDays(source, start));

export const datePut = (bytes: 'iso' | 'packed' | 'days'): Put<Int32Array> =>
  ({ iso: putIsoDate, packed: putPackedDate, days: putBinaryDate })[bytes];

export const putDuration: Put<Int32Array> = (to, source, start, end) => {
  putExact(to, packedDuration(source, start, end));
  return true;
};

export const timePut = (bytes: 'iso' | 'micros'): Put<Int32Array> =>
  bytes === 'iso' ? putIsoTime() : putBinaryTime;

function putIsoTime(): Put<Int32Array> {
  const clock = new Clock();
  return (to, source, start, end) =>
    clock.readIso(source, start, end) && putMicros(to, clock.seconds, clock.micros);
}

export function timestampPut({
  hasZone,
  bytes,
}: {
  hasZone: boolean;
  bytes: 'iso' | 'packed' | 'micros';
}): Put<Int32Array> {
  if (bytes === 'micros') return putBinaryTimestamp;
  return bytes === 'iso' ? putIsoTimestamp(hasZone) : putPackedTimestamp();
}

function putIsoTimestamp(hasZone: boolean): Put<Int32Array> {
  const clock = new Clock();
  // The session's time zone is UTC, so a timestamptz ends with +00.
  const zoneBytes = hasZone ? 3 : 0;
  return (to, source, start, end) =>
    clock.readIsoTimestamp(source, start, end - zoneBytes) && putMicros(to, clock.seconds, clock.micros);
}

function putPackedTimestamp(): Put<Int32Array> {
  const clock = new Clock();
  return (to, source, start, end) => {
    if (isZeroDate(source, start, end)) return null;
    return clock.readPacked(source, start, end) && putMicros(to, clock.seconds, clock.micros);
  };
}
