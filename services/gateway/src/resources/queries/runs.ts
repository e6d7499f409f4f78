/** The recorded runs of a query. */

import { runForms } from '@datahub/contract/query-runs';
import type { QueryRun } from '@datahub/proto/catalog/v1/catalog';
import {
  count,
  type FromSchema,
  list,
  orNull,
  record,
  text,
  textOrNull,
  time,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readChoice, readFlag } from '../../http/query-params.ts';
import { type Handler, paged, type Route } from '../../http/route.ts';
import { JsonText } from '../../response/json-splices.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { queryIdOf } from './queries.ts';

export function queryRunRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/queries/:queryId/runs', scope: 'queries:execute', summary: 'List the runs of a query, newest first', query: [...paged, 'outcome', 'own'], response: queryRuns, handler: createRunsHandler(deps) },
  ];
}

const paging = { limitDefault: 50, limitMax: 500 };
export const queryRunOutcomes = ['ok', 'failed'] as const;

const milliseconds = orNull({ type: 'number' } as const);
const queryRun = record({
  runId: text,
  at: time,
  keyId: text,
  keyName: textOrNull,
  user: textOrNull,
  version: count,
  form: { type: 'string', enum: runForms },
  outcome: { type: 'string', enum: queryRunOutcomes },
  code: textOrNull,
  rows: count,
  cached: { type: 'boolean' },
  dryRun: { type: 'boolean' },
  queueMs: milliseconds,
  databaseMs: milliseconds,
  totalMs: milliseconds,
  values: orNull({ type: 'object' } as const),
});
export const queryRuns = list(queryRun);
type QueryRunJson = FromSchema<typeof queryRun>;

function createRunsHandler({ upstreams: { catalog }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    const page = readPage(request, paging);
    const outcome = readChoice(request, 'outcome', queryRunOutcomes);
    const filter = {
      queryId: queryIdOf(request),
      failed: outcome === undefined ? undefined : outcome === 'failed',
      own: readFlag(request, 'own'),
    };
    const { runs: items, total } = await catalog.listQueryRuns({ ...filter, ...page }, request.context);
    return sendList(reply, { items, toJson: toRunJson, page, total }, settings);
  };
}

const toRunJson = (run: QueryRun): QueryRunJson => ({
  runId: run.runId,
  at: toTimestamp(run.at) as string,
  keyId: run.keyId,
  keyName: run.keyName ?? null,
  user: run.user ?? null,
  version: run.version,
  form: run.form as QueryRunJson['form'],
  outcome: run.code === undefined ? 'ok' : 'failed',
  code: run.code ?? null,
  rows: run.rows,
  cached: run.cached,
  dryRun: run.dryRun,
  queueMs: rounded(run.queueMs),
  databaseMs: rounded(run.databaseMs),
  totalMs: rounded(run.totalMs),
  values: JsonText.ofStored<Record<string, unknown>>(run.valuesJson) ?? null,
});

const rounded = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.round(ms * 1_000) / 1_000;
