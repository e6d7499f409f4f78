/** Statistics of executions, from the memory of the executors, and the counts of executions by key and day. */

import { isGranted } from '@datahub/contract/scopes';
import type { FleetStatistics } from '@datahub/executor-session/fleet-statistics';
import type { NamedQuery } from '@datahub/proto/catalog/v1/catalog';
import {
  StatisticsRanking_Figure as Figure,
  type QueryFigures,
  type QueryStatistics,
} from '@datahub/proto/executor/v1/executor';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import {
  count,
  day,
  type FromSchema,
  list,
  record,
  signedIn,
  text,
  textOrNull,
  time,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readChoice } from '../../http/query-params.ts';
import type { Handler, Route } from '../../http/route.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { failedOf, fewFigures, figures, percentileOf, percentiles, toFiguresJson } from './figures.ts';
import { queryIdOf } from './queries.ts';

export function statisticsRoutes(deps: ResourceDeps): Route[] {
  const handlers = createStatisticsHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/queries/:queryId/stats', scope: 'queries:read', summary: 'Get the statistics of a query', response: queryStatistics, handler: handlers.one },
    { method: 'GET', path: '/v1/sources/:sourceId/stats', scope: 'sources:read', summary: 'Get the statistics of the queries that were tried on a source', response: sourceStatistics, handler: handlers.ofSource },
    { method: 'GET', path: '/v1/queries/:queryId/usage', largeAnswer: true, scope: 'queries:read', summary: 'Count the executions of a query by key and day', response: queryUsage, handler: handlers.usage },
    { method: 'GET', path: '/v1/stats', scope: 'queries:read', summary: 'List the slowest or most failing queries', query: statisticsParameters, largeAnswer: true, response: statisticsList, handler: handlers.ranked },
  ];
}

const spans = { sinceStart: figures, lastHour: figures };
const fleet = {
  executors: list(record({ name: text, since: time, dropped: count })),
  missing: list(text),
};
export const queryStatistics = record({
  queryId: text,
  ...spans,
  /** The last hour, in windows of five minutes. */
  windows: list(record({ start: time, ...fewFigures })),
  versions: list(record({ version: count, cacheHits: count, databaseMs: percentiles, ...fewFigures })),
  ...fleet,
});
/** Of the queries that were tried on the source, which are not stored. */
const sourceStatistics = record({ sourceId: text, ...spans, ...fleet });

export const statisticsSorts = ['p99', 'errors', 'rows'] as const;
export const statisticsWindows = ['lastHour', 'sinceStart'] as const;
type Sort = (typeof statisticsSorts)[number];
export const statisticsParameters = ['sort', 'window', 'limit'];
export const statisticsList = record({
  sort: { type: 'string', enum: statisticsSorts },
  window: { type: 'string', enum: statisticsWindows },
  queries: list(record({ queryId: text, hubId: text, label: text, ...spans })),
  ...fleet,
});

const counts = { count, failed: count };
export const queryUsage = record({
  queryId: text,
  from: day,
  to: day,
  ...counts,
  users: signedIn,
  totalKeys: count,
  keys: list(
    record(
      {
        keyId: text,
        name: textOrNull,
        ...counts,
        users: signedIn,
        days: list(record({ day, ...counts })),
      },
      ['name'],
    ),
  ),
});

type StatisticsListJson = FromSchema<typeof statisticsList>;

const figureOf = {
  p99: Figure.FIGURE_TOTAL,
  errors: Figure.FIGURE_ERRORS,
  rows: Figure.FIGURE_ROWS,
} as const satisfies Record<Sort, unknown>;

const paging = { limitDefault: 20, limitMax: 100 };

function createStatisticsHandlers({ upstreams: { catalog, executor } }: ResourceDeps) {
  const one: Handler = async (request) => {
    const queryId = queryIdOf(request);
    // The catalog refuses queries that do not exist, or that the key may not use.
    const [, fleet] = await Promise.all([
      catalog.getQuery({ queryId, signature: false }, request.context),
      executor.readStatistics({ queryIds: [queryId] }, request.context),
    ]);
    const [counted] = fleet.queries;
    return { queryId, ...toSpansJson(counted), ...toPartsJson(counted), ...toFleetJson(fleet) };
  };

  const ofSource: Handler = async (request) => {
    const { sourceId } = request.params as { sourceId: string };
    const [, fleet] = await Promise.all([
      catalog.getSource({ sourceId }, request.context),
      executor.readStatistics({ queryIds: [sourceId] }, request.context),
    ]);
    return { sourceId, ...toSpansJson(fleet.queries[0]), ...toFleetJson(fleet) };
  };

  const ranked: Handler = async (request) => {
    const sort = readChoice(request, 'sort', statisticsSorts) ?? 'p99';
    const window = readChoice(request, 'window', statisticsWindows) ?? 'lastHour';
    const { limit = 0 } = readPage(request, paging);
    const ranking = { figure: figureOf[sort], lastHour: window === 'lastHour' };
    const fleet = await executor.readStatistics({ queryIds: [], ranking }, request.context);
    await nextTurn();
    const candidates = rank(fleet.queries, sort, window);
    const shown: NamedQuery[] = [];
    // Executors may still count queries that were deleted, so more are named than are asked for.
    for (let at = 0; at < candidates.length && shown.length < limit; at += paging.limitMax) {
      const queryIds = candidates.slice(at, at + paging.limitMax).map(({ queryId }) => queryId);
      const { queries } = await catalog.nameQueries({ queryIds }, request.context);
      shown.push(...queries.slice(0, limit - shown.length));
    }
    const queryIds = shown.map(({ queryId }) => queryId);
    const whole =
      queryIds.length === 0 ? fleet : await executor.readStatistics({ queryIds }, request.context);
    await nextTurn();
    const byId = new Map(whole.queries.map((query) => [query.queryId, query]));
    const missing = [...new Set([...fleet.missing, ...whole.missing])].sort();
    const queries = shown.map(({ queryId, hubId, label }) => ({
      queryId,
      hubId,
      label,
      ...toSpansJson(byId.get(queryId)),
    }));
    const executors = fleet.executors.filter(({ name }) => !missing.includes(name));
    return { sort, window, queries, executors, missing } satisfies StatisticsListJson;
  };

  const usage: Handler = async (request) => {
    const queryId = queryIdOf(request);
    const { keys, ...counted } = await catalog.getQueryUsage({ queryId }, request.context);
    const isNamed = isGranted(request.context.principal?.scopes ?? [], 'keys:read');
    return {
      queryId,
      ...counted,
      keys: keys.map(({ name, ...key }) => (isNamed ? { ...key, name: name ?? null } : key)),
    };
  };
  return { one, ofSource, ranked, usage };
}

/** Leaves out queries without calls in the window, and for `errors` those without errors. */
function rank(
  queries: readonly QueryStatistics[],
  sort: Sort,
  window: (typeof statisticsWindows)[number],
): QueryStatistics[] {
  const measure: Record<Sort, (figures: QueryFigures) => number> = {
    p99: ({ total }) => percentileOf(total, 0.99) ?? 0,
    errors: failedOf,
    rows: ({ rows }) => rows,
  };
  return queries
    .flatMap((query) => {
      const figures = query[window];
      return figures === undefined || figures.calls === 0
        ? []
        : [{ query, calls: figures.calls, value: measure[sort](figures) }];
    })
    .filter(({ value }) => sort !== 'errors' || value > 0)
    .sort((a, b) => b.value - a.value || b.calls - a.calls || (a.query.queryId < b.query.queryId ? -1 : 1))
    .map(({ query }) => query);
}

const toSpansJson = (query: QueryStatistics | undefined) => ({
  sinceStart: toFiguresJson(query?.sinceStart),
  lastHour: toFiguresJson(query?.lastHour),
});

const toPartsJson = (query: QueryStatistics | undefined) => ({
  windows: (query?.windows ?? []).map(({ start, figures }) => {
    const { count, failed, totalMs } = toFiguresJson(figures);
    return { start, count, failed, totalMs };
  }),
  versions: (query?.versions ?? []).map(({ versionNumber, figures }) => {
    const { count, failed, cacheHits, databaseMs, totalMs } = toFiguresJson(figures);
    return { version: versionNumber, count, failed, cacheHits, databaseMs, totalMs };
  }),
});

const toFleetJson = ({ executors, missing }: FleetStatistics) => ({ executors, missing });
