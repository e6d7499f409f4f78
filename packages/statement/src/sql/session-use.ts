/**
 * What a statement cannot do with its session: change how PostgreSQL writes values, and, at a source whose pooler gives
 * each transaction another session, keep something in the session or run outside of a transaction. It finds what the text
 * shows; what functions do, the executor undoes afterwards.
 */

import { rejectAt, type Token } from './lexer.ts';

const sessionLock = /^PG_(TRY_)?ADVISORY_(LOCK|UNLOCK)(_SHARED|_ALL)?$/;
const notInTransaction = new Map([
  ['CREATE', ['DATABASE', 'TABLESPACE', 'SUBSCRIPTION']],
  ['DROP', ['DATABASE', 'TABLESPACE', 'SUBSCRIPTION']],
  ['ALTER', ['SYSTEM']],
  ['REINDEX', ['DATABASE', 'SYSTEM']],
]);
const indexVerbs = new Set(['CREATE', 'DROP', 'REINDEX']);

/** The settings that decide how PostgreSQL writes values. Each session has those that the executor reads. */
const formats =
  /^'\s*(timezone|datestyle|intervalstyle|bytea_output|extra_float_digits|client_encoding|lc_monetary)\s*'$/i;

/** Throws SQL_REJECTED for a `set_config` that names such a setting: the values of the result would be read wrongly. */
export function refuseFormats(text: string, tokens: Token[]): void {
  const call = tokens.find(({ kind, text: word }, i) => {
    if (kind !== 'word' || word !== 'SET_CONFIG') return false;
    const [open, name] = [tokens[i + 1], tokens[i + 2]];
    return open?.text === '(' && name !== undefined && formats.test(text.slice(name.start, name.end));
  });
  if (call === undefined) return;
  throw rejectAt(
    text,
    call.start,
    'set_config of a setting that decides how values are written is refused, because the hub would read the values of the result wrongly. Convert the values in the statement, for example with AT TIME ZONE or to_char.',
  );
}

/** Throws SQL_REJECTED. */
export function refuseSessionUse(text: string, tokens: Token[]): void {
  const [verb, object] = tokens;
  if (verb === undefined) return;
  const refuse = ({ start }: Token, what: string, why: string) => {
    throw rejectAt(text, start, `${what} is refused, because the source uses pooling "transaction": ${why}`);
  };
  const lock = tokens.find(
    ({ kind, text: word }, i) => kind === 'word' && sessionLock.test(word) && tokens[i + 1]?.text === '(',
  );
  if (lock !== undefined)
    refuse(lock, lock.text.toLowerCase(), 'locks of a session do not survive. Use pg_advisory_xact_lock.');
  if (verb.text === 'CREATE') {
    const head = tokens.slice(1, 5);
    const temporary = head.find(({ text: word }) => word === 'TEMP' || word === 'TEMPORARY');
    if (temporary !== undefined) refuse(temporary, 'CREATE TEMPORARY', 'its table would be gone at the end.');
  }
  const concurrently = indexVerbs.has(verb.text)
    ? tokens.slice(1, 6).find(({ text: word }) => word === 'CONCURRENTLY')
    : undefined;
  const alone =
    concurrently ??
    (verb.text === 'VACUUM' || notInTransaction.get(verb.text)?.includes(object?.text ?? '')
      ? verb
      : undefined);
  if (alone !== undefined)
    refuse(
      alone,
      alone.text,
      'each statement runs in a transaction, and this one cannot. Connect to the server instead of the pooler to run it.',
    );
}
