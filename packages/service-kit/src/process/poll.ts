/** Asks a service for work, again and again, one call at a time. */

import { HubError } from '../call/error.ts';

export interface PollOptions {
  everyMs: number;
  /** Whether more work can be taken now. */
  hasPlace(): boolean;
  /** Asks once, and begins what it gets. Resolves to true if there can be more, which is taken soon. */
  take(): Promise<boolean>;
  onFailure(err: unknown): void;
}

export interface Poll {
  /** Asks no more, and resolves when the call that is in progress has ended. */
  stop(): Promise<void>;
}

/** The pause while there is more work is shorter by this factor. */
const soonerBy = 10;
/** A timer can fire this much too early. */
const earlyMs = 5;

/** All polls of a process ask at multiples of their pauses, so that an idle process wakes for several of them at once. */
function pauseOf(everyMs: number): number {
  const leftMs = everyMs - (performance.now() % everyMs);
  return leftMs > Math.min(earlyMs, everyMs / soonerBy) ? leftMs : leftMs + everyMs;
}

export function startPolling({ everyMs, hasPlace, take, onFailure }: PollOptions): Poll {
  let taking: Promise<void> | undefined;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    if (!isStopped) timer = setTimeout(ask, ms).unref();
  };
  const ask = (): void => {
    if (!hasPlace()) {
      wait(everyMs / soonerBy);
      return;
    }
    taking = take().then(
      (hasMore) => wait(hasMore ? everyMs / soonerBy : pauseOf(everyMs)),
      (err) => {
        onFailure(err);
        wait(pauseOf(everyMs));
      },
    );
  };
  wait(pauseOf(everyMs));
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
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
