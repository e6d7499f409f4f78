/** Converts watches, runs and events to messages. */

import type { Complete } from '@datahub/contract/complete';
import type {
  Event,
  Schedule as ScheduleMessage,
  Watch,
  WatchRun,
  WatchSettings,
} from '@datahub/proto/catalog/v1/watches';
import type { EventDoc } from '../events/documents.ts';
import type { WatchDoc, WatchRunDoc, WatchStateDoc } from './documents.ts';
import { isRunning } from './watch-state.ts';

const toDate = (ms: number | null | undefined) => (ms == null ? undefined : new Date(ms));

export function toSettings(watch: WatchDoc): Complete<WatchSettings> {
  const { label, path, queryId, contextJson, when, condition, by, include, to, paused } = watch;
  const schedule = toSchedule(watch);
  const isPaused = paused === 1;
  return { label, path, queryId, contextJson, schedule, when, condition, by, include, to, paused: isPaused };
}

function toSchedule({ schedule }: WatchDoc): Complete<ScheduleMessage> {
  const { spreadS, missed } = schedule;
  const { cron, timeZone } = 'cron' in schedule ? schedule : {};
  return { everyS: 'everyS' in schedule ? schedule.everyS : undefined, cron, timeZone, spreadS, missed };
}

interface Shown {
  state: WatchStateDoc | null;
  lastRun: WatchRunDoc | null;
}

export function toWatch(watch: WatchDoc, { state, lastRun }: Shown): Complete<Watch> {
  return {
    watchId: watch.id,
    hubId: watch.hubId,
    settings: toSettings(watch),
    pausedBecause: watch.pausedBecause,
    keyId: watch.keyId,
    createdAt: toDate(watch.createdAt),
    updatedAt: toDate(watch.updatedAt),
    version: watch.version,
    nextAt: toDate(watch.paused ? null : state?.tick),
    state: stateOf(state),
    lastRun: lastRun === null ? undefined : toRun(lastRun),
    running: isRunning(state),
  };
}

function stateOf(state: WatchStateDoc | null): string {
  if (state?.isFailing) return 'failing';
  if (state?.lastRunId === undefined) return 'unknown';
  return state.level ?? 'ok';
}

export function toRun(run: WatchRunDoc): Complete<WatchRun> {
  return {
    runId: run.id,
    watchId: run.watchId,
    hubId: run.hubId,
    dueAt: toDate(run.dueAt),
    startedAt: toDate(run.startedAt),
    endedAt: toDate(run.endedAt),
    outcome: run.outcome,
    code: run.code,
    detail: run.detail,
    rows: run.rows,
    changes: run.changes,
    queryVersion: run.queryVersion,
    durationMs: run.durationMs,
    ticks: run.ticks,
    untilAt: toDate(run.untilAt),
    manual: run.manual,
    eventId: run.eventId,
    hasRows: run.rowsId !== undefined,
  };
}

export function toEvent({ id, type, at, hubId, dataJson }: EventDoc): Complete<Event> {
  return { eventId: id, type, at: toDate(at), hubId: hubId ?? undefined, dataJson };
}
