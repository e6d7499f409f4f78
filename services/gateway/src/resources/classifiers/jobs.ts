/** Jobs that train classifiers from the rows of queries. */

import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { Job, TakenJob } from '@datahub/proto/ml/v1/ml';
import type { CallContext } from '@datahub/service-kit/call/call';
import type { FastifyRequest } from 'fastify';
import { contextJson } from '../../http/json-body.ts';
import {
  count,
  createdAtOf,
  type FromSchema,
  id,
  list,
  nothing,
  object,
  orNull,
  record,
  text,
  time,
  timeOrNull,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { type Fault, validationError } from '../../http/request-error.ts';
import { type Handler, paged, type Route, required, requireGranted } from '../../http/route.ts';
import { unknownMembers } from '../../http/validation.ts';
import { sendList } from '../../response/list-response.ts';
import type { Upstreams } from '../../upstreams.ts';
import type { ResourceDeps } from '../resource-deps.ts';

export function jobRoutes(deps: ResourceDeps): Route[] {
  const handlers = createJobHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/jobs', scope: 'classifiers:train', summary: 'List the jobs, newest first', query: paged, response: jobs, handler: handlers.list },
    { method: 'GET', path: '/v1/jobs/:jobId', scope: 'classifiers:train', summary: 'Get the progress of a job', response: job, handler: handlers.get },
    { method: 'DELETE', path: '/v1/jobs/:jobId', scope: 'classifiers:train', summary: 'Stop a job and delete it', audit: 'job.delete', response: nothing, handler: handlers.remove },
  ];
}

const column = { type: 'string', minLength: 1, maxLength: 128 } as const;
export const trainFromQuery = object(
  { queryId: id, context: { type: ['object', 'null'] }, text: column, label: column, id: column },
  ['queryId', 'text', 'label', 'id'],
);
export const startedJob = record({ jobId: text });
export const job = record({
  jobId: text,
  classifierId: text,
  queryId: text,
  state: { type: 'string', enum: ['queued', 'running', 'done', 'failed'] },
  rows: count,
  trained: count,
  corrected: count,
  skipped: count,
  nullIds: count,
  invalid: count,
  truncated: { type: 'boolean' },
  faults: list(record({ row: count, detail: text })),
  error: orNull(record({ code: text, detail: text })),
  createdAt: time,
  startedAt: timeOrNull,
  endedAt: timeOrNull,
});

export const jobs = list(job);

const paging = { limitDefault: 50, limitMax: 200 };
const contextCharactersMax = 65_536;

function createJobHandlers({ upstreams: { ml }, settings }: ResourceDeps) {
  const jobIdOf = (request: FastifyRequest) => (request.params as { jobId: string }).jobId;
  return {
    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { jobs, total } = await ml.listJobs(page, request.context);
      return sendList(reply, { items: jobs, toJson: toJobJson, page, total }, settings);
    },

    get: async (request) => {
      const { job } = await ml.getJob({ jobId: jobIdOf(request) }, request.context);
      return toJobJson(required(job));
    },

    remove: async (request) => {
      await ml.deleteJob({ jobId: jobIdOf(request) }, request.context);
      return {};
    },
  } satisfies Record<string, Handler>;
}

/** The execution that reads a job's rows. */
export const executionOf = ({ queryId, contextJson }: Pick<TakenJob, 'queryId' | 'contextJson'>) => ({
  queryId,
  contextJson,
  options: { dryRun: false, meta: false, numbersAsStrings: true },
  format: Format.FORMAT_NDJSON,
  onlyReads: true,
});

/** Rejects if the query may not be executed like this. Runs nothing. */
export const checkExecution = (
  { executor }: Pick<Upstreams, 'executor'>,
  execution: ExecuteRequest,
  ctx: CallContext,
): Promise<void> =>
  executor.execute({ ...execution, checkOnly: true }, ctx, { chunk: () => true, onDrain: () => {} });

export type JobStartDeps = Pick<Upstreams, 'ml' | 'executor'> & Pick<ResourceDeps, 'onWork'>;

/** Starts a job. Throws for each fault that can be found before the query runs. */
export async function startJob(
  request: FastifyRequest,
  { ml, executor, onWork }: JobStartDeps,
): Promise<FromSchema<typeof startedJob>> {
  requireJob(request.body as object);
  const { queryId, ...columns } = request.body as FromSchema<typeof trainFromQuery>;
  const context = contextJson(request, request.body as object);
  if (context.length > contextCharactersMax) {
    const detail = `must have at most ${contextCharactersMax} characters`;
    throw validationError([{ pointer: '/context', detail }]);
  }
  requireGranted(request, 'queries:execute');
  const execution = { ...executionOf({ queryId, contextJson: context }), refusesSecrets: true };
  await checkExecution({ executor }, execution, request.context);
  const { classifierId } = request.params as { classifierId: string };
  const { text, label, id } = columns;
  const started = { classifierId, queryId, contextJson: context, columns: { text, label, id } };
  const { jobId } = await ml.startJob(started, request.context);
  onWork?.();
  return { jobId };
}

function requireJob(body: object): void {
  const { properties } = trainFromQuery;
  const faults: Fault[] = unknownMembers(body, Object.keys(properties));
  for (const name of trainFromQuery.required) {
    const value = Object.hasOwn(body, name) ? body[name as keyof typeof body] : undefined;
    const { minLength, maxLength } = properties[name];
    const pointer = `/${name}`;
    if (value === undefined) faults.push({ pointer, detail: 'is missing' });
    else if (typeof value !== 'string') faults.push({ pointer, detail: 'must be a string' });
    else if ((value as string).length < minLength || (value as string).length > maxLength)
      faults.push({ pointer, detail: `must have ${minLength} to ${maxLength} characters` });
  }
  const { context } = body as { context?: unknown };
  if (context !== undefined && (typeof context !== 'object' || Array.isArray(context)))
    faults.push({ pointer: '/context', detail: 'must be an object' });
  if (faults.length > 0) throw validationError(faults);
}

type JobJson = FromSchema<typeof job>;

function toJobJson({ counts, errorCode, errorDetail = '', ...rest }: Job): JobJson {
  const { rows = 0, nullIds = 0, invalid = 0, faults = [], truncated = false } = counts ?? {};
  const { jobId, classifierId, queryId, trained, corrected } = rest;
  return {
    jobId,
    classifierId,
    queryId,
    state: rest.state as JobJson['state'],
    rows,
    trained,
    corrected,
    // `trained` counts all runs of the job, and `rows` only the last one, so the difference can be negative.
    skipped: Math.max(0, rows - nullIds - invalid - trained - corrected),
    nullIds,
    invalid,
    truncated,
    faults,
    error: errorCode === undefined ? null : { code: errorCode, detail: errorDetail },
    createdAt: createdAtOf(rest),
    startedAt: toTimestamp(rest.startedAt),
    endedAt: toTimestamp(rest.endedAt),
  };
}
