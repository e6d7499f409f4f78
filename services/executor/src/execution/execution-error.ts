/** What a failed execution tells: where it failed, and where in the stored text. */

import { HubError, type SqlFault, type Stage, toHubError } from '@datahub/service-kit/call/error';

/** Stages are told only for what happened on the way to or at the database. */
const unstaged = new Set([
  'KEY_MISSING',
  'SCOPE_DENIED',
  'NOT_FOUND',
  'SOURCE_GONE',
  'CONTEXT_INVALID',
  'OPTION_REFUSED',
]);

/** From the text that was run to the stored one. */
export interface ToStored {
  place(fault: SqlFault): SqlFault;
  /** The database speaks of placeholders, which nobody wrote. */
  word(message: string): string;
}

export const asItIs: ToStored = { place: (fault) => fault, word: (message) => message };

const bare = (text: string) => text.replaceAll('"', '').toLowerCase();

/**
 * Names in quotes are told, for they are the statement's own, but for those that a value gave, as in `:name::regclass`:
 * its caller may not know what his key pins.
 */
export function withoutValues(message: string, params: readonly unknown[]): string {
  if (!message.includes('"')) return message;
  const values = new Set(params.filter((param) => typeof param === 'string').map(bare));
  return message.replace(/"([^"]+)"/g, (quoted, name) => (values.has(bare(name)) ? '"…"' : quoted));
}

export function toFailure(err: unknown, stage: Stage, stored: ToStored): HubError {
  const known = toHubError(err);
  const sql = known.sql && stored.place(known.sql);
  const message = known.sql ? stored.word(known.message) : known.message;
  const told = known.stage ?? (unstaged.has(known.code) ? undefined : stage);
  if (told === known.stage && sql === known.sql && message === known.message) return known;
  return new HubError(known.code, message, {
    cause: known.cause,
    ...(known.errors === undefined ? {} : { errors: known.errors }),
    ...(told === undefined ? {} : { stage: told }),
    ...(known.retryable === undefined ? {} : { retryable: known.retryable }),
    ...(sql === undefined ? {} : { sql }),
    ...(known.retryAfterMs === undefined ? {} : { retryAfterMs: known.retryAfterMs }),
  });
}
