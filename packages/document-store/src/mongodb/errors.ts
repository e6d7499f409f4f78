import { HubError } from '@datahub/service-kit/call/error';
import {
  MongoAPIError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';

const duplicateKey = 11000;
/** No primary, shutting down, write concern not reached, out of disk: it may pass without a change on our side. */
const passing = new Set([
  6, 7, 50, 64, 79, 89, 91, 100, 112, 133, 134, 189, 262, 317, 358, 9001, 10107, 11600, 11602, 13435, 13436,
  14031,
]);
const refusedLogin = new Set([13, 18]);

/** The driver's texts name hosts and users, so they stay in `cause`. */
export function fromMongodb(err: unknown): unknown {
  if (isLookUp(err)) return unavailable('The store cannot be reached now.', err);
  if (!(err instanceof MongoError)) return err;
  if (err instanceof MongoServerError && isDuplicate(err)) {
    return new HubError('CONFLICT', 'Something with this id or unique value exists already.', { cause: err });
  }
  if (err instanceof MongoServerError && refusedLogin.has(Number(err.code))) {
    const message = 'The store refuses the log-in of the hub. The operator must check the store URL.';
    return new HubError('UNAVAILABLE', message, { cause: err, retryable: false, retryAfterMs: 1000 });
  }
  return isPassing(err) ? unavailable('The store cannot be reached now.', err) : err;
}

/** The names behind a `mongodb+srv` URL are looked up by Node itself. */
function isLookUp(err: unknown): boolean {
  return err instanceof Error && /^query(Srv|Txt)$/i.test((err as NodeJS.ErrnoException).syscall ?? '');
}

export function isTaken(err: unknown): boolean {
  return err instanceof MongoServerError && isDuplicate(err);
}

/** Refused before anything was written. */
const unwritten = new Set([10107, 13435, 13436, 14031]);
const neverSent = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClearedError', 'MongoPoolClosedError']);

/** True for a write that was sent, or may have been, and was not answered, or not for good. The driver repeats none. */
export function isUnanswered(err: unknown): boolean {
  if (!(err instanceof MongoError) || !isPassing(err)) return false;
  if (err instanceof MongoServerSelectionError || err.name === 'MongoNotConnectedError') return false;
  if (neverSent.has(err.name)) return false;
  return !(err instanceof MongoServerError) || !unwritten.has(Number(err.code));
}

/** FerretDB on SQLite answers an update that meets a unique value with an internal error and SQLite's words. */
function isDuplicate(err: MongoServerError): boolean {
  return err.code === duplicateKey || (err.code === 1 && err.message.includes('UNIQUE constraint failed'));
}

/** A driver error that is no answer of a server is about the way to it: closed pools, timeouts, broken sockets. */
function isPassing(err: MongoError): boolean {
  if (err instanceof MongoNetworkError || err instanceof MongoServerSelectionError) return true;
  if (err instanceof MongoServerError) {
    return passing.has(Number(err.code)) || err.hasErrorLabel('RetryableWriteError');
  }
  return !(err instanceof MongoAPIError) || err.name === 'MongoNotConnectedError';
}

export function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs: 1000 });
}
