/** Finds out how a transaction ended whose answer to COMMIT was lost, if its source can say so later (PostgreSQL). */

import { CallStop, type Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Pool } from '../../pool/pool.ts';
import type { Outcome, RunOptions, TransactionName } from '../../ports/engine.ts';
import { CancelUnconfirmed, withCancellation } from '../cancellation.ts';

export class LostCommit extends HubError {
  constructor(cause: unknown) {
    super(
      'OUTCOME_UNKNOWN',
      'The connection to the source was lost while the transaction was committed, so it is unknown whether it was. Check the source before you repeat it.',
      { cause, retryable: false, stage: 'execute' },
    );
  }
}

/** True if an error while COMMIT ran does not say how it ended. */
export function isLost(err: unknown): boolean {
  const isTold = err instanceof HubError && !(err instanceof CancelUnconfirmed);
  return !isTold || ['SOURCE_BROKEN', 'INTERNAL'].includes(err.code);
}

interface FindEndOptions {
  pool: Pool;
  /** Of the caller, for its turn at the pool. */
  key: string;
  lost: LostCommit;
  now: () => number;
  deadlines: Deadlines;
}

/** How long the source is asked, one question, and the pause between two. */
const findMsMax = 15_000;
const askMsMax = 5_000;
const pauseMs = 200;
/** A session that has lost its client and still has the transaction open is ended after this time. */
const runningMsMax = 1_000;

/** Resolves if the transaction has committed. Rejects with SOURCE_UNREACHABLE if it was rolled back, else with `lost`. */
export async function findEnd(name: TransactionName, options: FindEndOptions): Promise<void> {
  const { lost, now } = options;
  const startedAt = now();
  while (now() - startedAt < findMsMax) {
    const end = await ask(name, options, now() - startedAt > runningMsMax).catch((err) => {
      if (err instanceof HubError) return 'unreached' as const;
      throw err;
    });
    if (end === 'committed') return;
    if (end === 'aborted') throw rolledBack(lost);
    if (end === 'unknown') break;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw lost;
}

async function ask(name: TransactionName, { pool, key, now, deadlines }: FindEndOptions, stops: boolean) {
  // The caller may have left, and the source is asked nevertheless.
  const signal = new CallStop();
  const deadlineAt = now() + askMsMax;
  const lease = await pool.acquire({ key, bytes: 0, deadlineAt, signal });
  try {
    const { connection } = lease;
    const { transactions } = connection;
    const asking = async () => {
      if (stops) await transactions?.stop?.(name);
      return (await transactions?.endOf?.(name)) ?? 'unknown';
    };
    return await withCancellation(asking(), { connection, signal, deadlineAt, now, deadlines });
  } finally {
    pool.release(lease);
  }
}

const rolledBack = (cause: unknown) =>
  new HubError(
    'SOURCE_UNREACHABLE',
    'The connection to the source was lost while the transaction was committed, and the source rolled it back: nothing was changed. Try again.',
    { cause, retryable: true, stage: 'execute' },
  );

/** A single statement whose COMMIT is found out. */
export class FoundCommit {
  #name: TransactionName | undefined;
  #outcome: Outcome | undefined;

  /** The options of the statement with what this needs. */
  note(options: RunOptions): RunOptions {
    return {
      ...options,
      beforeCommit: (name, outcome) => {
        this.#name = name;
        this.#outcome = outcome;
      },
    };
  }

  /** After an error of the statement. Resolves to its outcome if it has committed, and to undefined if `err` is true. */
  async find(err: unknown, options: Omit<FindEndOptions, 'lost'>): Promise<Outcome | undefined> {
    if (this.#name === undefined || !isLost(err)) return undefined;
    await findEnd(this.#name, { ...options, lost: new LostCommit(err) });
    return this.#outcome;
  }
}
