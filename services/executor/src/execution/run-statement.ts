/** Runs a bound statement on a connection of its pool. */

import { orAborted } from '@datahub/service-kit/call/abort';
import type { Deadlines } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Pool } from '../pool/pool.ts';
import type { Lease } from '../pool/pool-types.ts';
import { NeverAnswered, NothingRan, type RunOptions, type Statement, unreported } from '../ports/engine.ts';
import type { ResponseOptions, ResponseWriter } from '../result/response.ts';
import { runValidated, type Validation } from './cached/validation.ts';
import { CancelUnconfirmed, withCancellation } from './cancellation.ts';
import { cancelReason } from './execution-error.ts';
import type { Execution, TransferLimits } from './execution-state.ts';
import type { CommitNotes } from './transactions/commit-notes.ts';
import { SingleCommit } from './transactions/single-commit.ts';

export interface RunDeps {
  now: () => number;
  createWriter(options: ResponseOptions): ResponseWriter;
  deadlines: Deadlines;
  transfer: TransferLimits;
}

export interface StatementRun {
  pool: Pool;
  statement: Statement;
  options: RunOptions;
  key: string;
  /** The size of the bound values. */
  bytes: number;
  deps: RunDeps;
  /** Set if the query has a cache with `validate`. */
  validation?: Validation | undefined;
  /** True if a lost answer to COMMIT is found out. */
  findsCommit?: boolean | undefined;
  /** With `findsCommit`, by the record of the Idempotency-Key. */
  notes?: CommitNotes | undefined;
}

export async function runOn(execution: Execution, run: StatementRun): Promise<void> {
  try {
    await runOnce(execution, run);
  } catch (err) {
    if (!isRepeatable(err, execution, run.statement)) throw err;
    // The other idle connections are probably dead, too. They are closed, so that the retry opens a new one.
    run.pool.closeIdle();
    await runOnce(execution, run);
  }
}

/** This is one function on purpose, because each further await costs every execution half a microsecond. */
async function runOnce(execution: Execution, run: StatementRun): Promise<void> {
  const { pool, statement, options, key, bytes, deps, validation } = run;
  execution.stage = 'queue';
  const { now } = execution;
  const { signal } = execution.ctx;
  const lease =
    pool.tryAcquire() ?? (await pool.acquire({ key, bytes, deadlineAt: execution.ctx.deadlineAt, signal }));
  // The timeout of the statement begins here.
  execution.onConnection(lease);
  const { deadlineAt } = execution;
  const { connection } = lease;
  const commit =
    run.findsCommit && connection.transactions?.name ? new SingleCommit(execution, run.notes) : undefined;
  const responseOptions = execution.responseOptions(options.maxRows);
  const writer = deps.createWriter(commit ? { ...responseOptions, reply: commit } : responseOptions);
  let hasEnded = false;
  try {
    if (signal.aborted) throw cancelReason(signal, now() >= deadlineAt);
    const { deadlines, createWriter } = deps;
    const running =
      validation === undefined
        ? connection.run(statement, writer, commit?.optionsOf(options, writer) ?? options)
        : runValidated(connection, { statement, options, validation, createWriter }, writer);
    const outcome = await withCancellation(running, {
      ...{ connection, signal, deadlineAt, now, deadlines },
      extend: () => execution.extendTimeout(writer.rowCount, pool.transfers, deps.transfer),
    });
    hasEnded = true;
    if (commit?.isAnswered) return await commit.release(writer);
    execution.onOutcome(writer, outcome);
    if (validation?.isUnchanged) writer.abandon();
    else {
      const turn = writer.turnToFinish();
      if (turn !== undefined) await turn;
      const sending = writer.finish(outcome, execution);
      if (sending !== undefined) {
        // Its reader may be slow, and the connection is needed no more.
        execution.leave(pool.transfers);
        pool.release(lease);
        await orAborted(sending, signal);
      }
    }
    await commit?.release(writer);
  } catch (err) {
    if (!hasEnded && (await hasCommitted(commit, { err, lease, run }, writer))) return;
    writer.abandon();
    if (statement.kind === 'read') throw err;
    throw hasEnded ? unreported(err) : toUnknownOutcome(err);
  } finally {
    execution.leave(pool.transfers);
    pool.release(lease);
  }
}

interface Lost {
  err: unknown;
  lease: Lease;
  run: StatementRun;
}

/** Resolves to true if the answer to COMMIT was lost, the source has committed, and the call is answered. */
async function hasCommitted(
  commit: SingleCommit | undefined,
  { err, lease, run }: Lost,
  writer: ResponseWriter,
): Promise<boolean> {
  if (commit === undefined || !lease.connection.broken) return false;
  const { pool, key, deps } = run;
  // The other connection may need its place.
  pool.release(lease);
  try {
    return await commit.find(err, writer, { pool, key, now: deps.now, deadlines: deps.deadlines });
  } catch (unfound) {
    writer.abandon();
    throw unfound;
  }
}

const unknown =
  'so its outcome is unknown: it may have been carried out. Check the source before you repeat it.';
const connectionLost = `The connection to the source was lost while the statement ran, ${unknown}`;
const unconfirmed = `The statement was cancelled, but the database did not confirm that, ${unknown}`;
const hubFailed = `The hub failed while the statement ran, ${unknown}`;

/**
 * The outcome of a write is unknown if its connection died, if the database did not confirm a cancel, or if the hub
 * itself failed. The hub never repeats such a write, and the error asks the caller to check the source first.
 */
function toUnknownOutcome(err: unknown): unknown {
  const outcomeUnknown = (message: string, cause = err) =>
    new HubError('OUTCOME_UNKNOWN', message, { cause, retryable: false });
  if (!(err instanceof HubError)) return outcomeUnknown(hubFailed, toHubError(err));
  if (err instanceof CancelUnconfirmed) return outcomeUnknown(unconfirmed);
  return err.code === 'SOURCE_BROKEN' ? outcomeUnknown(connectionLost) : err;
}

/**
 * True if a pooled connection was dead before the database answered, and repeating the statement on another one is
 * safe.
 */
function isRepeatable(err: unknown, execution: Execution, { kind }: Statement): boolean {
  if (!(err instanceof NothingRan || (kind === 'read' && err instanceof NeverAnswered))) return false;
  return execution.isReused && execution.bytes === 0 && !execution.ctx.signal.aborted;
}
