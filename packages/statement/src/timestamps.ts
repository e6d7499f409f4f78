/** Timestamps as callers write them. */

const zoned =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(?:Z|([+-])(\d{2}):?(\d{2})?)$/;

/**
 * Converts a timestamp with a zone to date and time in UTC, the time zone of every session: MySQL rejects some
 * zones and ignores others. A value without a zone, or with an impossible date, is left for the database to judge.
 */
export function toUtcText(text: string): string {
  const parts = zoned.exec(text);
  if (parts === null) return text;
  const [year, month, day, hour, minute, second = 0] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [, , , , , , , fraction = '', sign, hours = '0', minutes = '0'] = parts;
  // Date.UTC would take the year 26 for 1926.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (!toDateTime(date).startsWith(`${text.slice(0, 10)} ${text.slice(11, 16)}`)) return text;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  date.setTime(date.getTime() - offset * 60_000);
  return /^\d{4}-/.test(date.toISOString()) ? toDateTime(date) + fraction : text;
}

const toDateTime = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');

const endsInDate = /^\d{4}-\d{2}-\d{2}$/;
const endsInZone = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/;

/** The same text for the same instant. Without a zone it is in UTC. */
export function canonicalTimestamp(text: string): string {
  const isDate = endsInDate.test(text);
  const zonedText = isDate ? `${text}T00:00Z` : endsInZone.test(text) ? text : `${text}Z`;
  const utc = toUtcText(zonedText);
  if (utc === zonedText) return text;
  return utc.includes('.') ? utc.replace(/\.?0+$/, '') : utc;
}
