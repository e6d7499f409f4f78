import { HubError } from '@datahub/service-kit/call/error';
import {
  MongoAPIError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';

const duplicateKey = 11000;
/** Transient errors: no primary, shutting down, write concern not reached, out of disk. */
const transient = new Set([
  6, 7, 50, 64, 79, 89, 91, 100, 112, 133, 134, 189, 262, 317, 358, 9001, 10107, 11600, 11602, 13435, 13436,
  14031,
]);
const refusedLogin = new Set([13, 18]);

/** The driver's messages contain hosts and users, so they stay in `cause`. */
export function fromMongodb(err: unknown): unknown {
  if (isDnsError(err)) return unavailable('The store cannot be reached now.', err);
  if (!(err instanceof MongoError)) return err;
  if (err instanceof MongoServerError && isDuplicate(err)) {
    return new HubError('CONFLICT', 'A resource with this id or unique value exists already.', {
      cause: err,
    });
  }
  if (err instanceof MongoServerError && refusedLogin.has(Number(err.code))) {
    const message = 'The store rejected the login of the hub. The operator must check the store URL.';
    return new HubError('UNAVAILABLE', message, { cause: err, retryable: false, retryAfterMs: 1000 });
  }
  return isTransient(err) ? unavailable('The store cannot be reached now.', err) : err;
}

/** For a `mongodb+srv` URL the driver resolves SRV and TXT records by Node's DNS client. */
function isDnsError(err: unknown): boolean {
  return err instanceof Error && /^query(Srv|Txt)$/i.test((err as NodeJS.ErrnoException).syscall ?? '');
}

export function isTaken(err: unknown): boolean {
  return err instanceof MongoServerError && isDuplicate(err);
}

/** Errors that the server reports before it writes anything. */
const unwritten = new Set([10107, 13435, 13436, 14031]);
const neverSent = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClearedError', 'MongoPoolClosedError']);

/** True for a write that may have been sent and has no definite answer. The driver repeats none. */
export function isUnanswered(err: unknown): boolean {
  if (!(err instanceof MongoError) || !isTransient(err)) return false;
  if (err instanceof MongoServerSelectionError || err.name === 'MongoNotConnectedError') return false;
  if (neverSent.has(err.name)) return false;
  return !(err instanceof MongoServerError) || !unwritten.has(Number(err.code));
}

/** FerretDB on SQLite reports a duplicate value of an update as an internal error with SQLite's message. */
function isDuplicate(err: MongoServerError): boolean {
  return err.code === duplicateKey || (err.code === 1 && err.message.includes('UNIQUE constraint failed'));
}

/** Driver errors that are no answer of a server concern the connection: closed pools, timeouts, broken sockets. */
function isTransient(err: MongoError): boolean {
  if (err instanceof MongoNetworkError || err instanceof MongoServerSelectionError) return true;
  if (err instanceof MongoServerError) {
    return transient.has(Number(err.code)) || err.hasErrorLabel('RetryableWriteError');
  }
  return !(err instanceof MongoAPIError) || err.name === 'MongoNotConnectedError';
}

export function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs: 1000 });
}
