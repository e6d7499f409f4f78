/** A lock that rotates over the accounts that wait for it. */

/** Runs the task when the lock is free. */
export type FairLock = <T>(accountId: string, task: () => Promise<T>) => Promise<T>;

export function createFairLock(): FairLock {
  const waiting = new Map<string, (() => void)[]>();
  let isLocked = false;

  const passOn = () => {
    for (const [accountId, own] of waiting) {
      // An account with further tasks moves to the end of the queue.
      waiting.delete(accountId);
      const start = own.shift();
      if (own.length > 0) waiting.set(accountId, own);
      start?.();
      return;
    }
    isLocked = false;
  };

  return async (accountId, task) => {
    if (isLocked) {
      await new Promise<void>((start) => {
        const own = waiting.get(accountId);
        if (own === undefined) waiting.set(accountId, [start]);
        else own.push(start);
      });
    }
    isLocked = true;
    try {
      return await task();
    } finally {
      passOn();
    }
  };
}
