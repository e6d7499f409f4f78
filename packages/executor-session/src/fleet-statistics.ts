/** The statistics of queries over all executors. */

import type {
  DurationCounts,
  QueryFigures,
  QueryStatistics,
  ReadStatisticsResponse,
} from '@datahub/proto/executor/v1/executor';
import { sumCounts } from './duration-buckets.ts';

export interface FleetStatistics {
  /** Sums over the executors that answered. */
  queries: QueryStatistics[];
  executors: (Pick<ReadStatisticsResponse, 'since' | 'dropped'> & { name: string })[];
  /** The names of the executors that did not answer in time. */
  missing: string[];
}

/** Adds up what each executor answered; undefined for one that did not answer. */
export function mergeStatistics(
  answers: ReadonlyMap<string, ReadStatisticsResponse | undefined>,
): FleetStatistics {
  const merged: FleetStatistics = { queries: [], executors: [], missing: [] };
  const byQuery = new Map<string, QueryStatistics[]>();
  for (const [name, answer] of answers) {
    if (answer === undefined) {
      merged.missing.push(name);
      continue;
    }
    const { since, dropped } = answer;
    merged.executors.push({ name, since, dropped });
    for (const query of answer.queries)
      byQuery.set(query.queryId, [...(byQuery.get(query.queryId) ?? []), query]);
  }
  for (const [queryId, parts] of byQuery) merged.queries.push(sumStatistics(queryId, parts));
  return merged;
}

function sumStatistics(queryId: string, parts: readonly QueryStatistics[]): QueryStatistics {
  if (parts.length === 1) return parts[0] as QueryStatistics;
  const windows = parts.flatMap((part) => part.windows);
  const versions = parts.flatMap((part) => part.versions);
  return {
    queryId,
    sinceStart: sumOf(parts, 'sinceStart'),
    lastHour: sumOf(parts, 'lastHour'),
    windows: sumBy(windows, ({ start }) => start).map(([start, figures]) => ({ start, figures })),
    versions: sumBy(versions, (version) => version.versionNumber).map(([versionNumber, figures]) => ({
      versionNumber,
      figures,
    })),
  };
}

/** The sum for each key, in the order of the keys. */
function sumBy<Part extends { figures?: QueryFigures | undefined }, Key extends string | number>(
  parts: readonly Part[],
  keyOf: (part: Part) => Key,
): [Key, QueryFigures][] {
  const byKey = Map.groupBy(parts, keyOf);
  return [...byKey]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, all]) => [key, sumFigures(all.map(({ figures }) => figures))]);
}

const sumOf = (parts: readonly QueryStatistics[], span: 'sinceStart' | 'lastHour') =>
  parts[0]?.[span] === undefined ? undefined : sumFigures(parts.map((part) => part[span]));

/** The figures of no call if `given` is empty. */
export function sumFigures(given: readonly (QueryFigures | undefined)[]): QueryFigures {
  const all = given.filter((figures) => figures !== undefined);
  const sum = (name: 'calls' | 'consoleCalls' | 'cacheHits' | 'rows' | 'bytes') =>
    all.reduce((total, figures) => total + figures[name], 0);
  const durations = (name: 'queue' | 'database' | 'total'): DurationCounts | undefined => {
    const given = all.map((figures) => figures[name]).filter((counts) => counts !== undefined);
    return given.length === 0 ? undefined : sumCounts(given);
  };
  const errors = new Map<string, number>();
  for (const { code, calls } of all.flatMap((figures) => figures.errors))
    errors.set(code, (errors.get(code) ?? 0) + calls);
  return {
    calls: sum('calls'),
    consoleCalls: sum('consoleCalls'),
    cacheHits: sum('cacheHits'),
    rows: sum('rows'),
    bytes: sum('bytes'),
    errors: [...errors].map(([code, calls]) => ({ code, calls })),
    queue: durations('queue'),
    database: durations('database'),
    total: durations('total'),
  };
}
