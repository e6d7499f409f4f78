/** Takes jobs from the ml service and runs a few at a time. */

import { CallStop } from '@datahub/service-kit/call/abort-signal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Upstreams } from '../upstreams.ts';
import { runJob, stops } from './job.ts';

export interface JobRunner {
  /** Releases the running jobs, so that other gateways can take them at once. */
  close(): Promise<void>;
}

export interface JobRunnerDeps {
  upstreams: Pick<Upstreams, 'catalog' | 'executor' | 'ml'>;
  logger: Logger;
  pollMs?: number;
}

const jobsMax = 2;
const takeTimeoutMs = 5_000;

export function createJobRunner({ upstreams, logger, pollMs = 500 }: JobRunnerDeps): JobRunner {
  const running = new Set<Promise<void>>();
  const closing = new CallStop();
  const warn = (err: unknown) => {
    // The next poll repeats the call.
    if (err instanceof HubError && err.code === 'UNAVAILABLE') return;
    logger.warn({ event: 'job.interrupted', err }, 'a job could not be run; it will be tried again');
  };

  const take = async (): Promise<void> => {
    const { job } = await upstreams.ml.takeJob({}, createCallContext({ timeoutMs: takeTimeoutMs }));
    if (job === undefined) return;
    const run = runJob(job, { upstreams, closing, onFailure: warn }).catch(warn);
    running.add(run);
    void run.then(() => running.delete(run));
  };

  let taking: Promise<void> | undefined;
  const poll = setInterval(() => {
    if (taking !== undefined || closing.aborted || running.size >= jobsMax) return;
    taking = take()
      .catch(warn)
      .finally(() => {
        taking = undefined;
      });
  }, pollMs);
  poll.unref();

  return {
    close: async () => {
      clearInterval(poll);
      closing.abort(stops.closing);
      await taking;
      await Promise.all(running);
    },
  };
}
