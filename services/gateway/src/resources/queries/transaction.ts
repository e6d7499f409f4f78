/** Runs several stored queries of one source in one transaction: `POST /v1/queries/transaction`. */

import { elementsOf, membersOf } from '@datahub/contract/json-text';
import { transactionBounds as bounds, isolations } from '@datahub/contract/transactions';
import { type ExecuteRequest, Format, type Step } from '@datahub/proto/executor/v1/executor';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { operationToNote } from '../../http/idempotency.ts';
import { exactMember } from '../../http/json-body.ts';
import { count, type FromSchema, id, list, object, queryPath, record, text } from '../../http/json-schema.ts';
import type { QueryTarget } from '../../http/query-targets.ts';
import { validationError } from '../../http/request-error.ts';
import type { Handler, Route } from '../../http/route.ts';
import { chooseFormat } from '../../response/format.ts';
import { StreamedResponse } from '../../response/streamed-response.ts';
import { execution, runOptions, toOptions } from '../execute.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { references, stepName } from './statement-schemas.ts';

export function transactionRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/transaction', scope: 'queries:execute', summary: 'Execute several queries in one transaction', audit: 'query.transaction', body: transactionBody, compressed: true, response: transacted, handler: createTransactionHandler(deps) },
  ];
}

const { maxRows, maxAffected, numbers, strict, timeoutMs, dryRun } = runOptions;
const version = { type: 'integer', minimum: 1, maximum: 4_294_967_295 } as const;

/** Has either `queryId`, or `hubId` and `path`. */
const step = object({
  queryId: id,
  hubId: id,
  path: queryPath,
  context: { type: ['object', 'null'] },
  options: object({ maxRows, maxAffected, numbers, strict, version, expectRows: maxAffected }),
  as: stepName,
  references,
});
const steps = { type: 'array', minItems: bounds.steps.min, maxItems: bounds.steps.max, items: step } as const;

export const transactionBody = object(
  {
    steps,
    isolation: { type: 'string', enum: isolations },
    retry: { type: 'boolean' },
    options: object({ timeoutMs, dryRun }),
  },
  ['steps'],
);
type TransactionBody = FromSchema<typeof transactionBody>;
type StepBody = TransactionBody['steps'][number];

const { data, truncated } = execution.properties;
export const transacted = record({
  steps: list(record({ as: text, data, truncated }, ['as', 'truncated'])),
  meta: record({ attempts: count, recovered: { const: true } }, ['recovered']),
});

const jsonFormat = chooseFormat(undefined);

function createTransactionHandler({ upstreams: { executor }, settings }: ResourceDeps): Handler {
  return async (request, reply) => {
    const body = request.body as TransactionBody;
    await takeRates(body.steps.length, { request, reply, settings });
    const response = new StreamedResponse(request, reply, { settings, format: jsonFormat });
    const run = async (fresh: boolean) => {
      const targets = await resolveSteps(body.steps, { request, settings, fresh });
      request.steps = targets.map(({ queryId }) => queryId);
      await executor.execute(toCall(request, body, targets), request.context, response);
    };
    try {
      await run(false).catch((err) => {
        // Nothing ran. A path may belong to another query by now.
        const isNamed = body.steps.some(({ path }) => path !== undefined);
        if (isNamed && err instanceof HubError && ['NOT_FOUND', 'SOURCE_GONE'].includes(err.code))
          return run(true);
        throw err;
      });
    } catch (err) {
      return response.fail(err instanceof HubError && err.lost ? outcomeUnknown(err) : err);
    }
    return response.finish();
  };
}

/** The request itself was counted when it came. */
async function takeRates(
  steps: number,
  {
    request,
    reply,
    settings,
  }: { request: FastifyRequest; reply: FastifyReply; settings: ResourceDeps['settings'] },
): Promise<void> {
  for (let i = 1; i < steps; i++) await settings.admit(request, reply);
}

async function resolveSteps(
  all: readonly StepBody[],
  {
    request,
    settings,
    fresh,
  }: { request: FastifyRequest; settings: ResourceDeps['settings']; fresh: boolean },
): Promise<QueryTarget[]> {
  const targets: QueryTarget[] = [];
  for (const [i, { queryId, hubId, path }] of all.entries()) {
    if ((queryId === undefined) === (hubId === undefined || path === undefined))
      throw validationError([{ pointer: `/steps/${i}`, detail: 'must have queryId, or hubId and path' }]);
    const target =
      queryId === undefined
        ? settings.targets.find({ hub: hubId as string, path: path as string }, request, fresh)
        : { queryId };
    targets.push(await target);
  }
  return targets;
}

function toCall(
  request: FastifyRequest,
  body: TransactionBody,
  targets: readonly QueryTarget[],
): ExecuteRequest {
  const { isolation, retry = false, options = {} } = body;
  const contexts = contextsOf(request);
  return {
    queryId: '',
    contextJson: '',
    options: toOptions(options),
    format: Format.FORMAT_JSON,
    operation: operationToNote(request, jsonFormat),
    transaction: {
      isolation,
      retry,
      steps: body.steps.map((one, i) => toStep(one, targets[i] as QueryTarget, contexts?.[i])),
    },
  };
}

function toStep(
  { context, options, as, references = {} }: StepBody,
  { queryId, path }: QueryTarget,
  exact: string | undefined,
): Step {
  const { expectRows, ...rest } = options ?? {};
  return {
    queryId,
    path,
    contextJson: context === undefined || context === null ? '' : (exact ?? JSON.stringify(context)),
    options: options && toOptions(rest),
    expectRows,
    as,
    references: Object.entries(references).map(([variable, { from, pointer }]) => ({
      variable,
      from,
      pointer,
    })),
  };
}

/** The contexts of the steps with all digits of their numbers, if the body has such. */
function contextsOf({ parsed }: FastifyRequest): (string | undefined)[] | undefined {
  const exact = parsed?.exactText === undefined ? undefined : exactMember(parsed, ['steps']);
  return exact === undefined ? undefined : elementsOf(exact).map((one) => membersOf(one).get('context'));
}
