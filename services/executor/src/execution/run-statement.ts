/** Runs a bound statement on a connection of its pool. */

import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Deadlines } from '@datahub/service-kit/call/stop';
import type { Pool } from '../pool/pool.ts';
import { NeverAnswered, type RunOptions, type Statement } from '../ports/engine.ts';
import type { ResponseOptions, ResponseWriter } from '../result/response.ts';
import { runValidated, type Validation } from './cached/validation.ts';
import { CancelUnconfirmed, cancelReason, withCancellation } from './cancellation.ts';
import type { Execution } from './execution-state.ts';

export interface RunDeps {
  createWriter(options: ResponseOptions): ResponseWriter;
  deadlines: Deadlines;
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
}

export async function runOn(execution: Execution, run: StatementRun): Promise<void> {
  try {
    await runOnce(execution, run);
  } catch (err) {
    if (!isStale(err, execution, run.statement)) throw err;
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
  const writer = deps.createWriter(execution.responseOptions(options.maxRows));
  try {
    if (signal.aborted) throw cancelReason(signal, now() >= deadlineAt);
    const { deadlines, createWriter } = deps;
    const running =
      validation === undefined
        ? connection.run(statement, writer, options)
        : runValidated(connection, { statement, options, validation, createWriter }, writer);
    const outcome = await withCancellation(running, { connection, signal, deadlineAt, now, deadlines });
    execution.onOutcome(writer);
    if (validation?.isUnchanged) writer.abandon();
    else writer.finish(outcome, execution);
  } catch (err) {
    writer.abandon();
    throw statement.kind === 'read' ? err : toUnknownOutcome(err);
  } finally {
    pool.release(lease);
  }
}

const connectionLost =
  'The connection to the source was lost while the statement ran, so its outcome is unknown: it may have been carried out. Check the source before you repeat it.';
const hubFailed =
  'The hub failed while the statement ran, so its outcome is unknown: it may have been carried out. Check the source before you repeat it.';

/**
 * The outcome of a write is unknown if its connection died, was closed because the cancel was not confirmed, or if the
 * hub itself failed. The hub never repeats such a write, and the error asks the caller to check the source first.
 */
function toUnknownOutcome(err: unknown): unknown {
  const failed = !(err instanceof HubError || err instanceof CancelUnconfirmed);
  if (!failed && err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  return new HubError('OUTCOME_UNKNOWN', failed ? hubFailed : connectionLost, {
    cause: failed ? toHubError(err) : err,
    retryable: false,
  });
}

/** True for a read on a pooled connection that died before the database answered: repeating it is safe. */
function isStale(err: unknown, execution: Execution, statement: Statement): boolean {
  if (!(err instanceof NeverAnswered)) return false;
  return (
    statement.kind === 'read' && execution.isReused && execution.bytes === 0 && !execution.ctx.signal.aborted
  );
}
