/**
 * Takes jobs from the ml service and runs several at a time, at most one of each account. A job that waits for its source
 * costs only memory, so slow sources don't delay the jobs of others. If all places are taken and another job waits, the job
 * that has run longest gives its place away once it has used its share of time. It continues later, with a longer share.
 */

import type { EndedJob, TakenJob } from '@datahub/proto/ml/v1/ml';
import { CallStop, createCallContext } from '@datahub/service-kit/call/call';
import { startPolling, type Taken, unlessUnavailable } from '@datahub/service-kit/process/poll';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Upstreams } from '../upstreams.ts';
import { runJob, stops } from './job.ts';
import { LearntRows, learntRowsMax } from './learnt-rows.ts';

export interface JobRunner {
  /** A job was started here. */
  expectWork(): void;
  /** Releases the running jobs, so that other gateways can take them at once. */
  close(): Promise<void>;
}

export interface JobRunnerDeps {
  upstreams: Pick<Upstreams, 'catalog' | 'executor' | 'ml'>;
  logger: Logger;
  pollMs?: number;
  /** How long a job may run, at its first turn, while others wait for its place. */
  shareMs?: number;
}

interface RunningJob {
  /** Releases the job. */
  release: CallStop;
  startedAt: number;
  shareEndsAt: number;
  ended: Promise<void>;
}

/** Each job has up to 4 MB of rows in memory. */
export const jobsMax = 16;
const shareMsDefault = 60_000;
/** A share doubles with each turn of a job, up to this factor, so that a slow query gets the time that it needs. */
const shareGrowthMax = 64;
const takeTimeoutMs = 5_000;

export function createJobRunner({
  upstreams,
  logger,
  pollMs = 500,
  shareMs = shareMsDefault,
}: JobRunnerDeps): JobRunner {
  const running = new Set<RunningJob>();
  const room = { rows: learntRowsMax };
  let isClosing = false;
  /** Events are made of these, which the ml service does not know yet. */
  let told: EndedJob[] = [];
  const onFailure = unlessUnavailable((err) => {
    logger.warn({ event: 'job.interrupted', err }, 'a job could not be run; it will be tried again');
  });

  const take = async (): Promise<Taken> => {
    const ctx = () => createCallContext({ timeoutMs: takeTimeoutMs });
    const { job, ended } = await upstreams.ml.takeJob({ told }, ctx());
    told = [];
    if (job !== undefined) begin(job);
    // The ml service lists them until they are told, to any gateway.
    for (const one of ended) {
      const { errorCode: code, ...rest } = one;
      await upstreams.catalog.tellJobEnded({ ...rest, code }, ctx());
      told.push(one);
    }
    // Other gateways may release jobs, or be gone, which is seen a little later then.
    return job === undefined && ended.length === 0 ? { none: true, forMs: Number.POSITIVE_INFINITY } : 'some';
  };

  const begin = (job: TakenJob): void => {
    if (running.size >= jobsMax) findOverdue(running)?.release.abort(stops.share);
    const release = new CallStop();
    const learnt = new LearntRows(room);
    const startedAt = performance.now();
    const shareEndsAt = startedAt + shareMs * Math.min(shareGrowthMax, 2 ** job.turns);
    const run = runJob(job, { upstreams, release, learnt, onFailure }).catch(onFailure);
    const own = { release, startedAt, shareEndsAt, ended: run };
    running.add(own);
    void run.then(() => {
      learnt.close();
      running.delete(own);
      // Its end is to be told.
      poll.expectWork();
    });
    // The gateway may have begun to close during the call.
    if (isClosing) release.abort(stops.closing);
  };

  const hasPlace = () =>
    running.size < jobsMax || (running.size < 2 * jobsMax && findOverdue(running) !== undefined);
  const poll = startPolling({ everyMs: pollMs, hasPlace, take, onFailure });

  return {
    expectWork: () => poll.expectWork(),
    close: async () => {
      isClosing = true;
      const stopped = poll.stop();
      for (const { release } of running) release.abort(stops.closing);
      await stopped;
      await Promise.all([...running].map(({ ended }) => ended));
    },
  };
}

/** The job that began first, of those that have used their share. */
function findOverdue(running: Iterable<RunningJob>): RunningJob | undefined {
  const now = performance.now();
  const overdue = [...running].filter(({ release, shareEndsAt }) => !release.aborted && shareEndsAt <= now);
  return overdue.sort((one, other) => one.startedAt - other.startedAt)[0];
}
