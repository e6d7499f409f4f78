/**
 * Converts errors of MongoDB. Passes on the server's message only if the command's text caused it, and without values.
 */

import { cutText } from '@datahub/contract/limits';
import { type ErrorCode, HubError, type SqlFault } from '@datahub/service-kit/call/error';
import {
  BSON,
  type Document,
  MongoCompatibilityError,
  MongoError,
  MongoErrorLabel,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  MongoUnexpectedServerResponseError,
} from 'mongodb';
import { logInRefused } from '../shared/login-guard.ts';
import { boundedNames } from '../shared/violation.ts';
import { type ChangesBeforeError, noChanges } from './changes-before-error.ts';

interface Rule {
  code: ErrorCode;
  retryable: boolean;
  /** The message; undefined for the server's message without values. */
  text?: string;
}

const stopped: Rule = { code: 'STATEMENT_TIMEOUT', retryable: true, text: 'The command was stopped.' };
const tryAgain: Rule = {
  code: 'SQL_REJECTED',
  retryable: true,
  text: 'The command conflicted with a concurrent one. Try again.',
};
const otherServer: Rule = {
  code: 'SOURCE_UNREACHABLE',
  retryable: true,
  text: 'This server cannot run the command because it is not the primary of its replica set. Set replicaSet, or use the host of the primary or of a mongos.',
};
const noShard: Rule = {
  code: 'SOURCE_UNREACHABLE',
  retryable: true,
  text: 'A server of the source cannot reach another one that the command needs. Try again.',
};
const logIn: Rule = { code: 'SOURCE_AUTH', retryable: false, text: logInRefused };
const duplicate: Rule = {
  code: 'CONSTRAINT',
  retryable: false,
  text: 'The database rejected the command: a document with the same value of a unique index already exists.',
};
const invalid: Rule = {
  code: 'CONSTRAINT',
  retryable: false,
  text: 'The database rejected the command: a document failed the validation of its collection.',
};
const refused: Rule = { code: 'SQL_REJECTED', retryable: false };

/** Rules by the server's error code. */
const rules: Record<number, Rule> = {
  6: noShard,
  7: noShard,
  13: {
    code: 'SQL_REJECTED',
    retryable: false,
    text: 'The database rejected the command: the user of the source lacks the permission.',
  },
  18: logIn,
  43: stopped,
  50: stopped,
  89: stopped,
  91: otherServer,
  112: tryAgain,
  121: invalid,
  133: noShard,
  189: otherServer,
  202: stopped,
  237: stopped,
  262: stopped,
  9001: noShard,
  10107: otherServer,
  11000: duplicate,
  11001: duplicate,
  11600: otherServer,
  11601: stopped,
  11602: otherServer,
  13435: otherServer,
  13436: otherServer,
};

export interface ServerError {
  code: number;
  message: string;
}

/** Returns the errors of a reply: those of documents whose writes failed, or else of the write concern. */
export function errorsOf({ writeErrors, writeConcernError }: Document): ServerError[] {
  const found: Document[] = writeErrors ?? (writeConcernError ? [writeConcernError] : []);
  return found.map(toServerError);
}

const toServerError = ({ code, errmsg }: Document): ServerError => ({
  code: Number(code),
  message: String(errmsg ?? ''),
});

/** Returns the error of a command that failed as a whole. */
export const errorOfWhole = ({ code, errorResponse }: MongoServerError): ServerError =>
  toServerError({ ...errorResponse, code });

export function toHubError({ code, message }: ServerError, changes = noChanges): HubError {
  const rule = rules[code] ?? refused;
  const isPartial = changes.counted > 0 || !changes.areAll;
  return new HubError(rule.code, `${rule.text ?? mask(message)}${toSentences(changes)}`, {
    retryable: rule.retryable && !isPartial,
    partial: isPartial,
    sql: { state: String(code), ...violationOf(rule, message) },
  });
}

function toSentences({ counted, areAll }: ChangesBeforeError): string {
  if (!areAll)
    return ' If it had changed documents before the error, they stay changed; the server did not count them. Check the data before you repeat it.';
  return counted === 0 ? '' : ` Documents written before the error: ${counted}. They were not rolled back.`;
}

/** The server names the index before the values. */
const ofDuplicate =
  /collection: (?<schema>[^\s."]+)\.(?<table>[^\s"]+) index: (?<constraint>[^\s"]+) (?:collation|dup key):?/;

function violationOf(rule: Rule, message: string): SqlFault {
  if (rule === invalid) return { condition: 'CHECK_VIOLATION' };
  if (rule !== duplicate) return {};
  const names = ofDuplicate.exec(message.slice(0, messageCharactersMax))?.groups ?? {};
  const { constraint, schema, table } = names;
  const known = boundedNames({ constraint, schema, table, columnName: undefined, dataType: undefined });
  return { condition: 'UNIQUE_VIOLATION', ...known };
}

/** The error of a write that was not replicated to enough servers. */
export function unconfirmedError(): HubError {
  return unknownOutcome(
    'The source ran the command, but could not confirm that it was replicated to enough servers, so its outcome is unknown. Check the data before you repeat it.',
  );
}

/** The codes of commands that the server stopped while they ran. */
const interruptions = new Set([50, 89, 91, 189, 202, 262, 11600, 11601, 11602]);

export const isInterruption = (code: unknown) => interruptions.has(Number(code));

/** The error of a stopped write to several documents. MongoDB keeps the changes that it has made until then. */
export function interruptedError(cause?: unknown): HubError {
  return unknownOutcome(
    'The command was stopped while it changed documents. The changes that it had made stay. Check the data before you repeat it.',
    cause,
  );
}

/** The codes of errors between a mongos and its shards, and of a mongos that stops while it waits for them. */
const lostBetween = new Set([6, 89, 91, 202, 9001, 11600]);
const sentToShard = /^Write results unavailable from (?!failing to target)/;

/**
 * True if a mongos has sent a write to a shard and does not know what became of it. It then has any code, and names the
 * shard.
 */
export const isLostAtShard = ({ code, message }: ServerError): boolean =>
  sentToShard.test(message) || (lostBetween.has(code) && !message.startsWith('Write results unavailable'));

export function lostAtShardError(cause?: unknown): HubError {
  return unknownOutcome(
    'The servers of the source lost the connection to each other, or stopped, while the command ran, so its outcome is unknown. Check the data before you repeat it.',
    cause,
  );
}

const unknownOutcome = (message: string, cause?: unknown) =>
  new HubError('OUTCOME_UNKNOWN', message, { cause, retryable: false });

/** Real messages are shorter. The limit bounds the time of the regular expressions on a hostile server's message. */
const messageCharactersMax = 2_000;

/**
 * Matches from the first quote to the last, because values can contain quotes; to the end if a value has a line break.
 */
const marked = /\{(?:.*\}|.*$)|\[(?:.*\]|.*$)|"(?:.*"|.*$)|(?<![a-z])'(?:.*'|.*$)/gi;

/** Removes values, which are in braces, in quotes, or numbers after a colon. */
function mask(message: string): string {
  const [line = ''] = message.slice(0, messageCharactersMax).split('\n');
  const words = line
    .replace(marked, '…')
    .replace(/: -?\d[\d.]*/g, ': …')
    .replace(/\.$/, '');
  return `The database rejected the command: ${cutText(words, 300)}.`;
}

/** The error of a failed connection. */
export function toConnectError(err: unknown): HubError {
  // No command can run before the log-in has finished.
  if (err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  return new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', {
    cause: err,
    stage: 'connect',
    retryable: true,
  });
}

/** The error codes of a server that requires or rejects authentication. */
const wantsUser = new Set([13, 18]);

/**
 * Converts an error that the driver reports while it connects. If the server rejected no command and the connection was
 * not lost, the log-in failed: the server's proof is wrong, or it does not support the mechanism.
 */
export function toLogInError(err: unknown, { user, authMechanism }: LogIn): HubError {
  if (err instanceof HubError || err instanceof MongoCompatibilityError) return toConnectError(err);
  if (err instanceof MongoServerError) {
    const isLogIn = wantsUser.has(Number(err.code)) || err.hasErrorLabel(MongoErrorLabel.HandshakeError);
    return isLogIn ? logInError(hidden(err)) : toConnectError(hidden(err));
  }
  const isReached = err instanceof MongoError && !isLost(err);
  return isReached && (user !== '' || authMechanism !== undefined) ? logInError(err) : toConnectError(err);
}

interface LogIn {
  user: string;
  authMechanism?: string;
}

/** The server's message is left out, because it can contain users and hosts. */
const hidden = (err: MongoServerError) => new Error(`code ${String(err.code)}`);

const isLost = (err: MongoError) =>
  err instanceof MongoNetworkError ||
  err instanceof MongoServerSelectionError ||
  err instanceof MongoUnexpectedServerResponseError;

/** Converts an error that the driver reports for a command. */
export function toRunError(err: unknown, { hasUser }: { hasUser: boolean }): HubError {
  if (err instanceof HubError) return err;
  if (err instanceof MongoServerError) {
    if (!hasUser && wantsUser.has(Number(err.code))) return logInError(hidden(err));
    return toHubError(errorOfWhole(err));
  }
  if (err instanceof MongoServerSelectionError) return noServerError(err);
  return brokenError(err);
}

/** The error if no server could be selected. Nothing was sent. */
function noServerError(cause: MongoServerSelectionError): HubError {
  return new HubError(
    'SOURCE_UNREACHABLE',
    'No member of the replica set can run this command now. Try again.',
    { cause, retryable: true },
  );
}

/** True for the error of a malformed reply. */
export function isMisread(err: unknown): boolean {
  return (
    err instanceof RangeError ||
    err instanceof TypeError ||
    err instanceof BSON.BSONError ||
    err instanceof MongoUnexpectedServerResponseError
  );
}

export function unfitError(cause: unknown): HubError {
  return new HubError(
    'SQL_REJECTED',
    'The command contains a value that BSON cannot encode, such as an invalid $oid.',
    { cause, retryable: false },
  );
}

export function tooLargeError(): HubError {
  return new HubError(
    'SQL_REJECTED',
    'The command is larger than the 16 MiB that MongoDB takes. Send fewer or shorter values.',
    { retryable: false },
  );
}

export function logInError(cause: unknown): HubError {
  return new HubError('SOURCE_AUTH', logInRefused, {
    cause,
    stage: 'connect',
    retryable: false,
  });
}

/** The error of a closed connection: `cause` if it is a HubError, else SOURCE_BROKEN. */
export function brokenError(cause?: unknown): HubError {
  if (cause instanceof HubError) return cause;
  return new HubError('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: true });
}
