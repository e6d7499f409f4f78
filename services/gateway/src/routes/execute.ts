/** Executes a stored query over POST, and a query that reads over GET. */

import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { readCacheRequest } from '../answers/cache-headers.ts';
import { addVary } from '../answers/compression.ts';
import { chooseFormat } from '../answers/format.ts';
import { type AnswerSettings, StreamedAnswer } from '../answers/streamed-answer.ts';
import { contextJson } from '../http/exact-json.ts';
import { answer, count, type FromSchema, id, list, object, text } from '../http/json-schema.ts';
import { readDataQuery } from '../http/query-form.ts';
import type { Handler } from '../http/request-context.ts';
import type { FieldPointers } from '../http/request-error.ts';
import type { Upstreams } from '../upstreams.ts';
import { annotateOption, executeAnnotated } from './annotate.ts';

export const executeBody = object(
  {
    queryId: id,
    context: { type: ['object', 'null'] },
    options: object({
      timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
      maxRows: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      maxAffected: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      dryRun: { type: 'boolean' },
      meta: { type: 'boolean' },
      numbers: { type: 'string', enum: ['auto', 'string'] },
      strict: { type: 'boolean' },
      annotate: annotateOption,
    }),
  },
  ['queryId'],
);

type ExecuteBody = FromSchema<typeof executeBody>;

/** The answer in `application/json`. The other formats contain only the rows. */
export const execution = answer(
  {
    data: list({ type: 'object' }),
    truncated: { const: true },
    meta: answer({
      columns: list(answer({ name: text, type: text })),
      rowCount: count,
      durationMs: { type: 'number' },
      queueMs: { type: 'number' },
    }),
  },
  ['truncated', 'meta'],
);

const noOptions = { dryRun: false, meta: false, numbersAsStrings: false };

export function createExecuteHandler(upstreams: Upstreams, settings: AnswerSettings): Handler {
  const { executor, catalog } = upstreams;
  return async (request, reply) => {
    const body = request.body as ExecuteBody;
    const format = chooseFormat(request.headers.accept);
    const answer = new StreamedAnswer(request, reply, { settings, format });
    const execution = {
      queryId: body.queryId,
      contextJson: contextJson(request, body),
      options: body.options === undefined ? noOptions : toOptions(body.options),
      format: format.format,
      cache: readCacheRequest(request, undefined),
    };
    const annotate = body.options?.annotate;
    try {
      if (annotate === undefined) await executor.execute(execution, request.context, answer);
      else await executeAnnotated(execution, { annotate, request, answer, upstreams });
    } catch (err) {
      return answer.fail(await toOutcome(err, request, catalog));
    }
    return answer.finish();
  };
}

/** `GET /v1/queries/:queryId/data`, and HEAD, which makes the same checks but runs no query. */
export function createDataHandler({ executor }: Upstreams, settings: AnswerSettings): Handler {
  return async (request, reply) => {
    const { queryId } = request.params as { queryId: string };
    const { values, options } = readDataQuery(request);
    const format = chooseFormat(request.headers.accept);
    const answer = new StreamedAnswer(request, reply, { settings, format });
    const checkOnly = request.method === 'HEAD';
    const execution = {
      queryId,
      contextJson: '',
      options: toOptions(options),
      format: format.format,
      form: { values, checkOnly },
      cache: readCacheRequest(request, settings.compression.codingOf(request)),
    };
    addVary(reply, 'accept');
    try {
      await executor.execute(execution, request.context, answer);
    } catch (err) {
      return answer.fail(err instanceof HubError && err.lost === true ? toRetryable(err) : err);
    }
    return checkOnly ? answer.headers() : answer.finish();
  };
}

/** In GET, variables are parameters of the query string, without a common `context`. */
export const dataPointers = (): FieldPointers => ({ context: 'query' });

const lookUpTimeoutMs = 1_000;

/** A client may repeat an execution whose answer was lost only if the query reads. So this looks up the command. */
async function toOutcome(err: unknown, request: FastifyRequest, catalog: Upstreams['catalog']) {
  if (!(err instanceof HubError) || err.lost !== true) return err;
  const { queryId } = request.body as ExecuteBody;
  const { principal, requestId, traceparent } = request.context;
  // The deadline of the request may have passed.
  const ctx = createCallContext({
    timeoutMs: lookUpTimeoutMs,
    requestId,
    ...(principal === undefined ? {} : { principal }),
  });
  const found = await catalog
    .getQuery({ queryId, signature: false }, { ...ctx, traceparent })
    .catch(() => undefined);
  return found?.query?.command === 'SELECT' ? toRetryable(err) : outcomeUnknown(err);
}

function toRetryable(err: HubError): HubError {
  return new HubError(err.code, err.message, {
    cause: err,
    retryable: err.retryable ?? true,
    ...(err.retryAfterMs === undefined ? {} : { retryAfterMs: err.retryAfterMs }),
  });
}

function toOptions({
  numbers,
  dryRun = false,
  meta = false,
  annotate: _,
  ...rest
}: NonNullable<ExecuteBody['options']>) {
  return { ...rest, dryRun, meta, numbersAsStrings: numbers === 'string' };
}
