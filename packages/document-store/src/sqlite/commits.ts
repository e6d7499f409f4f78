import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turnEnd } from 'node:timers/promises';
import { outcomeUnknown } from '@datahub/service-kit/call/error';
import { fromSqlite, isConstraint, unavailable } from './errors.ts';
import type { Log } from './wal.ts';

export interface Commits {
  /**
   * Runs `work` in the next commit. All the work that is handed in during one turn of the event loop, or while the
   * commit before goes to disk, shares a commit, in order, so any number of writers pay for one sync. Resolves when
   * the commit is on disk; what it wrote is read a little earlier.
   */
  run<T>(work: () => T): Promise<T>;
  /** Commits what waits; later work is refused. */
  close(): Promise<void>;
  /** What the last commit failed with; undefined after one that succeeded. */
  failure(): unknown;
}

interface Waiting {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (err: unknown) => void;
}

/** `onRollback` is told when work that ran was undone. */
export function createCommits(db: DatabaseSync, log: Log, onRollback: () => void): Commits {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;
  let failure: unknown;
  /** Nobody knows what is on a disk whose sync has failed: a second one would succeed without what the first lost. */
  let diskFailure: unknown;

  /** The answers to give once the log is synced. */
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
      // A full disk often fails at the log alone while the file has room.
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
    await turnEnd();
    while (waiting.length > 0 && diskFailure === undefined) {
      const batch = waiting;
      waiting = [];
      const answers = commitAll(batch);
      await onDisk(log.sync);
      // These were committed, and may be there after a restart.
      const told = diskFailure === undefined ? answers : refusals(batch, outcomeUnknown(diskFailure));
      for (const answer of told) answer();
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
 * A constraint undoes its own statement and fails its own writer; anything else is the disk's or the file's fault
 * and fails the whole commit, because what SQLite kept of it is uncertain.
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
