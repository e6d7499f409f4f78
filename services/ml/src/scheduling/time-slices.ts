/**
 * Cuts long work into time slices: one slice per turn of the event loop, rotating over the accounts. While short calls are
 * in progress, long work pauses between its slices, so a short call waits for one slice and not for a whole queue.
 */

import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import { HubError } from '@datahub/service-kit/call/error';

/** Waits for the next slice. Resolves with its end, in milliseconds of `performance.now()`. Rejects with CANCELLED. */
export type NextSlice = () => Promise<number>;

export interface TimeSlices {
  /** For one call, or, without a signal, for background work of an account. */
  of(accountId: string, signal?: CallSignal): NextSlice;
  /** Long work pauses while this call is in progress. */
  short<T>(call: () => Promise<T>): Promise<T>;
}

interface Waiter {
  signal: CallSignal | undefined;
  start(endsAt: number): void;
  cancel(err: HubError): void;
}

/** A slice blocks the event loop this long. */
export const sliceMs = 2;
/** Long work gets a slice at least this often, however many short calls there are. */
const pauseMsMax = 8;

export function createTimeSlices(): TimeSlices {
  const waiting = new Map<string, Waiter[]>();
  let shortCalls = 0;
  let isScheduled = false;
  let lastEndsAt = 0;

  /** The first waiter of the next account. The account moves to the end. */
  const take = (): Waiter | undefined => {
    for (const [accountId, own] of waiting) {
      waiting.delete(accountId);
      const waiter = own.shift();
      if (own.length > 0) waiting.set(accountId, own);
      if (waiter?.signal?.aborted !== true) return waiter;
      waiter.cancel(cancelled(waiter.signal));
    }
    return undefined;
  };
  const run = () => {
    isScheduled = false;
    const isPaused = shortCalls > 0 && performance.now() < lastEndsAt + pauseMsMax;
    const waiter = isPaused ? undefined : take();
    if (waiter !== undefined) {
      lastEndsAt = performance.now() + sliceMs;
      waiter.start(lastEndsAt);
    }
    schedule(isPaused);
  };
  const schedule = (isPaused = false) => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    if (isPaused) setTimeout(run, 1);
    else setImmediate(run);
  };

  return {
    of: (accountId, signal) => () =>
      new Promise((start, cancel) => {
        if (signal?.aborted === true) return cancel(cancelled(signal));
        const waiter = { signal, start, cancel };
        const own = waiting.get(accountId);
        if (own === undefined) waiting.set(accountId, [waiter]);
        else own.push(waiter);
        schedule();
      }),
    short: async (call) => {
      shortCalls++;
      try {
        return await call();
      } finally {
        shortCalls--;
      }
    },
  };
}

/** Does the work for each item, in order. The first slice starts immediately. */
export async function inSlices<T>(
  items: Iterable<T>,
  next: NextSlice,
  work: (item: T) => void,
): Promise<void> {
  let endsAt = performance.now() + sliceMs;
  for (const item of items) {
    if (performance.now() >= endsAt) endsAt = await next();
    work(item);
  }
}

export function cancelled(signal: { readonly reason?: unknown }): HubError {
  return new HubError('CANCELLED', 'The client disconnected.', { cause: signal.reason });
}
