/** What every session of the hub starts with, and how it comes back to that. */

import * as protocol from './protocol.ts';
import type { Statements } from './statements.ts';
import type { Wire } from './wire.ts';

/** Values come as text, so their forms are fixed. */
export const sessionSettings = {
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  xmloption: 'content',
  idle_in_transaction_session_timeout: '60000',
  application_name: 'datahub',
};

export const unlock = 'SELECT pg_advisory_unlock_all()';

/** Parsed where it is run: a named statement could be replaced by SQL that ran in the session before. */
export const once = (text: string) => [protocol.parse('', text), protocol.bind('', []), protocol.executeAll];

/** The messages around every read, made once. */
export const beforeRead = Buffer.concat(once('BEGIN READ ONLY'));
// Locks of the session outlive a transaction, and a function can take them unseen. Given back within the transaction
// they cost none of their own.
export const afterRead = Buffer.concat([...once(unlock), ...once('ROLLBACK'), protocol.sync]);
/** The tags of the commands around a read, by the number of commands that completed since its own began. */
export const readTags: Record<number, string> = { [-1]: 'BEGIN', 2: 'ROLLBACK' };

/** After an error the server skipped what should have ended the transaction. */
export const undo = `ROLLBACK;${unlock}`;

/** `DISCARD ALL` but for the prepared statements. */
const reset = [
  'CLOSE ALL',
  'SET SESSION AUTHORIZATION DEFAULT',
  'RESET ALL',
  'UNLISTEN *',
  unlock,
  'DISCARD TEMP',
  'DISCARD SEQUENCES',
];

const settings = Object.entries(sessionSettings).map(([name, value]) => `SET ${name} = '${value}'`);
const watchClient = "SET client_connection_check_interval = '500ms'";

/** Sets the session up and gives the text that brings it back to this. */
export async function prepareSession(wire: Wire, statements: Statements): Promise<string> {
  const [[style] = []] = await statements.rows("RESET ALL;SELECT current_setting('IntervalStyle')");
  // Given at the log-in they are what RESET ALL comes back to; servers that take no options there need them again.
  const kept = style === sessionSettings.IntervalStyle;
  if (!kept) await statements.rows(settings.join(';'));
  // Since PostgreSQL 14, and not on every platform: without it a dead executor's statement ends at its deadline.
  const { error } = await wire.exchange(protocol.query(watchClient), () => {});
  return [...reset, ...(kept ? [] : settings), ...(error === undefined ? [watchClient] : [])].join(';');
}
