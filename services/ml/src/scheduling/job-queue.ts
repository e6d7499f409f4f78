/** A queue of summaries, bounded per account. The next job is that of the account that was served longest ago. */

export interface QueuedJob {
  accountId: string;
  isLong: boolean;
}

export interface JobQueue<T extends QueuedJob> {
  /** Returns false if the account has too many jobs in the queue. */
  add(job: T): boolean;
  /** Removes and returns the next job. Skips long jobs unless `allowsLong`. */
  take(options: { allowsLong: boolean }): T | undefined;
  delete(job: T): void;
  /** Empties the queue. */
  drain(): T[];
}

/** The most accounts without a job whose place in the order is remembered. */
const servedMax = 1_000;

export function createJobQueue<T extends QueuedJob>(accountMax: number): JobQueue<T> {
  const waiting = new Map<string, Set<T>>();
  /** Accounts in the order in which they were last served. */
  const served = new Set<string>();

  const serve = (job: T) => {
    served.delete(job.accountId);
    served.add(job.accountId);
    if (served.size > servedMax) served.delete(served.values().next().value as string);
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
      const neverServed = [...waiting.keys()].filter((accountId) => !served.has(accountId));
      for (const accountId of [...neverServed, ...served]) {
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
