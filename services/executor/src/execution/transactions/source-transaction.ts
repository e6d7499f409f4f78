/** A transaction on a connection of a pool: how it begins, how it ends, and what a lost connection means for it. */

import { type CallSignal, CallStop, type Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Connection, TransactionName, TransactionOptions, Transactions } from '../../ports/engine.ts';
import { CancelUnconfirmed, withCancellation } from '../cancellation.ts';
import { cancelReason, identity, toFailure } from '../execution-error.ts';
import { refusedOption } from '../prepare.ts';
import { isLost, LostCommit } from './lost-commit.ts';

export interface SourceTransactionOptions {
  /** Of the caller. */
  signal: CallSignal;
  now: () => number;
  deadlines: Deadlines;
}

interface CommitOptions {
  readOnly: boolean;
  /** Called before COMMIT if the source can name transactions. If it rejects, the transaction must be rolled back. */
  note?: (name: TransactionName | undefined) => Promise<void>;
}

/** For the end of a transaction whose caller has left, or whose time is up. */
const rollBackMsMax = 5_000;

export class SourceTransaction {
  stage: 'begin' | 'open' | 'commit' = 'begin';
  /** True once the server has confirmed that nothing is left of the transaction. */
  isRolledBack = false;
  /** Set before COMMIT is sent, if the source can say later how the transaction ended. */
  name: TransactionName | undefined;
  readonly transactions: Transactions;
  readonly #connection: Connection;
  readonly #options: SourceTransactionOptions;

  constructor(connection: Connection, options: SourceTransactionOptions) {
    const { transactions } = connection;
    if (transactions === undefined) throw refusedOption('This source has no transactions.');
    this.transactions = transactions;
    this.#connection = connection;
    this.#options = options;
  }

  async begin(options: TransactionOptions, deadlineAt: number): Promise<void> {
    await this.within(this.transactions.begin(options), deadlineAt);
    this.stage = 'open';
  }

  /** Rejects with LostCommit if the answer was lost. Any other error says that nothing was changed. */
  async commit({ readOnly, note }: CommitOptions, deadlineAt: number): Promise<void> {
    const { transactions } = this;
    this.requireTime(deadlineAt);
    if (!readOnly && transactions.name !== undefined) {
      this.name = await this.within(transactions.name(), deadlineAt);
      await note?.(this.name);
    }
    this.requireTime(deadlineAt);
    this.stage = 'commit';
    try {
      await this.within(transactions.commit(), deadlineAt);
    } catch (err) {
      if (isLost(err)) throw new LostCommit(err);
      this.isRolledBack = true;
      throw toFailure(err, 'execute', identity);
    }
  }

  /** Rolls back, and rejects if COMMIT would have failed. */
  async rehearse(deadlineAt: number): Promise<void> {
    const { transactions } = this;
    this.requireTime(deadlineAt);
    if (transactions.rehearseCommit !== undefined)
      await this.within(transactions.rehearseCommit(), deadlineAt);
    await this.rollBack();
  }

  /** Closes a connection that does not roll back in time, which rolls back, too. */
  async rollBack(): Promise<void> {
    const { now, deadlines } = this.#options;
    const deadlineAt = now() + rollBackMsMax;
    const connection = this.#connection;
    const signal = new CallStop();
    await withCancellation(this.transactions.rollBack(), { connection, signal, deadlineAt, now, deadlines });
    this.isRolledBack = !connection.broken;
  }

  /** Rolls back after an error before COMMIT, and returns the error that says so. */
  async fail(err: unknown): Promise<unknown> {
    if (this.stage === 'commit') return err;
    if (this.stage === 'open' && !this.#connection.broken) await this.rollBack();
    return toNothing(err);
  }

  within<T>(work: Promise<T>, deadlineAt: number): Promise<T> {
    const { signal, now, deadlines } = this.#options;
    return withCancellation(work, { connection: this.#connection, signal, deadlineAt, now, deadlines });
  }

  requireTime(deadlineAt: number): void {
    const { signal, now } = this.#options;
    const isLate = now() >= deadlineAt;
    if (signal.aborted || isLate) throw cancelReason(signal, isLate);
  }
}

/** COMMIT was not sent, so a lost connection means that nothing was changed. */
function toNothing(err: unknown): unknown {
  const { code, step, line } = err instanceof HubError ? err : {};
  if (code === 'OUTCOME_UNKNOWN' || code === 'SOURCE_BROKEN' || err instanceof CancelUnconfirmed)
    return new HubError(
      'SOURCE_UNREACHABLE',
      'The connection to the source broke before the transaction was committed, so nothing was changed. Try again.',
      { cause: err, retryable: true, stage: 'execute', step, line },
    );
  return err;
}
