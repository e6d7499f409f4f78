/** Stops at the database what nobody waits for any more. */

import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError } from '@datahub/service-kit/call/error';
import type { Connection } from '../engine.ts';

export interface StopOptions {
  connection: Pick<Connection, 'cancel' | 'close'>;
  /** Fires when the caller has gone. */
  signal: CallSignal;
  deadlineAt: number;
  now: () => number;
  /** How long a stopped statement may take to end before its connection is cut. */
  graceMs: number;
}

const deadlines = new Deadlines();

/** The stop was asked for, and the connection was lost before the database said that it had stopped. */
export class StopUnproven extends HubError {
  constructor({ code, message, cause }: HubError) {
    super(code, message, { cause, retryable: false });
  }
}

/**
 * Settles as `work` does. When the caller goes or time is up, the database is asked to cancel; what has not ended
 * `graceMs` later loses its connection. Rejects then with CANCELLED or STATEMENT_TIMEOUT; work that ended well in
 * spite of it counts as done.
 *
 * A cancel that comes too late for its statement would hit the next one on the connection. So this settles only after
 * the cancel was delivered, and a connection whose statement did not end by it is closed.
 */
export function untilStopped<T>(work: Promise<T>, options: StopOptions): Promise<T> {
  const { connection, signal, deadlineAt, now, graceMs } = options;
  return new Promise((resolve, reject) => {
    let stopped: HubError | undefined;
    let delivered: Promise<void> | undefined;
    let graceTimer: NodeJS.Timeout | undefined;
    const cut = () => {
      connection.close();
      done();
      reject(stopped && new StopUnproven(stopped));
    };
    const stop = (reason: HubError) => {
      if (stopped) return;
      stopped = reason;
      graceTimer = setTimeout(cut, graceMs);
      delivered = connection.cancel(AbortSignal.timeout(graceMs)).catch(cut);
    };
    const abort = () => stop(reasonOf(signal, now() >= deadlineAt));
    const deadline = deadlines.add(deadlineAt - now(), () => stop(timedOut()));
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
        const reason = stopped && code === 'SOURCE_BROKEN' ? new StopUnproven(stopped) : (stopped ?? err);
        finish(() => reject(reason), code === 'CANCELLED');
      },
    );
  });
}

/** The signal fires at the caller's own deadline too; then it is a matter of time, not of somebody leaving. */
export function reasonOf(signal: CallSignal, late: boolean): HubError {
  const { reason } = signal;
  if (reason instanceof HubError && reason.code === 'STATEMENT_TIMEOUT') return reason;
  if (late || (reason instanceof Error && reason.name === 'TimeoutError')) return timedOut();
  return new HubError('CANCELLED', 'The caller has gone; the statement was cancelled.', { cause: reason });
}

export function timedOut(): HubError {
  return new HubError(
    'STATEMENT_TIMEOUT',
    'The statement took longer than allowed and was cancelled at the database.',
    { retryable: false },
  );
}
