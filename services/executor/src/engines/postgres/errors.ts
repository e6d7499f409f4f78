/** What PostgreSQL says → our errors. Its own words pass only where the statement's text caused them, without values. */

import { type ErrorCode, HubError, type SqlFault } from '@datahub/service-kit/call/error';
import { NeverAnswered } from '../../engine.ts';
import { tlsError } from '../../network/tls.ts';
import { logInRefused } from '../shared/login-guard.ts';
import { readFields } from './protocol.ts';

interface Rule {
  code: ErrorCode;
  retryable: boolean;
  /** Undefined: the database's words, masked. */
  text?: string;
}

const tryAgain = 'The database could not finish the statement beside others. Try again.';

/**
 * By SQLSTATE, else by its class. Of a statement it never tells anything about the connection: SQL may raise any state,
 * and a server that ends a connection says so by ending it.
 */
const statementRules: Record<string, Rule> = {
  '25006': {
    code: 'SQL_REJECTED',
    retryable: false,
    text: 'The statement writes, but its command only reads. Write with a command that does, such as INSERT, UPDATE, DELETE or CALL: a SELECT never may, not in a function either.',
  },
  '40001': { code: 'SQL_REJECTED', retryable: true, text: tryAgain },
  '40P01': { code: 'SQL_REJECTED', retryable: true, text: tryAgain },
  '55P03': { code: 'SQL_REJECTED', retryable: true, text: tryAgain },
  '23': { code: 'CONSTRAINT', retryable: false },
};

/** What the server itself says, outside of any code of the users. */
const ownRules: Record<string, Rule> = {
  '57014': { code: 'STATEMENT_TIMEOUT', retryable: true, text: 'The statement was stopped.' },
  '53': { code: 'SOURCE_BUSY', retryable: true, text: 'The database is short of resources.' },
};

/** Before a log-in is done no code of the users has run. */
const logInRules: Record<string, Rule> = {
  '53300': { code: 'SOURCE_BUSY', retryable: true, text: 'The database takes no more connections.' },
  '57P03': { code: 'SOURCE_UNREACHABLE', retryable: true, text: 'The source cannot be reached.' },
  '3D000': { code: 'SOURCE_AUTH', retryable: false, text: logInRefused },
  '28': { code: 'SOURCE_AUTH', retryable: false, text: logInRefused },
  '53': ownRules['53'] as Rule,
};

const ruleOf = (rules: Record<string, Rule>, state: string): Rule | undefined =>
  rules[state] ?? rules[state.slice(0, 2)];

const refused: Rule = { code: 'SQL_REJECTED', retryable: false };

export function toHubError(body: Buffer, statement: string | undefined): HubError {
  const fields = readFields(body);
  const state = fields.get('C') ?? '';
  const rule =
    (isOwn(fields) ? ruleOf(ownRules, state) : undefined) ?? ruleOf(statementRules, state) ?? refused;
  return new HubError(rule.code, rule.text ?? mask(fields.get('M') ?? ''), {
    retryable: rule.retryable,
    sql: { state, ...placeOf(statement, Number(fields.get('P'))) },
  });
}

/** The server's function that stops a statement. */
const stopRoutine = 'ProcessInterrupts';

/**
 * True where the server says it of itself. Within a function, a trigger or another server the error has a context, and
 * what stops a statement is one routine, in a function or not.
 */
function isOwn(fields: ReadonlyMap<string, string>): boolean {
  return fields.get('C') === '57014' ? fields.get('R') === stopRoutine : !fields.has('W');
}

/**
 * What an error says of the plan that a prepared statement had: `refused` when the statement was sent back before it
 * ran; `doubtful` when code of the users may have raised it, so that nothing may be repeated.
 */
export function stalenessOf(body: Buffer, name: string): 'refused' | 'doubtful' | undefined {
  const fields = readFields(body);
  const [state, routine] = [fields.get('C'), fields.get('R')];
  if (state !== '26000' && routine !== 'RevalidateCachedQuery') return undefined;
  if (fields.has('W')) return 'doubtful';
  const isGone = routine === 'FetchPreparedStatement' && fields.get('M')?.includes(name) === true;
  return isGone || routine === 'RevalidateCachedQuery' ? 'refused' : 'doubtful';
}

/** True when the server itself refuses to write, as a standby does. Code of the users may raise the same state. */
export function isReadOnlyServer(body: Buffer): boolean {
  const fields = readFields(body);
  return fields.get('C') === '25006' && !fields.has('W');
}

/** True when there is no such prepared statement. */
export const isGone = (body: Buffer): boolean => readFields(body).get('C') === '26000';

/** Quoted names are the statement's own; what stands in quotes after a colon is a value. */
function mask(message: string): string {
  const [line = ''] = message.split('\n');
  return `The database refuses the statement: ${line
    .replace(/: ".*$/s, '')
    .replace(/(value|string|input) ".*?"/g, '$1')
    .slice(0, 500)}.`;
}

/** The server counts characters from 1. */
function placeOf(statement: string | undefined, position: number): SqlFault {
  if (statement === undefined || !(position > 0)) return {};
  const before = [...statement].slice(0, position - 1).join('');
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
}

const tlsCodes = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/;

/** A failure while connecting, by what it is. */
export function toConnectError(err: unknown): HubError {
  // Before the log-in is done nothing can have run.
  if (err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  const { code = '' } = (err ?? {}) as { code?: string };
  if (tlsCodes.test(code)) return tlsError(err);
  return new HubError('SOURCE_UNREACHABLE', 'The source cannot be reached.', {
    cause: err,
    stage: 'connect',
    retryable: true,
  });
}

/** The start-up was refused because of its `options`. */
export class OptionsRefused extends HubError {
  constructor(cause: Error) {
    const text = 'The source refuses settings of the session at the log-in.';
    super('SOURCE_UNREACHABLE', text, { cause, stage: 'connect', retryable: false });
  }
}

/** PgBouncer, and RDS Proxy. */
const optionsRefused = /unsupported startup parameter|support command-line options/i;

/** Poolers give one state, that of a protocol error, for whatever is wrong with a log-in: their words tell. */
const poolerState = '08P01';
const poolerRules: [RegExp, Rule | undefined][] = [
  [/password|authentication|no such (user|database)/i, logInRules['28']],
  [/no more connections/i, logInRules['53300']],
];

/** What the server says at the log-in, in our own words: its own hold hosts and users. */
export function logInError(body: Buffer): HubError {
  const fields = readFields(body);
  const [state = '', message = ''] = [fields.get('C'), fields.get('M')];
  // A server may send anything for a state, and this goes into the log.
  const code = /^[0-9A-Z]{5}$/.test(state) ? state : undefined;
  const options = { cause: Object.assign(new Error(`state ${state}`), { code }), stage: 'connect' as const };
  if (/no pg_hba.conf entry.*(no encryption|SSL off)/i.test(message)) {
    const text = 'The source takes this log-in over TLS only. Set the mode to require.';
    return new HubError('SOURCE_TLS', text, { ...options, retryable: false });
  }
  if (optionsRefused.test(message)) return new OptionsRefused(options.cause);
  const byWords = state === poolerState ? poolerRules.find(([words]) => words.test(message))?.[1] : undefined;
  const rule = byWords ?? ruleOf(logInRules, state);
  if (rule?.text === undefined) return toConnectError(options.cause);
  return new HubError(rule.code, rule.text, { ...options, retryable: rule.retryable });
}

/** What a connection died of: what is said of it already, else that it broke. */
export function brokenError(cause?: unknown, { unanswered = false } = {}): HubError {
  if (cause instanceof HubError) return cause;
  if (unanswered) return new NeverAnswered(cause);
  return new HubError('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: false });
}

/** The prepared statement of a read was sent back before it ran. */
export class RefusedPlan extends Error {
  readonly body: Buffer;
  constructor(body: Buffer) {
    super('The prepared statement is stale.');
    this.body = body;
  }
}

export function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.code !== 'STATEMENT_TIMEOUT') return err;
  return new HubError('CANCELLED', 'The statement was stopped.', { cause: err });
}
