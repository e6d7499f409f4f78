/** Executes several stored queries that read: `POST /v1/queries/data`. */

import { elementsOf, membersOf } from '@datahub/contract/json-text';
import { boardLimits } from '@datahub/contract/limits';
import {
  type ExecuteRequest,
  Format,
  type FormValue,
  type QueryPath,
} from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield, nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { exactMember } from '../../http/json-body.ts';
import { count, type FromSchema, id, list, object, queryPath, record, text } from '../../http/json-schema.ts';
import { isFromConsole } from '../../http/request-context.ts';
import { validationError } from '../../http/request-error.ts';
import type { Handler, Route } from '../../http/route.ts';
import { readCacheRequest } from '../../response/cache-headers.ts';
import { chooseLines } from '../../response/format.ts';
import { SeveralAnswers } from '../../response/several-answers.ts';
import { cutters } from '../../response/streamed-response.ts';
import { toText } from '../../rows/row-reader.ts';
import { executeInto, stoppable } from '../../rows/stoppable.ts';
import { isRefused } from '../../telemetry/usage-counter.ts';
import { values } from '../boards.ts';
import { execution, runOptions, toOptions, toRetryableIfLost } from '../execute.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function severalReadsRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries/data', scope: 'queries:execute', summary: 'Execute several queries that read', audit: 'query.execute', body: severalBody, reads: true, compressed: true, response: severalAnswers, handler: createHandler(deps) },
  ];
}

const { maxRows, numbers, meta } = runOptions;
const version = { type: 'integer', minimum: 1, maximum: 4_294_967_295 } as const;

/** Has either `queryId`, or `hubId` and `path`. */
const one = object({
  queryId: id,
  hubId: id,
  path: queryPath,
  values,
  options: object({ maxRows, numbers, meta, version }),
});
type One = FromSchema<typeof one>;

export const severalBody = object(
  { executions: { type: 'array', minItems: 1, maxItems: boardLimits.cards.max, items: one } as const },
  ['executions'],
);

const answer = record(
  {
    index: count,
    status: count,
    headers: { type: 'object', additionalProperties: text },
    limit: { type: 'string', enum: cutters },
    body: { anyOf: [execution, { $ref: '#/components/schemas/Problem' }] },
  },
  ['limit'],
);
/** The answer in `application/json`. In NDJSON, each line is one of the answers. */
export const severalAnswers = record({ executions: list(answer) });

/** One call takes no more of the connections of its sources than a page in a browser would. */
const runningMax = 6;

function createHandler(deps: ResourceDeps): Handler {
  const { settings } = deps;
  return async (request, reply) => {
    const { executions } = request.body as FromSchema<typeof severalBody>;
    requireNames(executions);
    const exact = exactTexts(request);
    request.executed = new Set();
    const format = chooseLines(request.headers.accept);
    const refusals = await takeRates(executions.length, { request, reply, settings });
    const answers = new SeveralAnswers(request, reply, { settings, format });
    // Large bodies take a turn to be checked.
    await nextTurn();
    const waiting = executions.entries();
    const endOfTurn = createLoopYield();
    const work = async () => {
      for (const [i, asked] of waiting) {
        await endOfTurn();
        if (reply.raw.destroyed) return;
        const refusal = refusals.get(i) ?? (await request.context.requireCaller().catch((err) => err));
        if (refusal === undefined)
          await run(i, toAsked(asked, exact?.[i], request), { request, answers, deps });
        else await answers.fail(i, refusal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(runningMax, executions.length) }, work));
    return answers.finish();
  };
}

/** The query of an execution, and what is sent to the executor with it. */
interface Asked extends Omit<ExecuteRequest, 'queryId' | 'path'> {
  named: string | QueryPath;
}

/** Throws VALIDATION for an execution that does not name one query. */
function requireNames(executions: readonly One[]): void {
  const faults = executions.flatMap(({ queryId, hubId, path }, i) =>
    [queryId, hubId ?? path].filter((name) => name !== undefined).length === 1 &&
    (hubId === undefined) === (path === undefined)
      ? []
      : [{ pointer: `/executions/${i}`, detail: 'must have queryId, or hubId and path' }],
  );
  if (faults.length > 0) throw validationError(faults);
}

/** The executions with all digits of their numbers, if the body has such. */
function exactTexts({ parsed }: FastifyRequest): string[] | undefined {
  const exact = parsed?.exactText === undefined ? undefined : exactMember(parsed, ['executions']);
  return exact === undefined ? undefined : elementsOf(exact);
}

function toAsked(
  { queryId, hubId = '', path = '', values, options = {} }: One,
  exact: string | undefined,
  request: FastifyRequest,
): Asked {
  const given = exact === undefined ? JSON.stringify(values) : membersOf(exact).get('values');
  return {
    named: queryId ?? { hub: hubId, path },
    contextJson: '',
    options: toOptions(options),
    format: Format.FORMAT_JSON,
    form: { values: given === undefined ? [] : toForm(given), checkOnly: false },
    cache: readCacheRequest(request, undefined),
    fromConsole: isFromConsole(request) || undefined,
  };
}

/** The values as an address would have them, but lists as they are: an empty one is a value, too. */
const toForm = (json: string): FormValue[] =>
  [...membersOf(json)].map(([name, value]) =>
    value.startsWith('[') ? { name, value: '', listJson: value } : { name, value: toText(value) ?? '' },
  );

/** The request itself was counted when it came. Returns why each of the others is refused. */
async function takeRates(
  executions: number,
  {
    request,
    reply,
    settings,
  }: { request: FastifyRequest; reply: FastifyReply } & Pick<ResourceDeps, 'settings'>,
): Promise<Map<number, unknown>> {
  const refusals = new Map<number, unknown>();
  for (let i = 1; i < executions; i++)
    await settings.admit(request, reply).catch((err) => refusals.set(i, err));
  return refusals;
}

interface RunOptions {
  request: FastifyRequest;
  answers: SeveralAnswers;
  deps: ResourceDeps;
}

async function run(
  i: number,
  { named, ...execution }: Asked,
  { request, answers, deps: { settings, upstreams } }: RunOptions,
): Promise<void> {
  const { ctx, stop } = stoppable(request.context);
  const done = { queryId: '', failed: true };
  const held = answers.hold({ stop, maxRows: execution.options?.maxRows });
  try {
    await settings.targets.runOne(named, request, async (target) => {
      done.queryId = target.queryId;
      request.executed?.add(done);
      const { executor } = upstreams;
      await executeInto(held, { executor, execution: { ...execution, ...target }, ctx });
    });
  } catch (err) {
    const failure = toRetryableIfLost(err);
    if (failure instanceof HubError && isRefused(failure)) request.executed?.delete(done);
    return answers.fail(i, failure, held);
  }
  done.failed = false;
  await answers.send(i, held);
}
