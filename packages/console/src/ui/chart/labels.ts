/** Points in time as ISO 8601, in UTC, as short as the steps between them allow. */

import type { ChartSeries } from './protocol.ts';

const dayS = 86_400;

/**
 * `2026-11-01 00:00:00` in seconds since 1970, also without the time and the day; NaN for other texts. A time without a
 * zone counts as UTC.
 */
export function secondsOf(text: string): number {
  if (/^\d{4}-\d\d$/.test(text)) return secondsOf(`${text}-01`);
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(
    text,
  );
  if (match === null) return Number.NaN;
  const [, day, time = '00:00', zone = 'Z'] = match;
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone;
  // The parser takes February 31 for a day of March.
  if (!isDay(day)) return Number.NaN;
  return Date.parse(`${day}T${time}${offset}`) / 1_000;
}

function isDay(day = ''): boolean {
  const at = Date.parse(day);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}

const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString();

/** The parts of a point in time that a step of this length changes. */
function formOf(stepS: number): [from: number, to: number] {
  if (stepS >= 364 * dayS) return [0, 4];
  if (stepS >= 27 * dayS) return [0, 7];
  if (stepS >= dayS) return [0, 10];
  return stepS >= 60 ? [0, 16] : [0, 19];
}

/** Labels of points in time for a list: all have the same form. */
export function timeLabels(values: number[]): string[] {
  const texts = values.map((value) => isoOf(value).slice(0, 19).replace('T', ' '));
  const all = (end: string) => texts.every((text) => text.endsWith(end));
  const length = !all(' 00:00:00')
    ? all(':00')
      ? 16
      : 19
    : !all('-01 00:00:00') || texts.length < 2
      ? 10
      : 7;
  return texts.map((text) => text.slice(0, length));
}

/** Labels below an axis of time; what changes less often stands in a second line, where it changes. */
export function tickLabels(values: number[], stepS: number): string[] {
  const [from, to] = formOf(stepS);
  return twoLines(values.map((value) => isoOf(value).slice(from, to).replace('T', ' ')));
}

/** Writes the year below month and day, and the day below the time, where they change. */
export function twoLines(labels: string[]): string[] {
  let before = '';
  return labels.map((label) => {
    const [, above, below] =
      /^(\d{4})-(\d\d(?:-\d\d)?)$/.exec(label) ?? /^(\d{4}-\d\d-\d\d) (.*)$/.exec(label) ?? [];
    if (above === undefined || below === undefined) return label;
    const isNew = above !== before;
    before = above;
    return isNew ? `${below}\n${above}` : below;
  });
}

const wholeSteps = Array.from({ length: 20 }, (_, i) => [1, 2, 5].map((digit) => digit * 10 ** i)).flat();

/** The steps that an axis of these values can have: there is no half of what is counted. Undefined for any. */
export function stepsFor(values: readonly ChartSeries['values'][]): number[] | undefined {
  const isWhole = values.every((some) =>
    some.every((value) => (value ?? null) === null || Number.isSafeInteger(value)),
  );
  return isWhole ? wholeSteps : undefined;
}

/** Whole numbers from the first to the last, at most as many as have room: both ends, and evenly between them. */
export function evenly([first, last]: [number, number], most: number): number[] {
  const steps = last - first;
  if (steps <= 0) return steps === 0 ? [first] : [];
  const wanted = Math.max(1, Math.min(steps, most - 1));
  // Equal steps are nicer than some labels more.
  let parts = wanted;
  while (parts > wanted / 2 && steps % parts !== 0) parts--;
  if (steps % parts !== 0) parts = Math.floor(steps / Math.ceil(steps / wanted));
  return Array.from({ length: parts + 1 }, (_, i) => first + Math.round((i * steps) / parts));
}
