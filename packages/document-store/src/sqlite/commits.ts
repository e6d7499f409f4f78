import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { outcomeUnknown } from '@datahub/service-kit/call/error';
import { fromSqlite, isConstraint, unavailable } from './errors.ts';
import type { Log } from './wal.ts';

export interface Commits {
  /**
   * Runs `work` in the next commit (group commit). All work of one iteration of the event loop, or that arrives while the
   * previous commit is synced, shares a commit in order, so any number of writers share one sync. Resolves when the commit
   * is on disk. Readers see its writes a little earlier.
   */
  run<T>(work: () => T): Promise<T>;
  /** Commits the pending work. Later work is rejected. */
  close(): Promise<void>;
  /** The error of the last commit; undefined if it succeeded. */
  failure(): unknown;
}

interface Waiting {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (err: unknown) => void;
}

/** `onRollback` is called after work was rolled back. */
export function createCommits(db: DatabaseSync, log: Log, onRollback: () => void): Commits {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;
  let failure: unknown;
  /** After a failed sync the content of the disk is unknown: a second sync would succeed without the data that the first lost. */
  let diskFailure: unknown;

  /** Returns the functions that settle the callers once the log is synced. */
  function commitAll(batch: Waiting[]): (() => void)[] {
    try {
      begin.run();
      const answers = batch.map(runOne);
      commit.run();
      failure = undefined;
      return answers;
    } catch (err) {
      failure = fromSqlite(err);
      if (db.isTransaction) rollback.run();
      onRollback();
      // On a full disk often only the log fails, while the file has free pages.
      log.emptyNow();
      return refusals(batch, failure);
    }
  }
  async function onDisk(step: () => Promise<void>): Promise<void> {
    if (diskFailure !== undefined) return;
    try {
      await step();
    } catch (err) {
      failure = diskFailure = unavailable(
        'The disk of the store has failed. The operator must check it and restart the hub.',
        err,
      );
    }
  }
  async function drain(): Promise<void> {
    await nextIteration();
    while (waiting.length > 0 && diskFailure === undefined) {
      const batch = waiting;
      waiting = [];
      const answers = commitAll(batch);
      await onDisk(log.sync);
      // These were committed and may exist after a restart.
      const settled = diskFailure === undefined ? answers : refusals(batch, outcomeUnknown(diskFailure));
      for (const answer of settled) answer();
      await onDisk(log.empty);
    }
    for (const refuse of refusals(waiting.splice(0), diskFailure)) refuse();
    draining = undefined;
  }

  return {
    run<T>(work: () => T): Promise<T> {
      if (closed) return Promise.reject(unavailable('The store is closed.'));
      return new Promise<T>((resolve, reject) => {
        waiting.push({ work, resolve, reject });
        draining ??= drain();
      });
    },
    async close() {
      closed = true;
      await draining;
    },
    failure: () => failure,
  };
}

const refusals = (batch: Waiting[], err: unknown) =>
  batch.map(
    ({ reject }) =>
      () =>
        reject(err),
  );

/**
 * A constraint violation undoes its statement and fails only its writer. Any other error comes from the disk or the file
 * and fails the whole commit, because it is uncertain what SQLite has written.
 */
function runOne({ work, resolve, reject }: Waiting): () => void {
  try {
    const value = work();
    return () => resolve(value as never);
  } catch (err) {
    if (!isConstraint(err)) throw err;
    return () => reject(fromSqlite(err));
  }
}
