/** Executes a stored query over POST, and a query that reads over GET. */

import { isReadingCommand, ranAsItIs } from '@datahub/contract/commands';
import { csvDecimals, csvDelimiters } from '@datahub/contract/formats';
import { numbersForms } from '@datahub/contract/numbers';
import { toProtoCsv } from '@datahub/executor-session/formats';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { operationToNote } from '../http/idempotency.ts';
import { contextJson } from '../http/json-body.ts';
import { count, type FromSchema, id, list, object, queryPath, record, text } from '../http/json-schema.ts';
import { dataOptions, readDataQuery } from '../http/query-form.ts';
import { isFromConsole } from '../http/request-context.ts';
import type { FieldPointers } from '../http/request-error.ts';
import { anyParameter, type Handler, type Route } from '../http/route.ts';
import { readCacheRequest } from '../response/cache-headers.ts';
import { addVary } from '../response/compression.ts';
import { chooseFormat } from '../response/format.ts';
import { StreamedResponse } from '../response/streamed-response.ts';
import type { Upstreams } from '../upstreams.ts';
import { annotateOption, executeAnnotated } from './annotate.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function executionRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/execute', reference: true, scope: 'queries:execute', summary: 'Execute a query', audit: 'query.execute', body: executeBody, executes: true, compressed: true, response: execution, handler: createExecuteHandler(deps) },
    { method: 'GET', path: '/v1/queries/:queryId/data', scope: 'queries:execute', summary: 'Execute a query that reads', audit: 'query.execute', query: [...dataOptions, anyParameter], executes: true, pointers: dataPointers, compressed: true, response: execution, handler: createDataHandler(deps) },
    { method: 'GET', path: '/v1/hubs/:hubId/data/*', scope: 'queries:execute', summary: 'Execute a query that reads, by its path', audit: 'query.execute', query: [...dataOptions, anyParameter], executes: true, pointers: dataPointers, compressed: true, response: execution, handler: createDataHandler(deps) },
  ];
}

/** The options of a query that is stored, and of one that is not. */
export const runOptions = {
  timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
  maxRows: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
  maxAffected: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
  dryRun: { type: 'boolean' },
  meta: { type: 'boolean' },
  numbers: { type: 'string', enum: numbersForms },
  strict: { type: 'boolean' },
  ending: { type: 'boolean' },
  csv: object({
    bom: { type: 'boolean' },
    delimiter: { type: 'string', enum: csvDelimiters },
    decimal: { type: 'string', enum: csvDecimals },
  }),
} as const;

/** Has either `queryId`, or `hubId` and `path`. */
export const executeBody = object({
  queryId: id,
  hubId: id,
  path: queryPath,
  context: { type: ['object', 'null'] },
  options: object({
    ...runOptions,
    results: { type: 'string', enum: ['first', 'all'] },
    version: { type: 'integer', minimum: 1, maximum: 4_294_967_295 },
    reads: { type: 'boolean' },
    annotate: annotateOption,
  }),
});

type ExecuteBody = FromSchema<typeof executeBody>;

const columns = list(record({ name: text, type: text }));
const figures = {
  rowCount: count,
  durationMs: { type: 'number' },
  queueMs: { type: 'number' },
} as const;
const recovered = {
  const: true,
  description: 'The answer to COMMIT was lost, and the source said later that it has committed.',
} as const;

/** The answer in `application/json`. The other formats contain only the rows. */
export const execution = record(
  {
    data: list({ type: 'object' }),
    truncated: { const: true },
    moreResults: { const: true, description: 'The procedure returned further results.' },
    meta: record({ columns, ...figures, recovered }, ['recovered']),
  },
  ['truncated', 'moreResults', 'meta'],
);

/** The answer with the option `results: "all"`. */
export const allResults = record(
  {
    results: list(record({ columns, rows: list({ type: 'object' }) })),
    truncated: { const: true },
    meta: record({ ...figures, recovered }, ['recovered']),
  },
  ['truncated', 'meta'],
);

/** What the option `ending` needs to know of the request. */
export const endingOf = ({ ending, maxRows }: { ending?: boolean; maxRows?: number } = {}) =>
  ending ? { maxRows } : undefined;

const noOptions = { dryRun: false, meta: false, numbersAsStrings: false };

function createExecuteHandler({ upstreams, settings }: ResourceDeps): Handler {
  const { executor, catalog } = upstreams;
  return async (request, reply) => {
    const body = request.body as ExecuteBody;
    const format = chooseFormat(request.headers.accept);
    const ending = endingOf(body.options);
    const response = new StreamedResponse(request, reply, { settings, format, ending });
    const execution = {
      contextJson: contextJson(request, body),
      options: body.options === undefined ? noOptions : toOptions(body.options),
      format: format.format,
      cache: readCacheRequest(request, undefined),
      fromConsole: isFromConsole(request) || undefined,
      onlyReads: body.options?.reads,
      findsCommit: request.operationId !== undefined || undefined,
      operation: operationToNote(request, { ...format, isPlain: ending === undefined }),
    };
    const annotate = body.options?.annotate;
    try {
      await settings.targets.run(request, (target) => {
        const named = { ...execution, ...target };
        return annotate === undefined
          ? executor.execute(named, request.context, response)
          : executeAnnotated(named, { annotate, request, response, upstreams });
      });
    } catch (err) {
      return response.fail(await toOutcome(err, request, catalog));
    }
    return response.finish();
  };
}

/** `GET /v1/queries/:queryId/data` and `/v1/hubs/:hubId/data/<path>`, and HEAD, which makes the same checks but runs no query. */
function createDataHandler({ upstreams: { executor }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    const { values, options } = readDataQuery(request);
    const format = chooseFormat(request.headers.accept);
    const ending = endingOf(options);
    const response = new StreamedResponse(request, reply, { settings, format, ending });
    const checkOnly = request.method === 'HEAD';
    const execution = {
      contextJson: '',
      options: toOptions(options),
      format: format.format,
      form: { values, checkOnly },
      // A line cannot be added to an answer that the cache holds compressed.
      cache: readCacheRequest(request, ending ? undefined : settings.compression.codingOf(request), ending),
      fromConsole: isFromConsole(request) || undefined,
    };
    addVary(reply, 'accept');
    try {
      await settings.targets.run(request, (target) =>
        executor.execute({ ...execution, ...target }, request.context, response),
      );
    } catch (err) {
      return response.fail(toRetryableIfLost(err));
    }
    return checkOnly ? response.headers() : response.finish();
  };
}

/** In GET, variables are parameters of the query string, without a common `context`. */
export const dataPointers = (): FieldPointers => ({ context: 'query' });

const lookUpTimeoutMs = 5_000;

/**
 * A client may repeat an execution whose answer was lost only if the query reads. The upstream knows this of a query
 * that it has run before. Of others, this looks up the command, which tells nothing if the query was changed lately.
 */
export async function toOutcome(err: unknown, request: FastifyRequest, catalog: Upstreams['catalog']) {
  if (!(err instanceof HubError) || err.lost !== true) return err;
  const { target, context } = request;
  const { queryId = '' } = target ?? {};
  const { principal, requestId, traceparent } = context;
  // The deadline of the request may have passed.
  const ctx = createCallContext({
    timeoutMs: lookUpTimeoutMs,
    requestId,
    principal,
  });
  const found = await catalog
    .getQuery({ queryId, signature: false }, { ...ctx, traceparent })
    .catch(() => undefined);
  const { command = '', updatedAt } = found?.query ?? {};
  const begunAt = Date.now() - (performance.now() - context.startedAt);
  const isSame = ranAsItIs(updatedAt?.getTime(), begunAt);
  return isSame && isReadingCommand(command) ? toRetryable(err) : outcomeUnknown(err);
}

/** For a call that changes nothing. */
export const toRetryableIfLost = (err: unknown): unknown =>
  err instanceof HubError && err.lost === true ? toRetryable(err) : err;

function toRetryable(err: HubError): HubError {
  return new HubError(err.code, err.message, {
    cause: err,
    retryable: err.retryable ?? true,
    retryAfterMs: err.retryAfterMs,
  });
}

export function toOptions({
  numbers,
  dryRun = false,
  meta = false,
  results,
  csv,
  annotate: _annotate,
  ending: _ending,
  ...rest
}: NonNullable<ExecuteBody['options']>) {
  return {
    ...rest,
    dryRun,
    meta,
    numbersAsStrings: numbers === 'string',
    exactNumbers: numbers === 'number' || undefined,
    allResults: results === 'all' || undefined,
    csv: csv && toProtoCsv(csv),
  };
}
