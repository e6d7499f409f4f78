/**
 * What the driver can throw:
 * - `MongoServerError`: the server's answer, with a code.
 * - Other `MongoError`s: about connections (`MongoNetworkError`, `MongoServerSelectionError`, closed pools and clients), about
 *   bytes that are no valid answer (`MongoRuntimeError`, `MongoParseError`), or about a wrong call (`MongoAPIError`).
 * - `BSONError`: an answer that is no valid document.
 * - System errors as Node throws them: of DNS for a `mongodb+srv` URL, and of a socket that breaks while the driver waits
 *   until it has sent a large command.
 */
import { HubError } from '@datahub/service-kit/call/error';
import { isSystemError } from '@datahub/service-kit/call/system-error';
import {
  BSON,
  MongoAPIError,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoErrorLabel,
  MongoServerError,
} from 'mongodb';

/** What an error says about a call: `unsent` and `refused` calls had no effect, `unanswered` ones may have had. */
type Verdict = 'taken' | 'login' | 'refused' | 'unsent' | 'unanswered' | 'bug';

const duplicateKey = 11000;
/** No primary, or out of disk: the server reports these before it writes anything. */
const refused = new Set([10107, 13435, 13436, 14031]);
/** Internal and transient failures: shutting down, write concern not reached, interrupted. */
const failed = new Set([
  1, 6, 7, 8, 43, 50, 64, 79, 89, 91, 100, 112, 133, 134, 189, 202, 262, 317, 358, 9001, 11600, 11601, 11602,
]);
/** A mongos says so, with any code, if a shard does not answer. */
const unavailableAtShard = 'Write results unavailable';
const refusedLogin = new Set([13, 18]);
/** The driver's errors of calls that had no connection. */
const unsent = new Set([
  'MongoServerSelectionError',
  'MongoNotConnectedError',
  'MongoWaitQueueTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoExpiredSessionError',
]);

function verdictOf(err: unknown): Verdict {
  if (err instanceof MongoServerError) return verdictOfServer(err);
  if (err instanceof MongoError) {
    if (unsent.has(err.name) || isOfConnecting(err)) return 'unsent';
    // A closed client interrupts its calls. The other `MongoAPIError`s tell of wrong calls.
    const isBug = err instanceof MongoAPIError && !(err instanceof MongoClientClosedError);
    return isBug ? 'bug' : 'unanswered';
  }
  if (isSystemError(err)) return isOfConnecting({ cause: err }) ? 'unsent' : 'unanswered';
  return BSON.BSONError.isBSONError(err) ? 'unanswered' : 'bug';
}

function verdictOfServer(err: MongoServerError): Verdict {
  const code = Number(err.code);
  // FerretDB on SQLite reports a duplicate value of an update as an internal error with SQLite's message.
  if (code === duplicateKey || (code === 1 && err.message.includes('UNIQUE constraint failed')))
    return 'taken';
  if (refusedLogin.has(code)) return 'login';
  if (refused.has(code)) return 'refused';
  const hasFailed = failed.has(code) || err.message.startsWith(unavailableAtShard);
  return hasFailed || err.hasErrorLabel('RetryableWriteError') ? 'unanswered' : 'bug';
}

/** True for an error of DNS, of `connect`, or of the handshake. */
function isOfConnecting(err: { cause?: unknown }): boolean {
  if (err instanceof MongoError && err.hasErrorLabel(MongoErrorLabel.HandshakeError)) return true;
  const { syscall = '' } = (err.cause ?? {}) as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo' || syscall.startsWith('query');
}

/** The driver's messages contain hosts and users, so they stay in `cause`. Only a bug of the hub stays as it is. */
export function fromMongodb(err: unknown): unknown {
  switch (verdictOf(err)) {
    case 'bug':
      return err;
    case 'taken':
      return new HubError('CONFLICT', 'A resource with this id or unique value exists already.', {
        cause: err,
      });
    case 'login': {
      const message = 'The store rejected the login of the hub. The operator must check the store URL.';
      return new HubError('UNAVAILABLE', message, { cause: err, retryable: false, retryAfterMs: 1000 });
    }
    default:
      return unavailable('The store cannot be reached now.', err);
  }
}

/** True for an error that is no answer of the server. */
export function isOfConnection(err: unknown): boolean {
  const verdict = verdictOf(err);
  return !(err instanceof MongoServerError) && (verdict === 'unsent' || verdict === 'unanswered');
}

export function isTaken(err: unknown): boolean {
  return verdictOf(err) === 'taken';
}

/** True for the error of a write that may have been sent and has no definite answer. The driver repeats none. */
export function isUnanswered(err: unknown): boolean {
  return err instanceof HubError && verdictOf(err.cause) === 'unanswered';
}

/** The places in a batch of the documents that were not inserted, if each was refused for a value that exists. */
export function takenPlaces(err: unknown): number[] | undefined {
  const { cause } = err as { cause?: unknown };
  if (!(cause instanceof MongoBulkWriteError)) return undefined;
  const errors = [cause.writeErrors].flat();
  return errors.every(({ code }) => code === duplicateKey) ? errors.map(({ index }) => index) : undefined;
}

export function unavailable(message: string, cause?: unknown): HubError {
  return new HubError('UNAVAILABLE', message, { cause, retryable: true, retryAfterMs: 1000 });
}
