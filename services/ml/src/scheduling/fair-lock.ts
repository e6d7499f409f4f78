/** Places and a lock that rotate over the accounts that wait for them. Nobody stops waiting. */

import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';

/** Resolves when there is a place. Disposing of it gives the place back. */
export type FairPlaces = (accountId: string) => Promise<Disposable>;

/** Runs the task when the lock is free. */
export type FairLock = <T>(accountId: string, task: () => Promise<T>) => Promise<T>;

export function createFairPlaces(bounds: { allMax: number; accountMax: number }): FairPlaces {
  const places = createFairSemaphore({ ...bounds, waitingMax: Infinity });
  const { signal } = new AbortController();
  return async (accountId) => ({ [Symbol.dispose]: await places.acquire(accountId, signal) });
}

export function createFairLock(): FairLock {
  const take = createFairPlaces({ allMax: 1, accountMax: 1 });
  return async (accountId, task) => {
    using _ = await take(accountId);
    return await task();
  };
}
