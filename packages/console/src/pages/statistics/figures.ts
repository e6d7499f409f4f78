/** The shapes of statistics, and how their figures are shown. */

import { count, duration, percent } from '../../ui/format.ts';

interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

export interface Figures {
  count: number;
  failed: number;
  errors: { code: string; count: number }[];
  cacheHits: number;
  rows: number;
  bytes: number;
  queueMs: Percentiles | null;
  databaseMs: Percentiles | null;
  totalMs: Percentiles | null;
}

export interface Fleet {
  executors: { name: string; since: string; dropped: number }[];
  /** Executors that did not answer. */
  missing: string[];
}

interface Spans {
  lastHour: Figures;
  sinceStart: Figures;
}

/** The calls of five minutes. */
export interface Window extends Pick<Figures, 'count' | 'failed' | 'totalMs'> {
  start: string;
}

export interface VersionFigures
  extends Pick<Figures, 'count' | 'failed' | 'cacheHits' | 'databaseMs' | 'totalMs'> {
  version: number;
}

export interface QueryStatistics extends Spans, Fleet {
  queryId: string;
  windows: Window[];
  versions: VersionFigures[];
}

export interface StatisticsList extends Fleet {
  queries: (Spans & { queryId: string; hubId: string; label: string })[];
}

interface Counts {
  count: number;
  failed: number;
}

export interface KeyUsage extends Counts {
  keyId: string;
  /** Absent if this key may not list keys; null if the key was revoked. */
  name?: string | null;
  /** An estimate of the number of signed-in users. */
  users: number;
  days: (Counts & { day: string })[];
}

export interface Usage extends Counts {
  from: string;
  to: string;
  users: number;
  totalKeys: number;
  keys: KeyUsage[];
}

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
