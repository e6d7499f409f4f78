/** Moments with a zone, for engines that read none: MySQL refuses some and passes over others in silence. */

const zoned =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(?:Z|([+-])(\d{2}):?(\d{2})?)$/;

/**
 * A declared timestamp as a date and a time in UTC, which is the zone of every session. What has no zone, or is of no
 * calendar, stays as it is: that is the database's to take or refuse.
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
  // Not Date.UTC, to which the year 26 is 1926.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (!toText(date).startsWith(`${text.slice(0, 10)} ${text.slice(11, 16)}`)) return text;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  date.setTime(date.getTime() - offset * 60_000);
  return /^\d{4}-/.test(date.toISOString()) ? toText(date) + fraction : text;
}

const toText = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');
