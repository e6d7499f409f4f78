/** The bodies and answers of watches, and their mapping to messages. */

import type { Complete } from '@datahub/contract/complete';
import { queryLimits, watchLimits } from '@datahub/contract/limits';
import { comparisons, missedModes, runOutcomes, watchKinds, watchStates } from '@datahub/contract/watches';
import type { Watch, WatchCondition, WatchRun, WatchSettings } from '@datahub/proto/catalog/v1/watches';
import type { FastifyRequest } from 'fastify';
import { contextJson, exactMember } from '../../http/json-body.ts';
import {
  count,
  createdAtOf,
  type FromSchema,
  id,
  label,
  list,
  object,
  orNull,
  queryPath,
  readOnly,
  record,
  text,
  textOrNull,
  time,
  timeOrNull,
  toTimestamp,
} from '../../http/json-schema.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import { JsonText } from '../../response/json-splices.ts';

const { columnNameLength } = queryLimits;
const column = { type: 'string', minLength: columnNameLength.min, maxLength: columnNameLength.max } as const;
const columns = { type: 'array', maxItems: watchLimits.columns.max, items: column } as const;
const seconds = ({ min, max }: { min: number; max: number }) =>
  ({ type: 'integer', minimum: min, maximum: max }) as const;

/** Either `everyS`, or `cron` and `timeZone`. The catalog checks which, the pattern and the zone. */
const schedule = object({
  everyS: seconds(watchLimits.everySeconds),
  cron: { type: 'string', maxLength: watchLimits.cronLength.max },
  timeZone: { type: 'string', maxLength: watchLimits.timeZoneLength.max },
  spreadS: seconds(watchLimits.spreadSeconds),
  missed: { type: 'string', enum: missedModes },
});

/** A kind, or a condition. */
const when = {
  type: ['string', 'object'],
  description: `${watchKinds.filter((kind) => kind !== 'condition').join(', ')}, or a condition.`,
  additionalProperties: false,
  properties: {
    column,
    is: { type: 'string', enum: comparisons },
    value: { type: ['number', 'string'] },
    forRuns: seconds(watchLimits.forRuns),
  },
  required: ['column', 'is', 'value'],
} as const;

const settings = {
  label,
  path: orNull(queryPath),
  queryId: id,
  context: { type: ['object', 'null'] },
  schedule,
  when,
  by: columns,
  include: columns,
  to: { type: 'array', maxItems: watchLimits.destinations.max, items: id },
  paused: { type: 'boolean' },
} as const;
const hubSets = readOnly(
  'watchId',
  'pausedBecause',
  'keyId',
  'state',
  'running',
  'nextAt',
  'lastRun',
  'createdAt',
  'updatedAt',
);
const needed = ['label', 'queryId', 'schedule', 'when'] as const;
export const watchBody = object({ hubId: id, ...settings, ...hubSets }, ['hubId', ...needed]);
/** A watch stays in its hub. */
export const updateWatchBody = object({ ...settings, ...readOnly('hubId'), ...hubSets }, needed);

const changes = record({ new: count, changed: count, gone: count });
export const run = record({
  runId: text,
  watchId: text,
  hubId: text,
  dueAt: time,
  untilAt: time,
  ticks: count,
  manual: { type: 'boolean' },
  startedAt: timeOrNull,
  endedAt: time,
  outcome: { type: 'string', enum: runOutcomes },
  code: textOrNull,
  detail: textOrNull,
  rows: orNull({ type: 'integer' } as const),
  changes: orNull(changes),
  queryVersion: orNull({ type: 'integer' } as const),
  durationMs: orNull({ type: 'integer' } as const),
  eventId: textOrNull,
  hasRows: { type: 'boolean' },
});
export const runs = list(run);

export const watch = record({
  watchId: text,
  hubId: text,
  label: text,
  path: textOrNull,
  queryId: text,
  context: { type: 'object' },
  schedule: record({ everyS: count, cron: text, timeZone: text, spreadS: count, missed: text }, [
    'everyS',
    'cron',
    'timeZone',
    'spreadS',
  ]),
  when: { type: ['string', 'object'] },
  by: list(text),
  include: list(text),
  to: list(text),
  paused: { type: 'boolean' },
  pausedBecause: textOrNull,
  keyId: text,
  state: { type: 'string', enum: watchStates },
  running: { type: 'boolean' },
  nextAt: timeOrNull,
  lastRun: orNull(run),
  createdAt: time,
  updatedAt: timeOrNull,
});
export const watches = list(watch);

type SettingsBody = Omit<FromSchema<typeof watchBody>, 'hubId'>;
type When = string | { column: string; is: string; value: number | string; forRuns?: number };
type RunJson = FromSchema<typeof run>;
type WatchJson = Omit<FromSchema<typeof watch>, 'when' | 'lastRun'> & { when: When; lastRun: RunJson | null };

/** The catalog names the parts of `when` as a condition. */
export const watchPointers = (): FieldPointers => ({ condition: '/when' });

export function toSettings(request: FastifyRequest): Complete<WatchSettings> {
  const body = request.body as SettingsBody;
  const { everyS, cron, timeZone, spreadS, missed } = body.schedule;
  const condition = toCondition(request, body.when as When);
  const context = contextJson(request, body);
  return {
    label: body.label,
    path: body.path ?? undefined,
    queryId: body.queryId,
    contextJson: context === '' ? '{}' : context,
    schedule: { everyS, cron, timeZone, spreadS, missed },
    when: condition === undefined ? (body.when as string) : 'condition',
    condition,
    by: [...(body.by ?? [])],
    include: [...(body.include ?? [])],
    to: [...(body.to ?? [])],
    paused: body.paused ?? false,
  };
}

function toCondition({ parsed }: FastifyRequest, when: When): Complete<WatchCondition> | undefined {
  if (typeof when === 'string') return undefined;
  const { column, is, value, forRuns } = when;
  const exact = parsed && exactMember(parsed, ['when', 'value']);
  return { column, is, valueJson: exact ?? JSON.stringify(value), forRuns };
}

function toWhen({ when, condition }: WatchSettings): When {
  if (condition === undefined) return when;
  const { column, is, valueJson, forRuns } = condition;
  const value = JsonText.of<number>(valueJson);
  return { column, is, value, ...(forRuns === undefined ? {} : { forRuns }) };
}

export function toWatchJson(watch: Watch): Complete<WatchJson> {
  const settings = watch.settings as WatchSettings;
  const { everyS, cron, timeZone, spreadS, missed = 'skip' } = settings.schedule ?? {};
  return {
    watchId: watch.watchId,
    hubId: watch.hubId,
    label: settings.label,
    path: settings.path ?? null,
    queryId: settings.queryId,
    context: JsonText.of<Record<string, unknown>>(settings.contextJson),
    schedule: { everyS, cron, timeZone, spreadS, missed } as WatchJson['schedule'],
    when: toWhen(settings),
    by: settings.by,
    include: settings.include,
    to: settings.to,
    paused: settings.paused,
    pausedBecause: watch.pausedBecause ?? null,
    keyId: watch.keyId,
    state: watch.state as WatchJson['state'],
    running: watch.running,
    nextAt: toTimestamp(watch.nextAt),
    lastRun: watch.lastRun === undefined ? null : toRunJson(watch.lastRun),
    createdAt: createdAtOf(watch),
    updatedAt: toTimestamp(watch.updatedAt),
  };
}

export function toRunJson(run: WatchRun): Complete<RunJson> {
  return {
    runId: run.runId,
    watchId: run.watchId,
    hubId: run.hubId,
    dueAt: toTimestamp(run.dueAt) as string,
    untilAt: toTimestamp(run.untilAt) as string,
    ticks: run.ticks,
    manual: run.manual,
    startedAt: toTimestamp(run.startedAt),
    endedAt: toTimestamp(run.endedAt) as string,
    outcome: run.outcome as RunJson['outcome'],
    code: run.code ?? null,
    detail: run.detail ?? null,
    rows: run.rows ?? null,
    changes: run.changes ?? null,
    queryVersion: run.queryVersion ?? null,
    durationMs: run.durationMs ?? null,
    eventId: run.eventId ?? null,
    hasRows: run.hasRows,
  };
}
