import type { DatabaseSync } from 'node:sqlite';
import { fromSqlite, isConstraint, unavailable } from './sqlite-errors.ts';

export interface Commits {
  /**
   * Runs `work` in the next commit. All the work handed in during one turn of the event loop shares that commit,
   * in order, so any number of writers pay for one fsync. Resolves when the commit is on disk.
   */
  run<T>(work: () => T): Promise<T>;
  /** Commits what waits, now; later work is refused. */
  close(): void;
  /** What the last commit failed with; undefined after one that succeeded. */
  failure(): unknown;
}

interface Waiting {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (err: unknown) => void;
}

/** `onRollback` is told when work that ran was undone. */
export function createCommits(db: DatabaseSync, onRollback: () => void): Commits {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let waiting: Waiting[] = [];
  let closed = false;
  let failure: unknown;

  function flush(): void {
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    let answers: (() => void)[];
    try {
      begin.run();
      answers = batch.map(runOne);
      commit.run();
      failure = undefined;
    } catch (err) {
      failure = fromSqlite(err);
      if (db.isTransaction) rollback.run();
      onRollback();
      freeLog(db);
      answers = batch.map(
        ({ reject }) =>
          () =>
            reject(failure),
      );
    }
    for (const answer of answers) answer();
  }

  return {
    run<T>(work: () => T): Promise<T> {
      if (closed) return Promise.reject(unavailable('The store is closed.'));
      return new Promise<T>((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ work, resolve, reject });
      });
    },
    close() {
      closed = true;
      flush();
    },
    failure: () => failure,
  };
}

/**
 * A full disk often fails at the log alone while the file has room: emptying the log into the file lets the next
 * commit start at the log's beginning. When this fails too, the next commit fails and tells.
 */
function freeLog(db: DatabaseSync): boolean {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return true;
  } catch {
    return false;
  }
}

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
