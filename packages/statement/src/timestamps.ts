/** Timestamps as callers and databases write them: a date, or a date and a time, with a zone or in UTC. */

const shape =
  /^(?<year>\d{4,6})-(?<month>\d{2})-(?<day>\d{2})(?:[T ](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.(?<fraction>\d{1,9}))?)?(?<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?(?<era> BC)?$/;

/** PostgreSQL has no year 0. */
const callersYear = /^(?!0000)\d{4}-/;

type Day = Record<'year' | 'month' | 'day', number>;

type Parts = Day &
  Record<'hour' | 'minute' | 'second', number> & {
    fraction: string;
    /** In minutes; undefined without a zone. */
    offset: number | undefined;
  };

/** Undefined for another shape, and for a year that callers cannot write, unless databases may write it. */
function partsOf(text: string, years: 'four digits' | 'all' = 'four digits'): Parts | undefined {
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) return undefined;
  if (years === 'four digits' && (groups.era !== undefined || !callersYear.test(text))) return undefined;
  const number = (name: string) => Number(groups[name] ?? 0);
  return {
    // The year before 1 is 1 BC.
    year: groups.era === undefined ? number('year') : 1 - number('year'),
    ...{ month: number('month'), day: number('day') },
    ...{ hour: number('hour'), minute: number('minute'), second: number('second') },
    fraction: groups.fraction ?? '',
    offset: offsetOf(groups.zone),
  };
}

function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z') return zone && 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(':', '') || 0);
  return zone.startsWith('-') ? -minutes : minutes;
}

const hourMinutes = 60;
/** PostgreSQL's. */
const offsetMax = 16 * hourMinutes;

/**
 * True if there is such a day and such a time, also in UTC and rounded. As in PostgreSQL, 24:00 is the start of the next
 * day, and the second 60 that of the next minute.
 */
export function isMoment(text: string): boolean {
  const parts = partsOf(text);
  return parts !== undefined && exists(parts) && toUtcText(text) !== undefined;
}

function exists(parts: Parts): boolean {
  const { hour, minute, second, fraction, offset = 0 } = parts;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && /^0*$/.test(fraction);
  const isTime = (hour < 24 || isEndOfDay) && minute < 60 && second <= 60;
  return isTime && Math.abs(offset) < offsetMax && midnightOf(parts) !== undefined;
}

/** In UTC, in milliseconds since 1970. Undefined if there is no such day. */
export function midnightOf(date: Day): number | undefined {
  const start = startOf(date);
  const exists = start.getUTCMonth() === date.month - 1 && start.getUTCDate() === date.day;
  return exists ? start.getTime() : undefined;
}

/** True for a date alone, without a time, if there is such a day. */
export const isDay = (text: string): boolean => isDate(text) && isMoment(text);

/** Of a text that has the shape of a moment. */
const isDate = (text: string): boolean => text.length === 'YYYY-MM-DD'.length;

function startOf({ year, month, day }: Day): Date {
  // Date.UTC would take the year 26 for 1926.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date;
}

const microsecondDigits = 6;

/**
 * Converts a moment to date and time in UTC, the time zone of every session, with at most six digits of a second, rounded:
 * MySQL rejects some zones and ignores others, and each server has rules of its own for 24:00 and for further digits. A
 * date alone stays one. Undefined if the year in UTC is not 1 to 9999.
 */
export function toUtcText(text: string): string | undefined {
  const parts = partsOf(text);
  if (parts === undefined || isDate(text)) return text;
  const { hour, minute, second, offset = 0 } = parts;
  const date = startOf(parts);
  date.setUTCHours(hour, minute - offset, second);
  let fraction = parts.fraction;
  if (fraction.length > microsecondDigits) {
    const micros = String(Math.round(Number(fraction) / 10 ** (fraction.length - microsecondDigits)));
    const isWhole = micros.length > microsecondDigits;
    if (isWhole) date.setUTCSeconds(date.getUTCSeconds() + 1);
    fraction = isWhole ? '' : micros.padStart(microsecondDigits, '0');
  }
  const utc = date.toISOString().slice(0, 19).replace('T', ' ');
  return callersYear.test(utc) ? utc + (fraction && `.${fraction}`) : undefined;
}

/** The same text for the same instant. Without a zone it is in UTC. */
export function canonicalTimestamp(text: string): string {
  if (!isMoment(text)) return text;
  const utc = toUtcText(isDate(text) ? `${text}T00:00` : text) ?? text;
  return utc.includes('.') ? utc.replace(/\.?0+$/, '') : utc;
}

/** A moment on a line without end. */
export interface Instant {
  /** Since 1970 in UTC, or an infinity. */
  seconds: number;
  /** Nine digits of a second. */
  fraction: string;
}

/** The calendar repeats itself after 400 years, of so many days. */
const cycle = { years: 400, days: 146_097 };
const dayS = 86_400;

/**
 * Reads a moment as a caller or a database writes it, with its infinities, years beyond 9999 and years before Christ.
 * Without a zone it is in UTC, and a date is its midnight. Undefined if there is no such moment.
 */
export function instantOf(text: string): Instant | undefined {
  if (/^-?infinity$/i.test(text))
    return { seconds: text.startsWith('-') ? -Infinity : Infinity, fraction: '' };
  const parts = partsOf(text, 'all');
  if (parts === undefined || !exists(parts)) return undefined;
  const { year, hour, minute, second, fraction, offset = 0 } = parts;
  // Dates of JavaScript end before those of databases.
  const cycles = Math.floor(year / cycle.years);
  const start = startOf({ ...parts, year: year - cycles * cycle.years }).getTime() / 1_000;
  const seconds = start + cycles * cycle.days * dayS + hour * 3_600 + (minute - offset) * 60 + second;
  return { seconds, fraction: fraction.padEnd(9, '0') };
}
