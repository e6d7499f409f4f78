/** What MongoDB says → our errors. Its own words pass only where the command's text caused them, without values. */

import { type ErrorCode, HubError } from '@datahub/service-kit/call/error';
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

interface Rule {
  code: ErrorCode;
  retryable: boolean;
  /** Undefined: the server's words, masked. */
  text?: string;
}

const stopped: Rule = { code: 'STATEMENT_TIMEOUT', retryable: true, text: 'The command was stopped.' };
const tryAgain: Rule = {
  code: 'SQL_REJECTED',
  retryable: true,
  text: 'The database could not finish the command beside others. Try again.',
};
const otherServer: Rule = {
  code: 'SOURCE_UNREACHABLE',
  retryable: true,
  text: 'This server of the source takes no such command now: it is not the primary of its replica set. Name the set in replicaSet, or give the host of the primary or of a mongos.',
};
const logIn: Rule = { code: 'SOURCE_AUTH', retryable: false, text: logInRefused };
const duplicate: Rule = {
  code: 'CONSTRAINT',
  retryable: false,
  text: 'The database refuses the command: a document with the same value of a unique index is there already.',
};
const refused: Rule = { code: 'SQL_REJECTED', retryable: false };

/** By the server's error code. */
const rules: Record<number, Rule> = {
  13: {
    code: 'SQL_REJECTED',
    retryable: false,
    text: 'The database refuses the command: the user of the source may not do that.',
  },
  18: logIn,
  43: stopped,
  50: stopped,
  89: stopped,
  91: otherServer,
  112: tryAgain,
  121: {
    code: 'CONSTRAINT',
    retryable: false,
    text: 'The database refuses the command: a document does not fit the rules of its collection.',
  },
  189: otherServer,
  202: stopped,
  237: stopped,
  262: stopped,
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

/** The error of a reply, or the first of a write's documents; undefined when all went well. */
export function errorOf(reply: Document): ServerError | undefined {
  const { ok, code, errmsg, writeErrors, writeConcernError } = reply;
  const found = Number(ok) === 1 ? (writeErrors?.[0] ?? writeConcernError) : { code, errmsg };
  return found && { code: Number(found.code), message: String(found.errmsg ?? '') };
}

export function toHubError({ code, message }: ServerError, written = 0): HubError {
  const rule = rules[code] ?? refused;
  const before = written === 0 ? '' : ` Documents written before it: ${written}. They stay.`;
  return new HubError(rule.code, `${rule.text ?? mask(message)}${before}`, {
    retryable: rule.retryable && written === 0,
    sql: { state: String(code) },
  });
}

/** A write that its server could not pass on to the others it should be on. */
export function unknownOutcome(): HubError {
  return new HubError(
    'SOURCE_BROKEN',
    'The source carried the command out, but could not confirm that it is on enough of its servers: its outcome is unknown. Look at the source before you repeat it.',
    { retryable: false },
  );
}

/** Messages are shorter; a server that sends more wants to see how long it is looked at. */
const messageCharactersMax = 2_000;

/** From the first mark to the last, for a value holds marks of its own; to the end where a line break is in the value. */
const marked = /\{(?:.*\}|.*$)|\[(?:.*\]|.*$)|"(?:.*"|.*$)|(?<![a-z])'(?:.*'|.*$)/gi;

/** Values stand in braces, in quotes, or as numbers after a colon. */
function mask(message: string): string {
  const [line = ''] = message.slice(0, messageCharactersMax).split('\n');
  const words = line
    .replace(marked, '…')
    .replace(/: -?\d[\d.]*/g, ': …')
    .replace(/\.$/, '')
    .slice(0, 300);
  return `The database refuses the command: ${words}.`;
}

/** A failure while connecting, by what it is. */
export function toConnectError(err: unknown): HubError {
  // Before the log-in is done nothing can have run.
  if (err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  return new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', {
    cause: err,
    stage: 'connect',
    retryable: true,
  });
}

/** What a server says that wants a user and has none, or another one. */
const wantsUser = new Set([13, 18]);

/**
 * What the driver says while it connects. What is no server's refusal and no lost connection is about the log-in: a
 * proof that does not hold, a mechanism that the server has not.
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

/** Servers put users and hosts into their texts. */
const hidden = (err: MongoServerError) => new Error(`code ${String(err.code)}`);

const isLost = (err: MongoError) =>
  err instanceof MongoNetworkError ||
  err instanceof MongoServerSelectionError ||
  err instanceof MongoUnexpectedServerResponseError;

/** What the driver says of a command. */
export function toRunError(err: unknown, { hasUser }: { hasUser: boolean }): HubError {
  if (err instanceof HubError) return err;
  if (err instanceof MongoServerError) {
    if (!hasUser && wantsUser.has(Number(err.code))) return logInError(hidden(err));
    return toHubError({ code: Number(err.code), message: String(err.errorResponse.errmsg ?? '') });
  }
  if (err instanceof MongoServerSelectionError) return noServerError(err);
  // The command itself, before it was sent; what comes back is read by others.
  if (err instanceof BSON.BSONError && !isMisread(err)) return unfitError(err);
  return brokenError(err);
}

/** Nothing was sent. */
function noServerError(cause: MongoServerSelectionError): HubError {
  return new HubError(
    'SOURCE_UNREACHABLE',
    'No server of the source takes this command now: its replica set has no member for it. Try again.',
    { cause, retryable: true },
  );
}

/** A reply that is not what it says it is. */
export function isMisread(err: unknown): boolean {
  return (
    err instanceof RangeError ||
    err instanceof TypeError ||
    err instanceof BSON.BSONOffsetError ||
    err instanceof MongoUnexpectedServerResponseError
  );
}

export function unfitError(cause: unknown): HubError {
  return new HubError(
    'SQL_REJECTED',
    'The command holds a value that BSON cannot, such as an $oid that is none.',
    { cause, retryable: false },
  );
}

export function logInError(cause: unknown): HubError {
  return new HubError('SOURCE_AUTH', logInRefused, {
    cause,
    stage: 'connect',
    retryable: false,
  });
}

/** What a connection died of: what is said of it already, else that it broke. */
export function brokenError(cause?: unknown): HubError {
  if (cause instanceof HubError) return cause;
  return new HubError('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: false });
}
