/** Cancels a statement at the database when its caller leaves, its deadline passes or its connection is silent. */

import type { CallSignal, Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Connection, NeverAnswered, NothingRan } from '../ports/engine.ts';
import { cancelReason, timedOut } from './execution-error.ts';

interface CancellationOptions {
  connection: Pick<Connection, 'cancel' | 'close' | 'silentSince'>;
  /** Aborts when the caller leaves. */
  signal: CallSignal;
  deadlineAt: number;
  /** Called at the deadline. Returns the next one if the work may go on, else why it may not. */
  extend?: () => number | HubError;
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
      const next = extend?.() ?? timedOut();
      if (typeof next !== 'number') return cancel(next);
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
