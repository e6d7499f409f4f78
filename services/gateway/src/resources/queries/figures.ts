/** What the executors counted of a query, as JSON. */

import { percentile } from '@datahub/executor-session/duration-buckets';
import { sumFigures } from '@datahub/executor-session/fleet-statistics';
import type { DurationCounts, QueryFigures, QueryStatistics } from '@datahub/proto/executor/v1/executor';
import { count, type FromSchema, list, orNull, record, text } from '../../http/json-schema.ts';

const milliseconds = { type: 'number', minimum: 0 } as const;
/** Null if there are no durations. */
export const percentiles = orNull(record({ p50: milliseconds, p95: milliseconds, p99: milliseconds }));
export const figures = record({
  count,
  /** The calls of the console, which no other figure contains. */
  consoleCount: count,
  failed: count,
  errors: list(record({ code: text, count })),
  cacheHits: count,
  rows: count,
  bytes: count,
  queueMs: percentiles,
  databaseMs: percentiles,
  totalMs: percentiles,
});
/** The few figures of a list. */
export const fewFigures = { count, failed: count, totalMs: percentiles } as const;
export const callSpans = record({ sinceStart: record(fewFigures), lastHour: record(fewFigures) });

type FiguresJson = FromSchema<typeof figures>;

export function toFiguresJson(given: QueryFigures | undefined): FiguresJson {
  const all = given ?? sumFigures([]);
  const { calls, consoleCalls, cacheHits, rows, bytes, queue, database, total } = all;
  const errors = all.errors.map(({ code, calls }) => ({ code, count: calls }));
  return {
    count: calls,
    consoleCount: consoleCalls,
    failed: failedOf(all),
    errors: errors.sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)),
    cacheHits,
    rows,
    bytes,
    queueMs: toPercentilesJson(queue),
    databaseMs: toPercentilesJson(database),
    totalMs: toPercentilesJson(total),
  };
}

function toPercentilesJson(durations: DurationCounts | undefined) {
  const at = (share: number) => percentileOf(durations, share);
  const [p50, p95, p99] = [at(0.5), at(0.95), at(0.99)];
  return p50 === undefined || p95 === undefined || p99 === undefined ? null : { p50, p95, p99 };
}

export const percentileOf = (durations: DurationCounts | undefined, share: number): number | undefined =>
  durations && percentile(durations, share);

export const failedOf = ({ errors }: QueryFigures): number =>
  errors.reduce((sum, { calls }) => sum + calls, 0);

export function toCallSpansJson({ sinceStart, lastHour }: QueryStatistics): FromSchema<typeof callSpans> {
  return { sinceStart: toCallsJson(sinceStart), lastHour: toCallsJson(lastHour) };
}

function toCallsJson(figures: QueryFigures = sumFigures([])) {
  const { calls, total } = figures;
  return { count: calls, failed: failedOf(figures), totalMs: toPercentilesJson(total) };
}
