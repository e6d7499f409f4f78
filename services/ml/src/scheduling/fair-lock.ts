/** A lock that rotates over the accounts that wait for it. */

import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';

/** Runs the task when the lock is free. */
export type FairLock = <T>(accountId: string, task: () => Promise<T>) => Promise<T>;

export function createFairLock(): FairLock {
  const lock = createFairSemaphore({ allMax: 1, accountMax: 1, waitingMax: Infinity });
  const { signal } = new AbortController();
  return async (accountId, task) => {
    const release = await lock.acquire(accountId, signal);
    try {
      return await task();
    } finally {
      release();
    }
  };
}
