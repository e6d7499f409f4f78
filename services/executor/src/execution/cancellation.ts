/** Cancels a statement at the database when its caller leaves or its deadline passes. */

import { HubError } from '@datahub/service-kit/call/error';
import type { CallSignal, Deadlines } from '@datahub/service-kit/call/stop';
import type { Connection } from '../ports/engine.ts';

export interface CancellationOptions {
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

/** Returns CANCELLED or STATEMENT_TIMEOUT. The signal also aborts at the deadline of the call, which is a timeout. */
export function cancelReason(signal: CallSignal, late: boolean): HubError {
  const { reason } = signal;
  if (reason instanceof HubError && reason.code === 'STATEMENT_TIMEOUT') return reason;
  if (late || (reason instanceof Error && reason.name === 'TimeoutError')) return timedOut();
  return new HubError('CANCELLED', 'The caller left, so the statement was cancelled.', { cause: reason });
}

function timedOut(): HubError {
  return new HubError(
    'STATEMENT_TIMEOUT',
    'The statement took longer than allowed and was cancelled at the database.',
    { retryable: false },
  );
}
