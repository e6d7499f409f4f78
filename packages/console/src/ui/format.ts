/** Formats numbers, times and names for display. */

import { type EngineName, isEngine } from '@datahub/contract/engines';

const whole = new Intl.NumberFormat('en');
export const count = (value: number): string => whole.format(value);
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

const figures = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const smallFigures = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });
/** A number of a chart, which is read and not copied. */
export const figure = (value: number): string =>
  (Math.abs(value) < 10 ? smallFigures : figures).format(value);

export function duration(ms: number): string {
  if (ms > 0 && ms < 0.05) return 'under 0.1 ms';
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 599_500) return `${(ms / 1_000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  return `${count(Math.round(ms / 60_000))} min`;
}

/** 1 kB is 1,000 B. */
export const bytes = (value: number): string =>
  value < 1_000
    ? `${value} B`
    : value < 999_950
      ? `${(value / 1_000).toFixed(1)} kB`
      : value < 999_950_000
        ? `${(value / 1_000_000).toFixed(1)} MB`
        : `${(value / 1_000_000_000).toFixed(1)} GB`;

const day = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
export const moment = (iso: string | null): string => (iso === null ? 'never' : day.format(new Date(iso)));

const exactDay = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
/** With seconds. */
export const exactMoment = (at: string | number | Date): string => exactDay.format(new Date(at));

/** Only none is “0 %”, and only all is “100 %”. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return 'under 0.1 %';
  if (share < 1 && share >= 0.9995) return 'over 99.9 %';
  return `${(share * 100).toFixed(share !== 1 && share !== 0 && (share > 0.995 || share < 0.1) ? 1 : 0)} %`;
}

/** Nothing is certain, so 0.9999 is not “100 %”, and 0.0001 is not “0 %”. */
export const confidenceText = (share: number): string =>
  share > 0.995 ? 'over 99 %' : share < 0.005 ? 'under 1 %' : `${Math.round(share * 100)} %`;

/** Of fewer cases, a share in percent would look more certain than it is. */
const casesEnough = 100;
/** The standard score of a 95 % interval. */
const score = 1.96;

/** “7 of 8 (53 to 98 %)”: what was right, and Wilson's 95 % interval of the share; of many cases, the share. */
export function shareOf(share: number, cases: number): string {
  if (cases >= casesEnough) return percent(share);
  const times = Math.round(share * cases);
  const [low, high] = intervalOf(times, cases);
  const range =
    times === cases ? `${low} % or more` : times === 0 ? `${high} % or less` : `${low} to ${high} %`;
  return `${count(times)} of ${count(cases)} (${range})`;
}

function intervalOf(times: number, cases: number): [number, number] {
  const [share, square] = [times / cases, score ** 2 / cases];
  const middle = share + square / 2;
  const spread = score * Math.sqrt((share * (1 - share)) / cases + square / (4 * cases));
  const toPercent = (value: number) => Math.round((100 * value) / (1 + square));
  return [toPercent(middle - spread), toPercent(middle + spread)];
}

export const engineNames: Record<EngineName, string> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL',
  mariadb: 'MariaDB',
  mongodb: 'MongoDB',
};
export const engineName = (engine: string): string => (isEngine(engine) ? engineNames[engine] : engine);
