/** Common cron patterns in words. */

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** “at 06:30 from Monday to Friday” for `30 6 * * 1-5`; undefined for a pattern that needs more words. */
export function cronWords(cron: string): string | undefined {
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = '', ...more] = cron
    .trim()
    .split(/\s+/);
  if (more.length > 0 || month !== '*') return undefined;
  const time = timeWords(minute, hour);
  const day = dayWords(dayOfMonth, dayOfWeek);
  return time && day && `${time} ${day}`;
}

function timeWords(minute: string, hour: string): string | undefined {
  const at = numberOf(minute, 59);
  if (at === undefined) return undefined;
  if (hour === '*') return `${at} min after each hour`;
  const hours = hour.split(',').map((one) => numberOf(one, 23));
  if (hours.includes(undefined)) return undefined;
  return `at ${hours.map((one) => `${twoDigits(one ?? 0)}:${twoDigits(at)}`).join(', ')}`;
}

function dayWords(dayOfMonth: string, dayOfWeek: string): string | undefined {
  if (dayOfWeek === '*') {
    if (dayOfMonth === '*') return 'every day';
    const day = numberOf(dayOfMonth, 31);
    return day === undefined || day === 0 ? undefined : `on day ${day} of the month`;
  }
  if (dayOfMonth !== '*') return undefined;
  const [first, last, ...more] = dayOfWeek.split('-').map(dayName);
  if (dayOfWeek.includes('-'))
    return more.length > 0 || first === undefined || last === undefined
      ? undefined
      : `from ${first} to ${last}`;
  const listed = dayOfWeek.split(',').map(dayName);
  return listed.includes(undefined) ? undefined : `on ${listed.join(', ')}`;
}

const dayName = (text: string): string | undefined =>
  days[numberOf(text, 7) ?? names.indexOf(text.toLowerCase())];

const numberOf = (text: string, max: number): number | undefined =>
  /^\d{1,2}$/.test(text) && Number(text) <= max ? Number(text) : undefined;

const twoDigits = (value: number): string => String(value).padStart(2, '0');
