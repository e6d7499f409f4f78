/** The error of a failed execution: the stage that failed, and the position in the stored text. */

import { type CallSignal, isDeadline } from '@datahub/service-kit/call/call';
import { HubError, reword, type SqlFault, type Stage, toHubError } from '@datahub/service-kit/call/error';

/** Codes of requests that fail before anything happens on the way to the database: their errors name no stage. */
const withoutStage = new Set([
  'KEY_MISSING',
  'SCOPE_DENIED',
  'CLAIM_MISSING',
  'NOT_FOUND',
  'SOURCE_GONE',
  'CONTEXT_INVALID',
  'OPTION_REFUSED',
  'VERSION_CHANGED',
]);

/** Rewrites an error about the text that was run as one about the stored text. */
export interface ErrorMapping {
  mapLocation(fault: SqlFault): SqlFault;
  /** Names variables instead of placeholders, and leaves out values. */
  redactMessage(message: string): string;
}

export const identity: ErrorMapping = { mapLocation: (fault) => fault, redactMessage: (message) => message };

const unquoted = (text: string) => text.replaceAll('"', '').toLowerCase();

/**
 * Replaces values, and parts of them, in quotes by `"…"`, as in the error of `:name::regclass`: the key may have set the
 * value, and the caller must not learn it. Other quoted names, and those in the text of the statement, stay.
 */
export function withoutValues(message: string, params: readonly unknown[], text = ''): string {
  if (!message.includes('"')) return message;
  const values = params.filter((param) => typeof param === 'string');
  const same = new Set(values.map(unquoted));
  const lower = values.map((value) => value.toLowerCase());
  const statement = text.toLowerCase();
  const isValue = (name: string) => {
    const part = name.toLowerCase();
    if (same.has(unquoted(name))) return true;
    return /\S/.test(part) && !statement.includes(part) && lower.some((value) => value.includes(part));
  };
  // Servers do not escape quotes in a value, of which a message has the first line, or the beginning.
  const told = withoutQuotedValues(message, values).replace(/"([^"]*)(?:"|$)/g, (quoted, name) =>
    isValue(name) ? '"…"' : quoted,
  );
  return withoutParts(told, values, statement);
}

function withoutQuotedValues(message: string, values: readonly string[]): string {
  let told = message;
  for (const value of values) {
    if (!value.includes('"')) continue;
    const [line = ''] = value.slice(0, message.length).split('\n');
    const wanted = `"${line.toLowerCase()}`;
    const at = told.toLowerCase().indexOf(wanted);
    if (line === '' || at === -1) continue;
    const end = at + wanted.length;
    told = `${told.slice(0, at)}"…"${told.slice(told[end] === '"' ? end + 1 : end)}`;
  }
  return told;
}

/** Shorter parts of a value cannot be told from words of the message. */
const partMin = 3;

/** What a value has beside a quote of its own can be outside of the quotes of the message. */
function withoutParts(message: string, values: readonly string[], statement: string): string {
  let told = message;
  for (const value of values) {
    if (!value.includes('"')) continue;
    for (const part of value.slice(0, message.length).toLowerCase().split('"')) {
      if (part.trim().length < partMin || statement.includes(part)) continue;
      const at = told.toLowerCase().indexOf(part);
      if (at !== -1) told = `${told.slice(0, at)}…${told.slice(at + part.length)}`;
    }
  }
  return told;
}

export function toFailure(err: unknown, currentStage: Stage, mapping: ErrorMapping): HubError {
  const known = toHubError(err);
  const sql = known.sql && mapping.mapLocation(known.sql);
  const message = known.sql ? mapping.redactMessage(known.message) : known.message;
  const stage = known.stage ?? (withoutStage.has(known.code) ? undefined : currentStage);
  if (stage === known.stage && sql === known.sql && message === known.message) return known;
  return reword(known, message, { stage, sql });
}

/**
 * Returns CANCELLED, STATEMENT_TIMEOUT, or SOURCE_BUSY for work that had to make way. The signal also aborts at the
 * deadline of the call, which is a timeout.
 */
export function cancelReason(signal: CallSignal, late: boolean): HubError {
  const { reason } = signal;
  if (reason instanceof HubError && ['STATEMENT_TIMEOUT', 'SOURCE_BUSY'].includes(reason.code)) return reason;
  if (late || isDeadline(reason)) return timedOut();
  return new HubError('CANCELLED', 'The caller left, so the statement was cancelled.', { cause: reason });
}

export function timedOut(): HubError {
  return new HubError(
    'STATEMENT_TIMEOUT',
    'The statement took longer than allowed and was cancelled at the database.',
    { retryable: false },
  );
}

export const readTooSlowly = (): HubError =>
  new HubError(
    'STATEMENT_TIMEOUT',
    'The rows were read more slowly than the hub allows: the client is slow, or the hub is busy.',
    {
      stage: 'stream',
      retryable: false,
    },
  );
