/** Summaries that wait for a thread: a bounded number of each account; the account that was served longest ago is next. */

export interface Queued {
  accountId: string;
  isLong: boolean;
}

export interface JobQueue<T extends Queued> {
  /** False where the account has as many waiting as it may. */
  add(job: T): boolean;
  /** The next of the account whose turn it is; a long one only where they are allowed. */
  take(options: { allowsLong: boolean }): T | undefined;
  delete(job: T): void;
  /** Empties the queue. */
  drain(): T[];
}

/** Accounts whose turn is remembered while they have nothing waiting. */
const rememberedMax = 1_000;

export function createJobQueue<T extends Queued>(accountMax: number): JobQueue<T> {
  const waiting = new Map<string, Set<T>>();
  /** Accounts in the order in which they were last served. */
  const served = new Set<string>();

  const serve = (job: T) => {
    served.delete(job.accountId);
    served.add(job.accountId);
    if (served.size > rememberedMax) served.delete(served.values().next().value as string);
    remove(job);
    return job;
  };

  const remove = (job: T) => {
    const own = waiting.get(job.accountId);
    if (own?.delete(job) === true && own.size === 0) waiting.delete(job.accountId);
  };

  return {
    add: (job) => {
      const own = waiting.get(job.accountId) ?? new Set();
      if (own.size >= accountMax) return false;
      waiting.set(job.accountId, own.add(job));
      return true;
    },
    take: ({ allowsLong }) => {
      const fresh = [...waiting.keys()].filter((accountId) => !served.has(accountId));
      for (const accountId of [...fresh, ...served]) {
        for (const job of waiting.get(accountId) ?? []) {
          if (allowsLong || !job.isLong) return serve(job);
        }
      }
      return undefined;
    },
    delete: remove,
    drain: () => {
      const all = [...waiting.values()].flatMap((own) => [...own]);
      waiting.clear();
      return all;
    },
  };
}
