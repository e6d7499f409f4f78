/**
 * Converts PostgreSQL's errors. Passes on the database's message only if the statement's text caused it, with masked
 * values.
 */

import { cutText } from '@datahub/contract/limits';
import { type ErrorCode, HubError, type SqlFault } from '@datahub/service-kit/call/error';
import { tlsError } from '../../network/tls.ts';
import { NeverAnswered, SetUpFailed, type Statement } from '../../ports/engine.ts';
import { logInRefused } from '../shared/login-guard.ts';
import { conflicted, readsOnly } from '../shared/outcomes.ts';
import { withoutQuoted } from '../shared/quoted.ts';
import { readFields } from './protocol.ts';
import { isRaised, violationOf } from './violations.ts';

interface Rule {
  code: ErrorCode;
  retryable: boolean;
  /** The message; undefined for the database's message with masked values. */
  text?: string;
}

/**
 * Rules by SQLSTATE, else by its class. An error during a statement says nothing about the connection, because SQL code
 * can raise any SQLSTATE. Only a closed socket shows that the connection has ended.
 */
const statementRules: Record<string, Rule> = {
  '25006': {
    code: 'SQL_REJECTED',
    retryable: false,
    text: readsOnly,
  },
  '40001': { code: 'SQL_REJECTED', retryable: true, text: conflicted },
  '40P01': { code: 'SQL_REJECTED', retryable: true, text: conflicted },
  '55P03': { code: 'SQL_REJECTED', retryable: true, text: conflicted },
  '23': { code: 'CONSTRAINT', retryable: false },
};

/** Errors that the server itself raised, outside of user code. */
const ownRules: Record<string, Rule> = {
  '57014': { code: 'STATEMENT_TIMEOUT', retryable: true, text: 'The statement was stopped.' },
  '53': {
    code: 'SOURCE_BUSY',
    retryable: true,
    text: 'The database has too few resources. Try again later.',
  },
};

/** No user code runs before the login is complete. */
const logInRules: Record<string, Rule> = {
  '53300': {
    code: 'SOURCE_BUSY',
    retryable: true,
    text: 'The database has no free connections. Try again later.',
  },
  '57P03': { code: 'SOURCE_UNREACHABLE', retryable: true, text: 'The source cannot be reached.' },
  '3D000': { code: 'SOURCE_AUTH', retryable: false, text: logInRefused },
  '28': { code: 'SOURCE_AUTH', retryable: false, text: logInRefused },
  '53': ownRules['53'] as Rule,
};

const ruleOf = (rules: Record<string, Rule>, state: string): Rule | undefined =>
  rules[state] ?? rules[state.slice(0, 2)];

/** The SQLSTATE, or an empty text if it is none: a hostile server can send any text, such as `__proto__`. */
function stateOf(fields: ReadonlyMap<string, string>): string {
  const state = fields.get('C') ?? '';
  return /^[0-9A-Z]{5}$/.test(state) ? state : '';
}

const refused: Rule = { code: 'SQL_REJECTED', retryable: false };

/** `charactersBefore` is what was sent in front of the statement. Without a text, the error has no position. */
export function toHubError(
  body: Buffer,
  statement: Partial<Pick<Statement, 'text' | 'errors' | 'apart'>> = {},
  charactersBefore = 0,
): HubError {
  const fields = readFields(body);
  const state = stateOf(fields);
  const rule =
    changeOfFormat(fields) ??
    (isOwn(fields) ? ruleOf(ownRules, state) : undefined) ??
    (hasWaited(fields) ? logInRules['53300'] : undefined) ??
    ruleOf(statementRules, state) ??
    refused;
  return new HubError(rule.code, rule.text ?? mask(fields, statement), {
    retryable: rule.retryable,
    sql: {
      state,
      ...placeOf(statement.text, Number(fields.get('P')) - charactersBefore),
      ...violationOf(fields, state, statement),
    },
  });
}

/**
 * Returns the parameter whose value the server could not parse (since PostgreSQL 13). User code cannot set this
 * context.
 */
function rejectedParameter(fields: ReadonlyMap<string, string>): string | undefined {
  return /^(?:unnamed portal|portal "[^"]*") parameter \$(\d+)/.exec(fields.get('W') ?? '')?.[1];
}

/** The check of a session's formats asks for a setting with this name, which no server has, and that of the changed one. */
export const changedFormat = 'datahub.changed';
const namesFormat = /"datahub\.changed\.([A-Za-z_]{1,40})"/;

function changeOfFormat(fields: ReadonlyMap<string, string>): Rule | undefined {
  if (fields.get('C') !== '42704') return undefined;
  const [, name] = namesFormat.exec(fields.get('M') ?? '') ?? [];
  if (name === undefined) return undefined;
  const text = `The statement, or a function that it calls, changed ${name}, so the hub cannot read the values of the result. Give the function the clause SET ${name} FROM CURRENT, or convert the values in the statement, for example with AT TIME ZONE or to_char.`;
  return { ...refused, text };
}

/** PgBouncer had no connection for the statement. SQL cannot raise an error with this severity. */
const hasWaited = (fields: ReadonlyMap<string, string>): boolean =>
  fields.get('S') === 'FATAL' && fields.get('M') === 'query_wait_timeout';

/** The server's function that cancels a statement. */
const stopRoutine = 'ProcessInterrupts';

/**
 * True if the server itself raised the error. An error in a function, a trigger or a foreign server has a context
 * (field W). A cancellation comes from one routine, whether in a function or not.
 */
function isOwn(fields: ReadonlyMap<string, string>): boolean {
  return fields.get('C') === '57014' ? fields.get('R') === stopRoutine : !fields.has('W');
}

/**
 * What an error says about a prepared statement: `refused` if the server rejected it before it ran; `doubtful` if user
 * code may have raised the error, so nothing may be repeated.
 */
export function stalenessOf(body: Buffer, names: readonly string[]): 'refused' | 'doubtful' | undefined {
  const fields = readFields(body);
  const [state, routine] = [fields.get('C'), fields.get('R')];
  if (!goneStates.has(state) && routine !== 'RevalidateCachedQuery') return undefined;
  if (fields.has('W')) return 'doubtful';
  const message = fields.get('M') ?? '';
  const isGone = goneRoutines.has(routine) && names.some((name) => message.includes(name));
  return isGone || routine === 'RevalidateCachedQuery' ? 'refused' : 'doubtful';
}

/** There is no such prepared statement, or SQL replaced it by one with another number of parameters. */
const goneStates = new Set<string | undefined>(['26000', '08P01']);
const goneRoutines = new Set<string | undefined>(['FetchPreparedStatement', 'exec_bind_message']);

/** True if the server itself is read-only, such as a standby. User code can raise the same state. */
export function isReadOnlyServer(body: Buffer): boolean {
  const fields = readFields(body);
  return fields.get('C') === '25006' && !fields.has('W');
}

/** True if there is no such prepared statement. */
export const isGone = (body: Buffer): boolean => goneStates.has(readFields(body).get('C'));

/**
 * Quoted names come from the statement, and a quoted text after a colon is a value. What user code quotes in its own
 * message may be any value.
 */
function mask(fields: ReadonlyMap<string, string>, statement: Pick<Statement, 'apart'>): string {
  const number = rejectedParameter(fields);
  const variable = number && (statement.apart?.params[Number(number) - 1] ?? Number(number) - 1);
  const what = variable === undefined ? 'the statement' : `the value of parameter $${Number(variable) + 1}`;
  // A hint of user code may have any value.
  const hint = isOwn(fields) ? fields.get('H') : undefined;
  const type = isOwn(fields) ? typeBesideText(fields) : undefined;
  const castAdvice = `A variable that is compared with this type needs a cast (:name::${type}), or no declared type.`;
  const advice = type !== undefined ? ` ${castAdvice}` : hint === undefined ? '' : ` ${maskLine(hint)}`;
  const text = fields.get('M') ?? '';
  const message = isOfUser(fields) ? cutText(withoutQuoted(text), lineCharactersMax) : maskLine(text);
  return `The database rejected ${what}: ${message}.${advice}`;
}

/** Returns the type that the statement compares with a text, if there is no such operator. */
function typeBesideText(fields: ReadonlyMap<string, string>): string | undefined {
  if (fields.get('C') !== '42883') return undefined;
  const [, left = '', right = ''] =
    /^operator does not exist: (.{1,128}) [-+*/<>=~!@#%^&|`?]{1,8} (.{1,128})$/.exec(fields.get('M') ?? '') ??
    [];
  const texts = new Set(['text', 'text[]', 'character varying']);
  if (texts.has(left) === texts.has(right)) return undefined;
  return texts.has(left) ? right : left;
}

function maskLine(text: string): string {
  const [line = ''] = text.split('\n');
  const words = line.replace(/: ".*$/s, '').replace(/(value|string|input) ".*?"/g, '$1');
  return withoutUnended(cutText(words, lineCharactersMax));
}

/** A quoted text without its end is the beginning of a value: of one with a line break, or of a long one. */
function withoutUnended(words: string): string {
  const isEven = words.split('"').length % 2 === 1;
  return isEven ? words : `${words.slice(0, words.lastIndexOf('"'))}"…"`;
}

const lineCharactersMax = 500;
/** The class of errors that functions in other languages raise. */
const externalClass = '38';
const isOfUser = (fields: ReadonlyMap<string, string>): boolean =>
  isRaised(fields, stateOf(fields)) || stateOf(fields).startsWith(externalClass);

/** The server counts characters from 1. */
function placeOf(statement: string | undefined, position: number): SqlFault {
  if (statement === undefined || !(position > 0)) return {};
  const before = [...statement].slice(0, position - 1).join('');
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
}

const tlsCodes = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/;

/** Converts a failure to connect. */
export function toConnectError(err: unknown): HubError {
  // Nothing can have run before the login is complete.
  if (err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  const { code = '' } = (err ?? {}) as { code?: string };
  if (tlsCodes.test(code)) return tlsError(err);
  return new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', {
    cause: err,
    stage: 'connect',
    retryable: true,
  });
}

/** The server rejected the `options` of the startup message. */
export class OptionsRefused extends HubError {
  constructor(cause: Error) {
    const text = 'The source rejects session settings in the startup message.';
    super('SOURCE_UNREACHABLE', text, { cause, stage: 'connect', retryable: false });
  }
}

/** Messages of PgBouncer and RDS Proxy. */
const optionsRefused = /unsupported startup parameter|support command-line options/i;

/**
 * PgBouncer and RDS Proxy report every login failure with the first, Pgpool-II with the second. Only the message tells
 * them apart.
 */
const poolerStates = ['08P01', 'XX000'];
const poolerRules: [RegExp, Rule | undefined][] = [
  [/password|authentication|no such (user|database)/i, logInRules['28']],
  [/no more connections|query_wait_timeout/i, logInRules['53300']],
];

const ruleByWords = (state: string, message: string) =>
  poolerStates.includes(state) ? poolerRules.find(([words]) => words.test(message))?.[1] : undefined;

/** Converts an error of the login. The server's message is not passed on, because it contains hosts and users. */
export function logInError(body: Buffer): HubError {
  const fields = readFields(body);
  const state = stateOf(fields);
  const message = fields.get('M') ?? '';
  const code = state === '' ? undefined : state;
  const options = { cause: Object.assign(new Error(`state ${state}`), { code }), stage: 'connect' as const };
  // In two expressions, because one with `.*` takes long for a long message of a hostile server.
  if (/no pg_hba.conf entry/i.test(message) && /no encryption|SSL off/i.test(message)) {
    const text = 'The source accepts only TLS connections. Set tls.mode to require.';
    return new HubError('SOURCE_TLS', text, { ...options, retryable: false });
  }
  if (optionsRefused.test(message)) return new OptionsRefused(options.cause);
  const rule = ruleByWords(state, message) ?? ruleOf(logInRules, state);
  if (rule?.text === undefined) return toConnectError(options.cause);
  return new HubError(rule.code, rule.text, { ...options, retryable: rule.retryable });
}

/** The error of a session that broke, or that the server refused to set up, after it accepted the log-in. */
export function setUpError(err: unknown): HubError {
  if (!(err instanceof HubError) || err.code === 'SOURCE_BROKEN') return new SetUpFailed(toConnectError(err));
  const { state = '' } = err.sql ?? {};
  // Poolers accept a log-in before the database behind them does.
  const rule = ruleByWords(state, err.message) ?? (state.startsWith('28') ? logInRules['28'] : undefined);
  if (rule?.text !== undefined)
    return new HubError(rule.code, rule.text, { cause: err, stage: 'connect', retryable: rule.retryable });
  return err.code === 'SQL_REJECTED' ? SetUpFailed.refused(err) : new SetUpFailed(err);
}

/** The error of a closed connection: `cause` if it is a HubError, else SOURCE_BROKEN. */
export function brokenError(cause?: unknown, { unanswered = false } = {}): HubError {
  if (cause instanceof HubError) return cause;
  if (unanswered) return new NeverAnswered(cause);
  return new HubError('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: true });
}

/** The message with which PgBouncer ends a session that has begun a transaction. */
const noTransactions = 'transaction blocks not allowed in statement pooling mode';

/** The error to report if a session broke because its pooler has no transactions. */
export function poolsByStatement(err: unknown): HubError | undefined {
  const { cause } = err instanceof HubError ? err : {};
  if (!Buffer.isBuffer(cause) || readFields(cause).get('M') !== noTransactions) return undefined;
  const text =
    'The pooler in front of the source pools by statement (pool_mode = statement of PgBouncer), and the hub needs transactions. Choose transaction or session pooling for its database.';
  return new HubError('SOURCE_UNREACHABLE', text, { cause: err, retryable: false });
}

export const cursorRefused = (column: string) =>
  new HubError(
    'SQL_REJECTED',
    `The statement returns a cursor in its column ${JSON.stringify(column)}, and the hub does not read rows from cursors. Return the rows themselves, from a function that RETURNS TABLE or SETOF.`,
    { retryable: false },
  );

export const typesTooDeep = () =>
  new HubError(
    'SQL_REJECTED',
    'A type in the statement is an array or a domain of types that nest deeper than the hub reads. Convert the value in the statement, for example with a cast to text.',
    { retryable: false },
  );

/** The server rejected the prepared statement of a read before it ran. */
export class RefusedPlan extends Error {
  readonly body: Buffer;
  constructor(body: Buffer) {
    super('The prepared statement is stale.');
    this.body = body;
  }
}

/** Behind a pooler, a statement ran at another server than the one that described it, and was rolled back. */
export class MovedServer extends HubError {
  constructor() {
    super('SOURCE_BROKEN', 'The server behind the pooler was replaced while the statement ran.', {
      retryable: true,
    });
  }
}

export const hasNoEffect = (err: unknown): boolean =>
  err instanceof RefusedPlan || err instanceof MovedServer;

export function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.code !== 'STATEMENT_TIMEOUT') return err;
  return new HubError('CANCELLED', 'The statement was stopped.', { cause: err });
}
