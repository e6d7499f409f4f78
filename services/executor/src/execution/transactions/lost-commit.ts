/** Finds out how a transaction ended whose answer to COMMIT was lost, if its source can say so later (PostgreSQL). */

import { CallStop, type Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Pool } from '../../pool/pool.ts';
import type { TransactionName } from '../../ports/engine.ts';
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

interface AskOptions {
  pool: Pool;
  /** Of the caller, for its turn at the pool. */
  key: string;
  now: () => number;
  deadlines: Deadlines;
}

interface FindEndOptions extends AskOptions {
  lost: LostCommit;
}

/** How long the source is asked, one question, and the pause between two. */
const findMsMax = 15_000;
const askMsMax = 5_000;
const pauseMs = 200;
/** A session that has lost its client and still has the transaction open is ended after this time. */
const runningMsMax = 1_000;

/** Resolves if the transaction has committed. Rejects with SOURCE_UNREACHABLE if it was rolled back, else with `lost`. */
export async function findEnd(name: TransactionName, { lost, ...options }: FindEndOptions): Promise<void> {
  const end = await askUntilOver(name, options).catch((err) => {
    if (err instanceof HubError) return 'unknown' as const;
    throw err;
  });
  if (end === 'aborted') throw rolledBack(lost);
  if (end !== 'committed') throw lost;
}

/** Rejects if the source could not be asked the last time. */
export async function askUntilOver(name: TransactionName, options: AskOptions) {
  const { now } = options;
  const startedAt = now();
  for (;;) {
    const askedFor = now() - startedAt;
    const isLast = askedFor > findMsMax;
    try {
      const end = await askHowEnded(name, { ...options, stops: askedFor > runningMsMax });
      if (end !== 'running' || isLast) return end;
    } catch (err) {
      if (!(err instanceof HubError) || isLast) throw err;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** `stops`: first ends a session that has the transaction open. */
export async function askHowEnded(
  name: TransactionName,
  { pool, key, now, deadlines, stops }: AskOptions & { stops: boolean },
) {
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
