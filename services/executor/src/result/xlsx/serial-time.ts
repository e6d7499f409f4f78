/** Dates and times as numbers of a spreadsheet. */

import { midnightOf } from '@datahub/statement/timestamps';
import { type ByteWriter, writeAscii, writeInteger, writePair } from '../values/primitives.ts';

const zero = 0x30;
const dash = 0x2d;
const colon = 0x3a;
const point = 0x2e;
const letterT = 0x54;
const letterZ = 0x5a;

/** Of `2026-11-20` and `2026-11-20T13:04:05`. */
const dateBytes = 10;
const clockBytes = 19;
const fractionDigitsMax = 6;

const dayMicros = 86_400_000_000;
/** The number of 1970-01-01, and of 1900-03-01. */
const epochDay = 25_569;
const firstDay = 61;
/** From this day on, in 2079, a double does not hold every microsecond. */
const roundedDay = 65_536;
/** From this day on, in 2173, a double needs fewer decimals than twelve. */
const sixDigitDay = 100_000;

/**
 * A date is the number of days since 1899-12-30, and a time their fraction: ECMA-376 part 1, 18.17.4.1. There are no
 * numbers for dates before 1900-03-01, because spreadsheets take 1900 for a leap year, for dates after 9999, for those of
 * MySQL that do not exist, and for microseconds that a double would change: from 2079 on some, later all.
 */
export class SerialTime {
  hasClock = false;
  hasFraction = false;
  #days = 0;
  #micros = 0;
  /** The last day: rows often have equal ones. */
  #date = -1;

  /** Reads ISO 8601. Returns false if there is no number for it. */
  read(text: Buffer, start: number, end: number): boolean {
    return this.#readDate(text, start, end) && this.#readClock(text, start, end);
  }

  #readDate(text: Buffer, start: number, end: number): boolean {
    if (end - start < dateBytes || text[start + 4] !== dash || text[start + 7] !== dash) return false;
    const year = numberAt(text, start, 4);
    const month = numberAt(text, start + 5, 2);
    const day = numberAt(text, start + 8, 2);
    if (year < 0 || month < 0 || day < 0) return false;
    const date = (year * 100 + month) * 100 + day;
    if (date !== this.#date) {
      const midnight = midnightOf({ year, month, day });
      this.#date = date;
      this.#days = midnight === undefined ? 0 : midnight / 86_400_000 + epochDay;
    }
    return this.#days >= firstDay;
  }

  #readClock(text: Buffer, start: number, end: number): boolean {
    this.hasClock = end - start > dateBytes;
    this.#micros = 0;
    if (!this.hasClock) return true;
    const stop = text[end - 1] === letterZ ? end - 1 : end;
    if (stop - start < clockBytes || text[start + 10] !== letterT) return false;
    if (text[start + 13] !== colon || text[start + 16] !== colon) return false;
    const hour = numberAt(text, start + 11, 2);
    const minute = numberAt(text, start + 14, 2);
    const second = numberAt(text, start + 17, 2);
    const micros = fractionAt(text, start + clockBytes, stop);
    if (hour < 0 || minute < 0 || second < 0 || micros < 0) return false;
    this.hasFraction = micros > 0;
    this.#micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
    if (this.#micros >= dayMicros) return false;
    const isRounded = this.#days >= roundedDay && micros % 1_000 !== 0;
    return !isRounded || Math.round((this.#serial - this.#days) * dayMicros) === this.#micros;
  }

  get #serial(): number {
    return this.#days + this.#micros / dayMicros;
  }

  /**
   * Writes the number: 17 digits at most, which is as exact as a double. Strings of so many different numbers would stay
   * in V8's cache of them, and fill its old generation.
   */
  write(out: ByteWriter): void {
    if (this.#days >= roundedDay && this.#micros % 1_000 !== 0) {
      writeAscii(out, String(this.#serial));
      return;
    }
    writeInteger(out, this.#days);
    if (this.#micros === 0) return;
    // A day has 86,400,000,000 microseconds: 10^12 / 86,400,000,000 = 625 / 54.
    const exact = (this.#micros * 625) / 54;
    const billionths = this.#days < sixDigitDay ? Math.round(exact) : Math.round(exact / 100) * 100;
    out.reserve(13);
    out.buffer[out.position++] = point;
    const high = Math.floor(billionths / 1e6);
    writeSixDigits(out, high);
    writeSixDigits(out, billionths - high * 1e6);
    while (out.buffer[out.position - 1] === zero) out.position--;
  }
}

/** `out` must have room. */
function writeSixDigits(out: ByteWriter, value: number): void {
  const hundreds = (value / 100) >>> 0;
  writePair(out.view, out.position, (hundreds / 100) >>> 0);
  writePair(out.view, out.position + 2, hundreds);
  writePair(out.view, out.position + 4, value);
  out.position += 6;
}

/** The number of so many digits, or -1 if a byte is no digit. */
function numberAt(text: Buffer, start: number, digits: number): number {
  let value = 0;
  for (let at = start; at < start + digits; at++) {
    const digit = (text[at] as number) - zero;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** The microseconds of `.25` or of nothing, or -1 for something else. */
function fractionAt(text: Buffer, start: number, end: number): number {
  if (start === end) return 0;
  const digits = end - start - 1;
  if (text[start] !== point || digits < 1 || digits > fractionDigitsMax) return -1;
  let micros = numberAt(text, start + 1, digits);
  if (micros >= 0) for (let i = digits; i < fractionDigitsMax; i++) micros *= 10;
  return micros;
}
