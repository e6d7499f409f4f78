import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { outcomeUnknown } from '@datahub/service-kit/call/error';
import { isConstraint, type StoreErrors, unavailable } from './errors.ts';
import type { Reserve } from './reserve.ts';
import type { Log } from './wal.ts';

export interface Commits {
  /**
   * Runs `work` in the next commit (group commit). All work of one iteration of the event loop, or that arrives while the
   * previous commit is synced, shares a commit in order, so any number of writers share one sync. What a turn is too short
   * for is left for the next one. Resolves when the commit is on disk. Readers see its writes a little earlier. Urgent work is committed on a full disk, too, if the reserve has
   * enough space.
   */
  run<T>(work: () => T, options?: { isUrgent: boolean }): Promise<T>;
  /** Commits the pending work. Later work is rejected. */
  close(): Promise<void>;
  /** The error of the last commit; undefined if it succeeded. */
  failure(): unknown;
}

/** After this long, a commit takes no more work. */
const turnMs = 10;

interface Waiting {
  /** Does the work. What it returns tells the writer, once the commit is on the disk. */
  run(): () => void;
  isUrgent: boolean;
  reject(err: unknown): void;
}

export interface CommitsOptions {
  log: Log;
  reserve: Reserve;
  errors: StoreErrors;
  /** What the work of a commit adds here is done once the commit is made. What is rolled back is taken from it. */
  afterCommit: (() => void)[];
}

/** The error of the last commit. */
interface State {
  failure: unknown;
}

interface Committed {
  /** Settle callers once the log is synced. */
  answers: (() => void)[];
  /** What has no answer yet, in its order. */
  left: Waiting[];
}

/** Returns a function that commits what a turn is long enough for. */
function createCommitAll(db: DatabaseSync, state: State, options: CommitsOptions) {
  const { log, reserve, errors } = options;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');

  /** Returns undefined, and sets the failure, if nothing was committed. */
  function commitOnce(batch: Waiting[]): (() => void)[] | undefined {
    try {
      begin.run();
      const stopAt = performance.now() + turnMs;
      const answers: (() => void)[] = [];
      for (const one of batch) {
        answers.push(runOne(one, options));
        if (performance.now() >= stopAt) break;
      }
      commit.run();
      for (const work of options.afterCommit.splice(0)) work();
      return answers;
    } catch (err) {
      state.failure = errors.from(err);
      options.afterCommit.length = 0;
      if (db.isTransaction) rollback.run();
      // On a full disk often only the log fails, while the file has free pages.
      log.emptyNow();
      return undefined;
    }
  }

  /** The failure stays: only a commit without the reserve shows that the disk has space. */
  function commitUrgent(batch: Waiting[]): Committed {
    const urgent = batch.filter(({ isUrgent }) => isUrgent);
    const refused = refusals(
      batch.filter(({ isUrgent }) => !isUrgent),
      state.failure,
    );
    if (urgent.length === 0) return { answers: refused, left: [] };
    const answers = reserve.spend(() => {
      const committed = commitOnce(urgent);
      // The reserve needs the space of the log.
      if (committed !== undefined) log.emptyNow();
      return committed;
    });
    const answered = answers ?? refusals(urgent, state.failure);
    return { answers: [...refused, ...answered], left: urgent.slice(answered.length) };
  }

  return (batch: Waiting[]): Committed => {
    try {
      const answers = commitOnce(batch);
      if (answers === undefined) return commitUrgent(batch);
      if (state.failure !== undefined) reserve.fill();
      state.failure = undefined;
      return { answers, left: batch.slice(answers.length) };
    } catch (err) {
      // On a disk where even the rollback or the reserve fails, nothing was committed.
      state.failure = errors.from(err);
      return { answers: refusals(batch, state.failure), left: [] };
    }
  };
}

function without(batch: readonly Waiting[], left: readonly Waiting[]): Waiting[] {
  const isLeft = new Set(left);
  return batch.filter((one) => !isLeft.has(one));
}

export function createCommits(db: DatabaseSync, options: CommitsOptions): Commits {
  const { log } = options;
  const state: State = { failure: undefined };
  const commitAll = createCommitAll(db, state, options);
  let waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;
  /** After a failed sync the content of the disk is unknown: a second sync would succeed without the data that the first lost. */
  let diskFailure: unknown;

  async function onDisk(step: () => Promise<void>): Promise<void> {
    if (diskFailure !== undefined) return;
    try {
      await step();
    } catch (err) {
      state.failure = diskFailure = unavailable(
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
      const { answers, left } = commitAll(batch);
      waiting = left.concat(waiting);
      await onDisk(log.sync);
      const settled =
        diskFailure === undefined
          ? answers
          : // These were committed and may exist after a restart.
            refusals(without(batch, left), outcomeUnknown(diskFailure));
      for (const answer of settled) answer();
      await onDisk(log.empty);
      if (left.length > 0) await nextIteration();
    }
    for (const refuse of refusals(waiting.splice(0), diskFailure)) refuse();
    draining = undefined;
  }

  return {
    run<T>(work: () => T, { isUrgent } = { isUrgent: false }): Promise<T> {
      if (closed) return Promise.reject(unavailable('The store is closed.'));
      return new Promise<T>((resolve, reject) => {
        const run = () => {
          const value = work();
          return () => resolve(value);
        };
        waiting.push({ run, isUrgent, reject });
        draining ??= drain();
      });
    },
    async close() {
      closed = true;
      await draining;
    },
    failure: () => state.failure,
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
function runOne({ run, reject }: Waiting, { afterCommit, errors }: CommitsOptions): () => void {
  const before = afterCommit.length;
  try {
    return run();
  } catch (err) {
    if (!isConstraint(err)) throw err;
    afterCommit.length = before;
    return () => reject(errors.from(err));
  }
}
