/**
 * Long work in slices: one slice per turn of the event loop, accounts in rotation. While short calls are under way, long
 * work rests between its slices, so that a short call waits for one slice and not for all that others have asked for.
 */

import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import { HubError } from '@datahub/service-kit/call/error';

/** Waits for the next slice; resolves with its end, in milliseconds of `performance.now()`. Rejects with CANCELLED. */
export type NextSlice = () => Promise<number>;

export interface Slices {
  /** For the work of one call, or of upkeep for an account, which has no signal. */
  of(accountId: string, signal?: CallSignal): NextSlice;
  /** Long work makes way for this call while it is under way. */
  short<T>(call: () => Promise<T>): Promise<T>;
}

interface Waiter {
  signal: CallSignal | undefined;
  start(endsAt: number): void;
  cancel(err: HubError): void;
}

/** How long the event loop is kept at a stretch. */
export const sliceMs = 2;
/** Long work gets a slice this often however many short calls there are. */
const restMsMax = 8;

export function createSlices(): Slices {
  const waiting = new Map<string, Waiter[]>();
  let shortCalls = 0;
  let isScheduled = false;
  let lastEndsAt = 0;

  /** The first waiter of the account whose turn it is; the account goes to the end of the line. */
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
    const rests = shortCalls > 0 && performance.now() < lastEndsAt + restMsMax;
    const waiter = rests ? undefined : take();
    if (waiter !== undefined) {
      lastEndsAt = performance.now() + sliceMs;
      waiter.start(lastEndsAt);
    }
    schedule(rests);
  };
  const schedule = (rests = false) => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    if (rests) setTimeout(run, 1);
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

/** Does the work for each item, in order; the first slice begins at once. */
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

export function cancelled(signal: CallSignal): HubError {
  return new HubError('CANCELLED', 'The caller went away.', { cause: signal.reason });
}
