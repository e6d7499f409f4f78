/** What watches are, in words. */

import type { Answer } from '../../api/types.ts';

export type Watch = Answer<'GET /v1/watches'>[number];
export type Run = Answer<'GET /v1/watches/{watchId}/runs'>[number];
export type Destination = Answer<'GET /v1/destinations'>[number];
export type Delivery = Answer<'GET /v1/deliveries'>[number];

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
  failed: 'failures',
  always: 'each run',
} as const;

export function ruleOf({ when }: Watch): string {
  if (typeof when === 'string') return ruleWords[when as keyof typeof ruleWords];
  const { column, is, value } = when as { column: string; is: string; value: unknown };
  return `${column} ${is} ${value}`;
}

export function scheduleOf({ schedule: { everyS = 0, cron, timeZone } }: Watch): string {
  if (cron !== undefined) return `${cron} (${timeZone})`;
  return everyS % 60 === 0 ? `every ${everyS / 60} min` : `every ${everyS} s`;
}

export const inZone = (iso: string, timeZone: string): string =>
  `${new Intl.DateTimeFormat(undefined, { timeZone, dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso))} ${timeZone}`;

export const changesOf = ({ changes }: Run): string =>
  changes === null ? '' : `${changes.new} new, ${changes.changed} changed, ${changes.gone} gone`;
