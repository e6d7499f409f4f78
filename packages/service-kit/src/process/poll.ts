/** Asks a service for work, again and again, one call at a time. */

import { HubError } from '../call/error.ts';

export interface PollOptions {
  everyMs: number;
  /** Whether more work can be taken now. */
  hasPlace(): boolean;
  /** Asks once, and begins what it gets. */
  take(): Promise<void>;
  onFailure(err: unknown): void;
}

export interface Poll {
  /** Asks no more, and resolves when the call that is in progress has ended. */
  stop(): Promise<void>;
}

export function startPolling({ everyMs, hasPlace, take, onFailure }: PollOptions): Poll {
  let taking: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (taking !== undefined || !hasPlace()) return;
    taking = take()
      .catch(onFailure)
      .finally(() => {
        taking = undefined;
      });
  }, everyMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await taking;
    },
  };
}

/** Passes failures on, but not that a service is away: what failed is tried again by a later poll. */
export const unlessUnavailable =
  (onFailure: (err: unknown) => void) =>
  (err: unknown): void => {
    if (!(err instanceof HubError) || err.code !== 'UNAVAILABLE') onFailure(err);
  };
