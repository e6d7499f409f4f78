/** What the log has of a stop: a line when it begins and one when it has ended. */

import type { Logger } from '../telemetry/logger.ts';

export interface StopLog {
  /** `reason`: the signal, or who wanted it. */
  begin(reason: string): void;
  /** The time is up, and as many are cut. */
  cut(count: number): void;
  end(): void;
}

export interface StopLogOptions {
  logger: Logger;
  /** How long what is under way may go on. */
  drainMs: number;
  /** How much there is of it, and what it is called. */
  underWay: () => number;
  what: 'requests' | 'calls' | 'executions';
}

export function createStopLog({ logger, drainMs, underWay, what }: StopLogOptions): StopLog {
  let begunAt = 0;
  let cut = 0;
  return {
    begin: (reason) => {
      begunAt = performance.now();
      const awaited = underWay();
      logger.info(
        { event: 'service.stopping', reason, awaited, drainMs },
        `stopping (${reason}): ${awaited} ${what} under way may go on for ${drainMs} ms at most`,
      );
    },
    cut: (count) => {
      cut += count;
    },
    end: () => {
      const durationMs = Math.round(performance.now() - begunAt);
      logger.info(
        { event: 'service.stopped', durationMs, cut },
        `stopped after ${durationMs} ms, with ${cut} ${what} cut`,
      );
    },
  };
}
