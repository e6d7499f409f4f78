/**
 * Cuts long work into time slices: one slice in every third turn of the event loop, rotating over the accounts. While
 * short calls are in progress, long work pauses between its slices, so that a short call waits for one slice instead of a
 * whole queue.
 */

import type { CallSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { FairQueue } from '@datahub/service-kit/fair-queue';
import { createTurnClock } from '@datahub/service-kit/yield-to-loop';

/** One call, or background work, in slices. */
export interface SlicedWork {
  /** The end of the current slice, in milliseconds of `performance.now()`. */
  endsAt: number;
  /** Waits for the next slice. Rejects with CANCELLED. */
  next(): Promise<void>;
}

/** Call it after each piece of work, and await what it returns: the next slice, once the current one has ended. */
export type Pause = () => Promise<void> | undefined;

export interface TimeSlices {
  /** The first slice starts now, unless others that started in this turn took long. Background work has no signal. */
  of(accountId: string, signal?: CallSignal): SlicedWork;
  /** Runs a short call. Long work pauses while the call is in progress. */
  short<T>(call: () => Promise<T>): Promise<T>;
}

interface Waiter {
  signal: CallSignal | undefined;
  start(endsAt: number): void;
  cancel(err: HubError): void;
}

/** A slice blocks the event loop for this long. */
export const sliceMs = 2;
/**
 * Turns of the event loop without a slice after each slice. The headers of a short call, its message, its response and
 * its trailers are each read or sent in a turn of their own, before and after it counts as in progress. An empty turn
 * costs some 20 µs.
 */
const turnsBetween = 2;
/** Long work gets a slice at least this often, however many short calls there are. */
const pauseMsMax = 8;
/** After this long in a turn of the event loop, first slices wait as further ones do. */
const firstMsMax = 8;
/** A call that takes longer does not count as short, because it may itself wait for long work, such as a classifier's log. */
const shortMsMax = 100;

export function createTimeSlices(): TimeSlices {
  const waiting = new FairQueue<Waiter>();
  const shortCalls = createShortCalls();
  const firstSlices = createTurnClock(firstMsMax);
  let isScheduled = false;
  let lastEndsAt = 0;
  let turnsToPass = 0;

  const take = (): Waiter | undefined => {
    for (let waiter = waiting.shift(); waiter !== undefined; waiter = waiting.shift()) {
      if (waiter.signal?.aborted !== true) return waiter;
      waiter.cancel(cancelled(waiter.signal));
    }
    return undefined;
  };
  const run = () => {
    isScheduled = false;
    if (turnsToPass > 0) {
      turnsToPass--;
      return schedule();
    }
    const isPaused = performance.now() < lastEndsAt + pauseMsMax && shortCalls.areRunning();
    const waiter = isPaused ? undefined : take();
    if (waiter !== undefined) {
      lastEndsAt = performance.now() + sliceMs;
      turnsToPass = turnsBetween;
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
    of: (accountId, signal) => {
      const wait = (): Promise<number> =>
        new Promise((start, cancel) => {
          if (signal?.aborted === true) return cancel(cancelled(signal));
          waiting.push(accountId, { signal, start, cancel });
          schedule();
        });
      firstSlices.begin();
      const work: SlicedWork = {
        endsAt: firstSlices.isSpent ? 0 : performance.now() + sliceMs,
        next: async () => {
          work.endsAt = await wait();
        },
      };
      return work;
    },
    short: shortCalls.run,
  };
}

function createShortCalls() {
  /** The start of each call in progress, in order. */
  const running = new Set<{ startedAt: number }>();
  return {
    run: async <T>(call: () => Promise<T>): Promise<T> => {
      const own = { startedAt: performance.now() };
      running.add(own);
      try {
        return await call();
      } finally {
        running.delete(own);
      }
    },
    areRunning: (): boolean => {
      for (const own of running) {
        if (own.startedAt > performance.now() - shortMsMax) return true;
        running.delete(own);
      }
      return false;
    },
  };
}

export const pauseOf =
  (work: SlicedWork): Pause =>
  () =>
    performance.now() >= work.endsAt ? work.next() : undefined;

/** Calls `use` with each item, in order. */
export async function inSlices<T>(
  items: Iterable<T>,
  work: SlicedWork,
  use: (item: T) => void,
): Promise<void> {
  for (const item of items) {
    if (performance.now() >= work.endsAt) await work.next();
    use(item);
  }
}

/** Runs the steps to their end. */
export async function inSteps<T>(steps: Generator<void, T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const turn = pause();
    if (turn !== undefined) await turn;
  }
}

export function cancelled(signal: { readonly reason?: unknown }): HubError {
  return new HubError('CANCELLED', 'The client disconnected.', { cause: signal.reason });
}
