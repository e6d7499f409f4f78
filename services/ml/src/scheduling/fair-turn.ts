/** One piece of work at a time, accounts in rotation. */

/** Runs the work when its turn has come. */
export type FairTurn = <T>(accountId: string, work: () => Promise<T>) => Promise<T>;

export function createFairTurn(): FairTurn {
  const waiting = new Map<string, (() => void)[]>();
  let isTaken = false;

  const pass = () => {
    for (const [accountId, own] of waiting) {
      // Behind all others, if it has more.
      waiting.delete(accountId);
      const start = own.shift();
      if (own.length > 0) waiting.set(accountId, own);
      start?.();
      return;
    }
    isTaken = false;
  };

  return async (accountId, work) => {
    if (isTaken) {
      await new Promise<void>((start) => {
        const own = waiting.get(accountId);
        if (own === undefined) waiting.set(accountId, [start]);
        else own.push(start);
      });
    }
    isTaken = true;
    try {
      return await work();
    } finally {
      pass();
    }
  };
}
