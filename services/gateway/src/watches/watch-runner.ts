/** Takes due ticks from the catalog and runs several at a time. Any gateway can run any tick. */

import { CallStop, createCallContext } from '@datahub/service-kit/call/call';
import { startPolling, type Taken, unlessUnavailable } from '@datahub/service-kit/process/poll';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { countByAccount } from '@datahub/service-kit/usage';
import type { Upstreams } from '../upstreams.ts';
import { LargeRuns } from './run-memory.ts';
import { closingReason, runTick, type TickDeps } from './run-tick.ts';

export interface WatchRunner {
  /** A watch was made or changed here, or is to run now. */
  expectWork(): void;
  /** How late the oldest tick is that nobody has taken. Grows while this gateway cannot take any. */
  lagMs(): number;
  /** Waits for the runs for a while, then cancels them. */
  close(): Promise<void>;
}

export interface WatchRunnerDeps extends Pick<TickDeps, 'usage'> {
  upstreams: Pick<Upstreams, 'catalog' | 'executor'>;
  logger: Logger;
  pollMs?: number;
  closeMs?: number;
}

/** Most runs wait for their query. An account that has many leaves half of the free places to others. */
const runsMax = 96;
/** Few at a time, so that watches that are due together do not hold up what clients ask for. */
const takenMax = 8;
const takeTimeoutMs = 5_000;
const closeMsDefault = 3_000;

export function createWatchRunner({
  upstreams,
  usage,
  logger,
  pollMs = 500,
  closeMs = closeMsDefault,
}: WatchRunnerDeps): WatchRunner {
  const closing = new CallStop();
  const running = new Map<Promise<void>, string>();
  const largeRuns = new LargeRuns();
  let lagMs = 0;
  const onFailure = unlessUnavailable((err) => {
    logger.warn({ event: 'watch.interrupted', err }, 'a watch could not be run; it will be tried again');
  });

  const take = async (): Promise<Taken> => {
    const free = runsMax - running.size;
    const limit = Math.min(takenMax, free);
    const share = { running: countByAccount(running.values()), accountMax: Math.ceil(free / 2) };
    const ctx = createCallContext({ timeoutMs: takeTimeoutMs });
    const { ticks, nextInMs = 0, ...lag } = await upstreams.catalog.takeTicks({ limit, ...share }, ctx);
    lagMs = lag.lagMs;
    for (const tick of ticks) {
      const run = runTick(tick, { upstreams, usage, closing, largeRuns, onFailure });
      running.set(run, tick.principal?.accountId ?? '');
      void run.then(() => {
        running.delete(run);
        // Its next tick is known now.
        poll.expectWork();
      });
    }
    if (ticks.length > 0 || nextInMs === 0) return ticks.length === limit ? 'more' : 'some';
    return { none: true, forMs: nextInMs };
  };

  const hasPlace = () => running.size < runsMax;
  const poll = startPolling({ everyMs: pollMs, hasPlace, take, onFailure });

  return {
    expectWork: () => poll.expectWork(),
    lagMs: () => lagMs + poll.lateMs(),
    close: async () => {
      await poll.stop();
      const cancel = setTimeout(() => closing.abort(closingReason), closeMs);
      await Promise.all(running.keys());
      clearTimeout(cancel);
    },
  };
}
