/** What watches are, in words. */

import type { Answer } from '../../api/types.ts';
import { counted } from '../../ui/format.ts';
import { cronWords } from './cron-words.ts';

export type Watch = Answer<'GET /v1/watches'>[number];
export type Run = Answer<'GET /v1/watches/{watchId}/runs'>[number];
export type Destination = Answer<'GET /v1/destinations'>[number];
export type Delivery = Answer<'GET /v1/deliveries'>[number];

export const addressOf = (watchId: string): string => `v1/watches/${encodeURIComponent(watchId)}`;

export const stateWords: Record<Watch['state'], string> = {
  ok: 'ok',
  firing: 'firing',
  failing: 'failing',
  unknown: 'no run yet',
};

export const ruleWords = {
  new: 'new rows',
  changed: 'changed rows',
  gone: 'rows that are gone',
  condition: 'rows that meet a condition',
  failed: 'failures',
  always: 'each run',
} as const;
export type Rule = keyof typeof ruleWords;

export interface Condition {
  column: string;
  is: string;
  value: unknown;
  forRuns?: number;
}

export const conditionOf = ({ when }: Watch): Condition | undefined =>
  typeof when === 'string' ? undefined : (when as unknown as Condition);

export function ruleOf(watch: Watch): string {
  const condition = conditionOf(watch);
  if (condition === undefined) return ruleWords[watch.when as Rule];
  const { column, is, value, forRuns = 1 } = condition;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `${column} ${is} ${text}${forRuns > 1 ? ` in ${counted(forRuns, 'run')} in a row` : ''}`;
}

export function scheduleOf({ schedule: { everyS = 0, cron, timeZone } }: Watch): string {
  if (cron !== undefined) return `${cronWords(cron) ?? cron} (${timeZone})`;
  return everyS % 60 === 0 ? `every ${everyS / 60} min` : `every ${everyS} s`;
}

export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

const inZone = (iso: string, timeZone: string): string =>
  `${new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(iso))} ${timeZone}`;

/** The next run in the zone of the watch, if that is not the zone of the reader. */
export const nextInZone = ({ nextAt, schedule: { timeZone } }: Watch): string | undefined =>
  nextAt === null || timeZone === undefined || timeZone === ownZone() ? undefined : inZone(nextAt, timeZone);

const compares = ({ when }: Watch): boolean => ['new', 'changed', 'gone'].includes(when as string);

export function changesOf({ changes, outcome }: Run, watch: Watch): string {
  if (changes === null) return outcome === 'ok' && compares(watch) ? 'no run before to compare with' : '';
  return `${changes.new} new, ${changes.changed} changed, ${changes.gone} gone`;
}
