/**
 * Converts errors of MySQL and MariaDB. Passes on the server's message only if the statement's text caused it, without
 * values.
 */

import { cutText } from '@datahub/contract/limits';
import { type ErrorCode, HubError, type HubErrorOptions } from '@datahub/service-kit/call/error';
import { withoutEnd } from '@datahub/service-kit/without-end';
import { noTlsError, tlsError } from '../../network/tls.ts';
import { NeverAnswered, SetUpFailed, type Statement } from '../../ports/engine.ts';
import { logInRefused } from '../shared/login-guard.ts';
import { conflicted, readsOnly } from '../shared/outcomes.ts';
import { withoutQuoted } from '../shared/quoted.ts';
import { raisedTexts } from '../shared/violation.ts';
import { columnsMax } from './protocol.ts';
import { namesOf } from './text.ts';
import { isRaised, violationOf } from './violations.ts';

interface Rule {
  code: ErrorCode;
  retryable: boolean;
  /** The message; undefined for the server's message without values. */
  text?: string;
}

const auth: Rule = { code: 'SOURCE_AUTH', retryable: false, text: logInRefused };
const constraint: Rule = { code: 'CONSTRAINT', retryable: false };
const refused: Rule = { code: 'SQL_REJECTED', retryable: false };
const contention: Rule = {
  code: 'SQL_REJECTED',
  retryable: true,
  text: conflicted,
};
const busy: Rule = {
  code: 'SOURCE_BUSY',
  retryable: true,
  text: 'The database has no free connections. Try again later.',
};
const full: Rule = {
  code: 'SQL_REJECTED',
  retryable: true,
  text: 'The database has reached a limit on statements. Try again later.',
};
const readOnly: Rule = {
  code: 'SQL_REJECTED',
  retryable: false,
  text: readsOnly,
};
const timeout: Rule = { code: 'STATEMENT_TIMEOUT', retryable: true, text: 'The statement was stopped.' };
const stopped: Rule = { code: 'CANCELLED', retryable: true, text: 'The statement was stopped.' };

/** Of the user's resources, and of prepared statements. */
const limitNumbers = [1226, 1461];
const numbered = (numbers: number[], rule: Rule) => numbers.map((number) => [number, rule] as const);

/**
 * These numbers say nothing about the connection, because SQL can raise any error number with SIGNAL. Only a closed
 * socket shows that the connection has ended.
 */
const statementRules = new Map<number, Rule>([
  ...numbered(
    [1022, 1048, 1062, 1169, 1216, 1217, 1451, 1452, 1557, 1586, 1761, 1762, 3819, 4025],
    constraint,
  ),
  ...numbered([1205, 1213, 1020], contention),
  ...numbered(limitNumbers, full),
  ...numbered([1792, 1290, 1836], readOnly),
  ...numbered([1969, 3024], timeout),
  [1317, stopped],
]);

/** No user's SQL can raise these numbers before the log-in has finished. */
const logInRules = new Map<number, Rule>([
  ...numbered([1044, 1045, 1049, 1251, 1275, 1698, 1820, 1862, 3118, 3955, 4151], auth),
  ...numbered([1040, 1203, ...limitNumbers], busy),
]);

/** The errors with which a server announces that it closes the connection. */
const endings = new Set([1053, 1927, 1152, 1153, 1158, 1159, 1160, 1161]);

/**
 * The server announced that it closes the connection, or SQL raised the number. A closed socket confirms the former.
 */
export class ConnectionEnds extends HubError {}

/** ER_UNSUPPORTED_PS: the server takes the statement only as a text without values. */
const notPreparable = 1295;
export class NotPreparable extends HubError {}

/** Converts the ERR packet at `start`. */
export function toHubError(source: Buffer, start: number, end: number): HubError {
  const number = source.readUInt16LE(start + 1);
  const hasState = source[start + 3] === 0x23;
  const state = hasState ? source.toString('latin1', start + 4, start + 9) : undefined;
  const from = start + (hasState ? 9 : 3);
  const message = source
    .toString('utf8', from, Math.min(end, from + 4 * messageCharactersMax))
    .slice(0, messageCharactersMax);
  const rule = statementRules.get(number) ?? refused;
  const sql = { ...(state === undefined ? {} : { state }), ...violationOf(number, state, message) };
  const options = { retryable: rule.retryable, sql };
  const text = rule.text ?? redact(number, message);
  if (endings.has(number)) return new ConnectionEnds(rule.code, text, options);
  if (number === notPreparable) {
    const message = 'The database takes no values in this statement. Write them into its text.';
    return new NotPreparable(rule.code, message, options);
  }
  const raised = isRaised(number, state) ? message : undefined;
  const place = placeOf(number, message);
  const isOfServer = rule === full || rule === readOnly;
  return new RejectedStatement(rule.code, text, { ...options, place, raised, isOfServer });
}

/** The part of the statement that a message quotes: the rest of the text from the fault on, or a name. */
type Place = { rest: string; line: number } | { name: string[]; clause: string };

interface Rejection {
  place: Place | undefined;
  /** The text of SIGNAL. */
  raised: string | undefined;
  /** True if the error says that a limit is reached, or that the server only reads: not what the text asked for. */
  isOfServer: boolean;
}

/** An error before `reported` adds what depends on the statement. */
class RejectedStatement extends HubError {
  readonly place: Place | undefined;
  readonly raised: string | undefined;
  readonly isOfServer: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    { place, raised, isOfServer, ...options }: HubErrorOptions & Rejection,
  ) {
    super(code, message, options);
    this.place = place;
    this.raised = raised;
    this.isOfServer = isOfServer;
  }
}

/**
 * Returns the error with the text of SIGNAL if the statement asks for it, and with the position in the text that ran if
 * it can be found: the servers report a line at most.
 */
export function reported(err: unknown, { text, errors }: Pick<Statement, 'text' | 'errors'>): unknown {
  if (!(err instanceof RejectedStatement)) return err;
  const sql = {
    ...err.sql,
    ...(err.place === undefined ? {} : positionOf(err.place, text)),
    ...(err.raised !== undefined && errors === 'author' ? raisedTexts(err.raised) : {}),
  };
  return new HubError(err.code, err.message, { retryable: err.retryable ?? false, sql });
}

function positionOf(place: Place, text: string): { line?: number; column?: number } {
  const at = 'rest' in place ? findRest(text, place) : findName(text, place);
  if (at === undefined) return {};
  const before = text.slice(0, at);
  const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1;
  return { line: before.split('\n').length, column };
}

/** Errors that name a missing column, table or function. */
const naming: [numbers: number[], RegExp][] = [
  [[1054], /^Unknown column '(?<name>.*)' in '(?<clause>[^']*)'$/],
  [[1146, 1051], /^(?:Table|Unknown table) '[^.']*\.(?<name>[^']*)'/],
  [[1305], /^(?:FUNCTION|PROCEDURE) (?:\S*\.)?(?<name>\S+) does not exist/],
];

/** A name has at most three parts: database, table and column. */
const namePartsMax = 3;

function placeOf(number: number, text: string): Place | undefined {
  if (number === 1064) {
    const [, rest, line] = /near '(.*)' at line (\d+)$/s.exec(text) ?? [];
    return rest === undefined ? undefined : { rest, line: Number(line) };
  }
  const { name, clause = '' } =
    naming.find(([numbers]) => numbers.includes(number))?.[1].exec(text)?.groups ?? {};
  const parts = number === 1054 ? name?.toLowerCase().split('.') : name && [name.toLowerCase()];
  return parts && parts.length <= namePartsMax ? { name: parts, clause } : undefined;
}

/** The servers cut the quoted rest after 80 characters, and remove blanks and semicolons at the end of a statement. */
function findRest(text: string, { rest, line }: { rest: string; line: number }): number | undefined {
  const whole = withoutEnd(text, /[\s;]/);
  if (whole.endsWith(rest)) return whole.length - rest.length;
  const shown = rest.replace(/\.\.\.$|\ufffd+$/, '');
  // The servers also remove blanks before the statement.
  const skipped = (/^\s*/.exec(text)?.[0] ?? '').split('\n').length - 1;
  const first = text.indexOf(shown);
  const lineAt = startOfLine(text, line + skipped);
  const inLine = lineAt === undefined ? -1 : text.indexOf(shown, lineAt);
  const lineEnd = lineAt === undefined ? -1 : text.indexOf('\n', lineAt);
  const isInLine = inLine >= 0 && (lineEnd < 0 || inLine <= lineEnd);
  return isInLine ? inLine : first < 0 ? undefined : first;
}

/** Undefined if the text has fewer lines. */
function startOfLine(text: string, line: number): number | undefined {
  let at = 0;
  for (let before = line - 1; before > 0; before--) {
    const end = text.indexOf('\n', at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  return at;
}

/** Returns the position of the first use of a name in the clause that the server names. */
function findName(text: string, { name, clause }: { name: string[]; clause: string }): number | undefined {
  const words = namesOf(text);
  const keyword = /^(where|having|order|group|on)\b/i.exec(clause)?.[1]?.toLowerCase();
  const begin = words.findIndex(({ word }) => word === keyword);
  const used = words.slice(Math.max(0, begin)).find((_, i, from) => {
    const isDotted = text.slice(0, from[i]?.at).trimEnd().endsWith('.');
    return (
      (name.length > 1 || !isDotted || clause === '') && name.every((part, k) => from[i + k]?.word === part)
    );
  });
  return used?.at;
}

/** Errors that quote the statement's text. In all others the quoted part may be a value. */
const quotesText = new Set([
  1054, 1064, 1146, 1305, 1051, 1109, 1091, 1364, 1366, 1136, 1052, 1060, 1061, 1072, 1630, 1049,
]);

/** Real messages are shorter. The limit bounds the time of the regular expressions on a hostile server's message. */
const messageCharactersMax = 2_000;

/** Removes quoted values. */
function redact(number: number, message: string): string {
  const [line = ''] = message.split('\n');
  const shown = quotesText.has(number) && number !== 1366 ? line : withoutQuoted(line);
  // This removes the name of the database before the name of a table.
  const named = shown
    .replace(/`[^`]+`\.(`[^`]+`\.`[^`]+`)/g, '$1')
    .replace(/(table|function|procedure) '?[^'.\s]+\.([^'\s]+)'?/gi, "$1 '$2'");
  return `The database rejected the statement: ${cutText(named, 500)}.`;
}

const tlsCodes =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO|HANDSHAKE_SSL_ERROR)/;

/** The server's require_secure_transport is on. */
const insecureRefused = 3159;

/** The code of the hub's refusal to send the whole password. */
export const wholePasswordCode = 'AUTH_WHOLE_PASSWORD';

/** The error of a failed connection, without the driver's message, which contains hosts and users. */
export function toConnectError(err: unknown): HubError {
  // No statement can run before the log-in has finished.
  if (err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  const { code = '', errno } = (err ?? {}) as { code?: string; errno?: number };
  const rule = errno === undefined ? undefined : logInRules.get(errno);
  if (rule?.text !== undefined)
    return new HubError(rule.code, rule.text, { cause: err, stage: 'connect', retryable: rule.retryable });
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') return noTlsError();
  if (errno === insecureRefused)
    return new HubError('SOURCE_TLS', 'The source accepts only TLS connections. Set tls.mode to require.', {
      cause: err,
      stage: 'connect',
      retryable: false,
    });
  if (tlsCodes.test(code)) return tlsError(err);
  if (code === 'MYSQL_CLEAR_PASSWORD_NOT_ENABLED') {
    return new HubError(
      'SOURCE_AUTH',
      'The source asks for the password in clear text, which the hub sends only for passwordFrom. Choose another authentication plugin for the user.',
      { cause: err, stage: 'connect', retryable: false },
    );
  }
  if (code === wholePasswordCode) {
    return new HubError(
      'SOURCE_AUTH',
      'The source asks for the whole password, which the hub sends to MariaDB only with tls.mode verify-full. If the source is MySQL, register it with the engine mysql.',
      { cause: err, stage: 'connect', retryable: false },
    );
  }
  const [, plugin] =
    /unknown plugin ([\w.-]{1,64})\. See /.exec((err as Error | undefined)?.message ?? '') ?? [];
  if (plugin !== undefined) {
    return new HubError(
      'SOURCE_AUTH',
      `The source requires the authentication plugin ${plugin}, which the hub does not support. Choose another one for the user: ed25519 or mysql_native_password at MariaDB, caching_sha2_password at MySQL.`,
      { cause: err, stage: 'connect', retryable: false },
    );
  }
  if (/AUTH/.test(code))
    return new HubError('SOURCE_AUTH', logInRefused, {
      cause: err,
      stage: 'connect',
      retryable: false,
    });
  return new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', {
    cause: err,
    stage: 'connect',
    retryable: true,
  });
}

/** Proxies accept a log-in before the database behind them does. */
const accessDenied = '28000';

/** The error of a session that broke, or that the server refused to set up, after it accepted the log-in. */
export function setUpError(err: unknown): HubError {
  if (!(err instanceof HubError) || err.code === 'SOURCE_BROKEN') return new SetUpFailed(toConnectError(err));
  if (err.sql?.state === accessDenied)
    return new HubError(auth.code, logInRefused, { cause: err, stage: 'connect', retryable: false });
  const failure = serverError(err) ?? err;
  return failure.code === 'SQL_REJECTED' ? SetUpFailed.refused(failure) : new SetUpFailed(failure);
}

/**
 * The error if a command of the hub's own met a limit of the server, or a server that only reads, such as a primary after
 * a fail-over. No SQL of users raises its number there.
 */
function serverError(cause: HubError): HubError | undefined {
  if (!(cause instanceof RejectedStatement && cause.isOfServer)) return undefined;
  const { message, retryable } = cause;
  return retryable
    ? new HubError('SOURCE_BUSY', message, { cause, retryable })
    : new HubError(cause.code, message, { cause, retryable: false });
}

export const formatError = (setting: string) =>
  new HubError(
    'SQL_REJECTED',
    `The statement, or a routine that it calls, changed ${setting}, so the hub cannot read the values of the result. Convert the values in the statement instead, for example with CONVERT_TZ.`,
    { retryable: false },
  );

export const leftOpenError = () =>
  new HubError(
    'SQL_REJECTED',
    'The procedure left a transaction open, and the hub rolled it back. What the procedure committed before stays. End each transaction in it with COMMIT or ROLLBACK.',
    { retryable: false },
  );

/** The error if a command of the hub's own failed before the statement could change anything. */
export function controlError(cause: unknown): HubError {
  if (cause instanceof ConnectionEnds) return cause;
  if (cause instanceof HubError && cause.code !== 'SQL_REJECTED') return cause;
  const ofServer = cause instanceof HubError ? serverError(cause) : undefined;
  if (ofServer !== undefined) return ofServer;
  return new HubError(
    'SOURCE_UNREACHABLE',
    'The source refused a command that the hub runs before a statement.',
    {
      cause,
      retryable: true,
    },
  );
}

/** The error of a closed connection: `cause` if it is a HubError, else SOURCE_BROKEN. */
export function brokenError(cause?: unknown, { unanswered = false } = {}): HubError {
  if (cause instanceof HubError && !(cause instanceof ConnectionEnds)) return cause;
  if (unanswered) return new NeverAnswered(cause);
  return new HubError('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: true });
}

/** Whether a KILL has ended the statement. */
export const wasKilled = (err: unknown): boolean => err instanceof HubError && err.code === 'CANCELLED';

export function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.code !== 'STATEMENT_TIMEOUT') return err;
  return stoppedError(err);
}

export const stoppedError = (cause?: unknown) =>
  new HubError('CANCELLED', 'The statement was stopped.', { cause });

/** Not SOURCE_BROKEN, since a retry would fail, too. */
export const tooWideError = () =>
  new HubError('SQL_REJECTED', `The result has more than ${columnsMax} columns. Select fewer of them.`, {
    retryable: false,
  });

/** MySQL drops ORDER BY in some subqueries. The values would be those of other variables. */
export const droppedError = () =>
  new HubError(
    'SQL_REJECTED',
    'The database drops a part of the statement in which a variable is, such as an ORDER BY in a subquery. Leave it out.',
    { retryable: false },
  );

export const outTextError = () =>
  new HubError(
    'SQL_REJECTED',
    'An OUT parameter has a text in the character set of its declaration, and MySQL does not say which it is. SELECT the value in the procedure.',
    { retryable: false },
  );

export const tooLargeError = () => new HubError('TOO_LARGE', 'The values are too large for the database.');
