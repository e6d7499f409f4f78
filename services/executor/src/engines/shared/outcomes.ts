/** What the error of a statement says about its effect. */

import { HubError } from '@datahub/service-kit/call/error';
import { NothingRan, type RunOptions, type Statement } from '../../ports/engine.ts';
import { RowTooLarge } from './bounds.ts';

export const conflicted = 'The statement conflicted with a concurrent one. Try again.';
export const readsOnly =
  'The statement writes or locks rows where the database only reads, such as in a query whose command reads, or at a standby. If a SELECT or WITH is meant to write, set the command to CALL.';

export interface Failed {
  kind: Statement['kind'];
  /** True if the statement itself was sent, not only prepared. */
  isSent: boolean;
}

/** A write whose transaction stays open until the number of affected rows is known. */
export const isHeld = (
  kind: Statement['kind'],
  { dryRun, maxAffected, inTransaction, beforeCommit }: RunOptions,
): boolean =>
  kind === 'write' &&
  !inTransaction &&
  (dryRun === true || maxAffected !== undefined || beforeCommit !== undefined);

/** True for the error of a statement that was stopped, by its timeout or by a cancel. */
export const isStopped = (err: unknown): err is HubError =>
  err instanceof HubError && (err.code === 'STATEMENT_TIMEOUT' || err.code === 'CANCELLED');

/** Converts the error of a statement that writes to one that is true about its effect. */
export function toOutcome(err: unknown, { kind, isSent }: Failed): unknown {
  if (kind === 'read') return err;
  if (!isSent) return err instanceof HubError && err.code === 'SOURCE_BROKEN' ? new NothingRan(err) : err;
  // The connection was closed in the middle of the rows.
  if (err instanceof RowTooLarge)
    return new HubError('OUTCOME_UNKNOWN', `${err.message} The statement may have been carried out.`, {
      cause: err,
      retryable: false,
    });
  if (kind === 'write' || !(err instanceof HubError)) return err;
  // A procedure can have committed before it failed.
  if (isStopped(err)) return stoppedMidway(err, 'It ran without a transaction');
  const { code, message, sql } = err;
  return new HubError(code, withoutAdvice(message), { cause: err, retryable: false, sql, partial: true });
}

/** Whoever tries again what was carried out in part writes twice. */
const withoutAdvice = (message: string): string =>
  message.replace(
    / Try again( later)?\.$/,
    ' It ran without a transaction, so what it had changed until then stays. Check the source before you repeat it.',
  );

/** The error of a statement that was stopped, and whose changes the stop did not undo. */
export const stoppedMidway = (cause: unknown, why: string): HubError =>
  new HubError(
    'OUTCOME_UNKNOWN',
    `The statement was stopped while it ran. ${why}, so what it had changed until then stays. Check the source before you repeat it.`,
    { cause, retryable: false },
  );

/** For records that were sent together, of which all but the first may be stored wrongly. */
export const settingChanged = (name: string): HubError =>
  new HubError(
    'SQL_REJECTED',
    `A trigger or function of the statement changed ${name}, by which the database reads the values of the records behind it. Let it set ${name} back.`,
    { retryable: false },
  );
