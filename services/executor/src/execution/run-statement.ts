/** Runs a bound statement on a connection of its pool, and cancels it at the database when its caller leaves or its deadline passes. */

import type { CallSignal, Deadlines } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Pool } from '../pool/pool.ts';
import { type Connection, NeverAnswered, type RunOptions, type Statement } from '../ports/engine.ts';
import type { ResponseOptions, ResponseWriter } from '../result/response.ts';
import { runValidated, type Validation } from './cached/validation.ts';
import { cancelReason, timedOut } from './execution-error.ts';
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

interface CancellationOptions {
  connection: Pick<Connection, 'cancel' | 'close'>;
  /** Aborts when the caller leaves. */
  signal: CallSignal;
  deadlineAt: number;
  now: () => number;
  /** The timers of the process, or of a test. */
  deadlines: Deadlines;
}

/** The time that a cancelled statement has to end before its connection is closed. */
const graceMs = 800;

/** The connection was lost before the database confirmed a cancel, so the statement may have been carried out. */
export class CancelUnconfirmed extends HubError {
  constructor({ code, message, cause }: HubError) {
    super(code, message, { cause, retryable: false });
  }
}

/**
 * Settles as `work` does. When the caller leaves or the deadline passes, it asks the database to cancel the statement.
 * If the statement then does not end in time, it closes the connection. It rejects with CANCELLED or STATEMENT_TIMEOUT,
 * but resolves if the work succeeded nevertheless.
 *
 * A cancel that arrives after its statement has ended could cancel the next statement on the connection. Therefore this
 * settles only when the cancel was delivered, and closes the connection unless the cancel ended the statement.
 */
export function withCancellation<T>(work: Promise<T>, options: CancellationOptions): Promise<T> {
  const { connection, signal, deadlineAt, now, deadlines } = options;
  return new Promise((resolve, reject) => {
    let cancelled: HubError | undefined;
    let delivered: Promise<void> | undefined;
    let graceTimer: NodeJS.Timeout | undefined;
    const giveUp = () => {
      connection.close();
      done();
      reject(cancelled && new CancelUnconfirmed(cancelled));
    };
    const cancel = (reason: HubError) => {
      if (cancelled) return;
      cancelled = reason;
      graceTimer = setTimeout(giveUp, graceMs);
      delivered = connection.cancel(AbortSignal.timeout(graceMs)).catch(giveUp);
    };
    const abort = () => cancel(cancelReason(signal, now() >= deadlineAt));
    const deadline = deadlines.add(deadlineAt - now(), () => cancel(timedOut()));
    const done = () => {
      deadlines.remove(deadline);
      clearTimeout(graceTimer);
      signal.removeEventListener('abort', abort);
    };
    const finish = (settle: () => void, byCancel: boolean) => {
      if (delivered === undefined) {
        done();
        settle();
        return;
      }
      void delivered.then(() => {
        done();
        if (!byCancel) connection.close();
        settle();
      });
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    work.then(
      (value) => finish(() => resolve(value), false),
      (err) => {
        const code = err instanceof HubError ? err.code : undefined;
        finish(() => reject(cancelled ? afterCancel(cancelled, err) : err), code === 'CANCELLED');
      },
    );
  });
}

/** Returns the error for a statement that failed with `err` after it was cancelled. */
function afterCancel(cancelled: HubError, err: unknown): unknown {
  if (!(err instanceof HubError)) return cancelled;
  if (err.code === 'OUTCOME_UNKNOWN') return err;
  return err.code === 'SOURCE_BROKEN' ? new CancelUnconfirmed(cancelled) : cancelled;
}
