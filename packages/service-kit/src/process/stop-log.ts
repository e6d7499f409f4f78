/** Logs a stop: one line when it begins and one when it has ended. */

import type { Logger } from '../telemetry/logger.ts';

export interface StopLog {
  /** `reason`: the signal, or another cause. */
  begin(reason: string): void;
  /** So many are cut because the time is up. */
  cut(count: number): void;
  end(): void;
}

export interface StopLogOptions {
  logger: Logger;
  /** How long work in flight may continue. */
  drainMs: number;
  /** How much work is in flight, and its name. */
  inFlight: () => number;
  what: 'requests' | 'calls' | 'executions';
}

export function createStopLog({ logger, drainMs, inFlight, what }: StopLogOptions): StopLog {
  let begunAt = 0;
  let cut = 0;
  return {
    begin: (reason) => {
      begunAt = performance.now();
      const awaited = inFlight();
      logger.info(
        { event: 'service.stopping', reason, awaited, drainMs },
        `stopping (${reason}): waiting at most ${drainMs} ms for ${awaited} ${what} in flight`,
      );
    },
    cut: (count) => {
      cut += count;
    },
    end: () => {
      const durationMs = Math.round(performance.now() - begunAt);
      logger.info(
        { event: 'service.stopped', durationMs, cut },
        `stopped after ${durationMs} ms, ${cut} ${what} cut`,
      );
    },
  };
}
