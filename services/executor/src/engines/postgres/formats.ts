/**
 * The check behind a statement that no function of it changed how the server writes its values. Otherwise the hub would
 * read them wrongly, and nothing in the result shows it.
 */

import { changedFormat } from './errors.ts';
import * as protocol from './protocol.ts';
import { sessionSettings } from './session.ts';

/** The settings by which the server writes values. */
export const formats = [
  'TimeZone',
  'DateStyle',
  'IntervalStyle',
  'client_encoding',
  'bytea_output',
  'extra_float_digits',
] as const;
export type Format = (typeof formats)[number];

/** `DateStyle` also has the order of dates in input. */
const changed = (name: Format) =>
  `WHEN pg_catalog.strpos($1, '${name}') OPERATOR(pg_catalog.>) 0
  AND pg_catalog.split_part(pg_catalog.current_setting('${name}'), ',', 1) OPERATOR(pg_catalog.<>) '${sessionSettings[name].split(',')[0]}'
  THEN '${changedFormat}.${name}'`;
const text = `SELECT pg_catalog.current_setting(CASE ${formats.map(changed).join(' ')} ELSE 'TimeZone' END)`;

/** A prepared check takes the server a tenth of the time. */
export const checkName = 'datahub_formats';
/** A session of a pooler can have the statement of an earlier connection. */
export const prepareCheck = Buffer.concat([
  protocol.closeStatement(checkName),
  protocol.parse(checkName, text),
  protocol.sync,
]);

/** The messages in front of a statement's own and behind them. */
export interface FormatsCheck {
  before: Buffer;
  after: Buffer;
}

/**
 * Checks some settings. If `isPrepared`, it is bound in front of the statement, so that the statement does not run if
 * SQL has dropped the prepared check.
 */
export function checkOf(settings: readonly Format[], isPrepared: boolean): FormatsCheck {
  const params = [settings.join()];
  if (isPrepared)
    return {
      before: protocol.bindPortal(checkName, params),
      // The next statement of a transaction binds it again.
      after: Buffer.concat([protocol.executePortal(checkName), protocol.closePortal(checkName)]),
    };
  const after = [protocol.parse('', text), protocol.bind('', params), protocol.executeAll];
  return { before: Buffer.alloc(0), after: Buffer.concat(after) };
}

export const withCheck = (check: FormatsCheck | undefined, messages: Buffer[]): Buffer[] =>
  check === undefined ? messages : [check.before, ...messages, check.after];
