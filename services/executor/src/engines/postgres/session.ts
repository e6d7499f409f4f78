/** What sessions are set to and reset to, and the messages of one execution: the statement's and its transaction's. */

import type { RunOptions, Statement } from '../../engine.ts';
import * as protocol from './protocol.ts';
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

export const unlock = 'SELECT pg_catalog.pg_advisory_unlock_all()';

/** `DISCARD ALL` but for the prepared statements. */
export const resetCommands = [
  'CLOSE ALL',
  'SET SESSION AUTHORIZATION DEFAULT',
  'RESET ALL',
  'UNLISTEN *',
  unlock,
  'DISCARD TEMP',
  'DISCARD SEQUENCES',
];

/** Parsed where it is run: a named statement could be replaced by SQL that ran in the session before. */
export const once = (text: string) => [protocol.parse('', text), protocol.bind('', []), protocol.executeAll];

/** A `held` statement leaves its transaction open, until its count decides how it ends. */
export type BlockKind = Statement['kind'] | 'held';

/** The messages around a statement's own. */
export interface Block {
  before: Buffer;
  after: Buffer;
  /** Commands that complete before the statement's own. */
  commandsBefore: number;
  /** The tags of commands around the statement, by their place counted from the statement's own. */
  tags: Readonly<Record<number, string>>;
}

const bare: Block = { before: Buffer.alloc(0), after: protocol.sync, commandsBefore: 0, tags: {} };

/** In a session of our own. */
export const sessionBlocks: Record<BlockKind, Block> = {
  read: {
    before: Buffer.concat(once('BEGIN READ ONLY')),
    // Session-level advisory locks outlive a transaction, and a function can take them unseen. Released within the
    // transaction they need none of their own.
    after: Buffer.concat([...once(unlock), ...once('ROLLBACK'), protocol.sync]),
    commandsBefore: 1,
    tags: { [-1]: 'BEGIN', 2: 'ROLLBACK' },
  },
  write: bare,
  standalone: bare,
  held: { ...bare, before: Buffer.concat(once('BEGIN')), commandsBefore: 1 },
};

/**
 * The statement's own messages. Unless it has a name it is parsed in the same trip: SQL that ran in the session before
 * can neither drop nor replace it, and no plan of it can be stale.
 */
export function messagesOf(
  { text, params }: Statement,
  { name, fields }: { name: string; fields: unknown },
  { maxRows, maxAffected }: RunOptions,
): Buffer[] {
  // To count the rows that it affected, a write is read to its end.
  const all = maxRows === undefined || maxAffected !== undefined;
  const limit = all ? protocol.executeAll : protocol.execute(maxRows + 1);
  if (name !== '') return [protocol.bind(name, params), limit];
  const described = fields === undefined ? [] : [protocol.describePortal];
  return [protocol.parse('', text), protocol.bind('', params), ...described, limit];
}

/** After an error the server skipped what should have ended the transaction. */
export const undo = `ROLLBACK;${unlock}`;

const settings = Object.entries(sessionSettings).map(([name, value]) => `SET ${name} = '${value}'`);
const watchClient = "SET client_connection_check_interval = '500ms'";

/** Sets the session up and gives the text that brings it back to this. */
export async function prepareSession(
  wire: Wire,
  statements: { rows(text: string): Promise<(string | null)[][]> },
): Promise<string> {
  const [[style] = []] = await statements.rows("RESET ALL;SELECT current_setting('IntervalStyle')");
  // Given at the log-in they are what RESET ALL comes back to; servers that take no options there need them again.
  const kept = style === sessionSettings.IntervalStyle;
  if (!kept) await statements.rows(settings.join(';'));
  // Since PostgreSQL 14, and not on every platform: without it a dead executor's statement ends at its deadline.
  const { error } = await wire.exchange(protocol.query(watchClient), () => {});
  return [...resetCommands, ...(kept ? [] : settings), ...(error === undefined ? [watchClient] : [])].join(
    ';',
  );
}
