/** Runs a bound statement on a connection of its pool, and cancels it at the database when its caller leaves or its deadline passes. */

import type { CallSignal, Deadlines } from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Pool } from '../pool/pool.ts';
import {
  type Connection,
  NeverAnswered,
  NothingRan,
  type RunOptions,
  type Statement,
  unreported,
} from '../ports/engine.ts';
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
  const writer = deps.createWriter(execution.responseOptions(options.maxRows));
  let hasEnded = false;
  try {
    if (signal.aborted) throw cancelReason(signal, now() >= deadlineAt);
    const { deadlines, createWriter } = deps;
    const running =
      validation === undefined
        ? connection.run(statement, writer, options)
        : runValidated(connection, { statement, options, validation, createWriter }, writer);
    const outcome = await withCancellation(running, {
      ...{ connection, signal, deadlineAt, now, deadlines },
      extend: () => execution.extendTimeout(writer.rowCount),
    });
    hasEnded = true;
    execution.onOutcome(writer, outcome);
    if (validation?.isUnchanged) writer.abandon();
    else writer.finish(outcome, execution);
  } catch (err) {
    writer.abandon();
    if (statement.kind === 'read') throw err;
    throw hasEnded ? unreported(err) : toUnknownOutcome(err);
  } finally {
    pool.release(lease);
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

interface CancellationOptions {
  connection: Pick<Connection, 'cancel' | 'close' | 'silentSince'>;
  /** Aborts when the caller leaves. */
  signal: CallSignal;
  deadlineAt: number;
  /** Called at the deadline. Returns the next one if the work may go on. */
  extend?: () => number | undefined;
  now: () => number;
  /** The timers of the process, or of a test. */
  deadlines: Deadlines;
}

/** The time that a cancelled statement has to end before its connection is closed. */
const graceMs = 800;

/** A connection whose server gives no sign for this long is dead. */
const silentMsMax = 2_000;

/** The database did not confirm a cancel, so the statement may have been carried out. */
export class CancelUnconfirmed extends HubError {
  constructor({ code, message, cause }: HubError) {
    const text =
      'The statement took longer than allowed, and the database did not confirm that it cancelled it.';
    super(code, code === 'STATEMENT_TIMEOUT' ? text : message, { cause, retryable: false });
  }
}

/**
 * Settles as `work` does. When the caller leaves, the deadline passes or the connection is silent, it asks the database
 * to cancel the statement. If the statement then does not end in time, it closes the connection. It rejects with
 * CANCELLED, STATEMENT_TIMEOUT or, for a silent connection, NeverAnswered, but resolves if the work succeeded
 * nevertheless.
 *
 * A cancel that arrives after its statement has ended could cancel the next statement on the connection. Therefore this
 * settles only when the cancel was delivered, and closes the connection unless the cancel ended the statement.
 */
export function withCancellation<T>(work: Promise<T>, options: CancellationOptions): Promise<T> {
  const { connection, signal, now, deadlines, extend } = options;
  let { deadlineAt } = options;
  return new Promise((resolve, reject) => {
    let cancelled: HubError | undefined;
    let delivered: Promise<void> | undefined;
    let graceTimer: NodeJS.Timeout | undefined;
    let lookTimer: NodeJS.Immediate | undefined;
    let isGivenUp = false;
    let end = () => reject(afterCancel(cancelled as HubError, undefined));
    const giveUp = () => {
      isGivenUp = true;
      connection.close();
      // Until then, the work can report that it had not sent the statement.
      lookTimer = setImmediate(settle);
    };
    const cancel = (reason: HubError) => {
      if (cancelled) return;
      cancelled = reason;
      graceTimer = setTimeout(giveUp, graceMs);
      delivered = connection.cancel(AbortSignal.timeout(graceMs)).catch(giveUp);
    };
    const abort = () => cancel(cancelReason(signal, now() >= deadlineAt));
    const expire = () => {
      const next = extend?.();
      if (next === undefined) return cancel(timedOut());
      deadlineAt = next;
      look();
    };
    const watch = (silentMs: number) => {
      const leftMs = deadlineAt - now();
      const lookMs = silentMsMax - silentMs;
      return leftMs <= lookMs
        ? deadlines.add(leftMs, expire)
        : // After a pause of the process, the timers come before what has arrived.
          deadlines.add(lookMs, () => (lookTimer = setImmediate(look)));
    };
    const look = () => {
      const silentMs = connection.silentSince === undefined ? 0 : now() - connection.silentSince;
      if (silentMs >= silentMsMax) cancel(new NeverAnswered(new Error('The server gave no sign in time.')));
      else deadline = watch(silentMs);
    };
    let deadline = watch(0);
    const settle = () => {
      deadlines.remove(deadline);
      clearTimeout(graceTimer);
      clearImmediate(lookTimer);
      signal.removeEventListener('abort', abort);
      end();
    };
    const finish = (ending: () => void, byCancel: boolean) => {
      end = ending;
      if (delivered === undefined || isGivenUp) return settle();
      void delivered.then(() => {
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
  const { code, partial } = err instanceof HubError ? err : {};
  if (err instanceof NothingRan || code === 'OUTCOME_UNKNOWN' || partial) return err;
  const isConfirmed = code !== undefined && code !== 'SOURCE_BROKEN';
  if (!(cancelled instanceof NeverAnswered))
    return isConfirmed ? cancelled : new CancelUnconfirmed(cancelled);
  if (code === 'CANCELLED') return new NothingRan(cancelled);
  return isConfirmed ? err : cancelled;
}
