/** The shapes of statistics, and how their figures are shown. */

import type { Answer } from '../../api/types.ts';
import { count, duration, percent } from '../../ui/format.ts';

export type QueryStatistics = Answer<'GET /v1/queries/{queryId}/stats'>;
export type Figures = QueryStatistics['sinceStart'];
/** The calls of five minutes. */
export type Window = QueryStatistics['windows'][number];
export type VersionFigures = QueryStatistics['versions'][number];
/** Executors, and the names of those that did not answer. */
export type Fleet = Pick<QueryStatistics, 'executors' | 'missing'>;
export type StatisticsList = Answer<'GET /v1/stats'>;
export type Usage = Answer<'GET /v1/queries/{queryId}/usage'>;
export type KeyUsage = Usage['keys'][number];

export const time = (ms: number | undefined): string =>
  ms === undefined ? '–' : ms < 1 ? `${Math.round(ms * 1_000)} µs` : duration(ms);

/** A part with its share of the whole. */
export const partOf = (value: number, whole: number): string =>
  value === 0 || whole === 0 ? count(value) : `${count(value)} (${percent(value / whole)})`;

/** The earliest time since when all executors count; undefined if none has answered. */
export const sinceOf = ({ executors }: Fleet): string | undefined =>
  executors
    .map(({ since }) => since)
    .sort()
    .at(-1);

export const nameOfKey = ({ keyId, name }: KeyUsage): string =>
  name === null ? `revoked …${keyId.slice(-4)}` : (name ?? keyId);
