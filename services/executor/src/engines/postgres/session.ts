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

/**
 * A `held` statement leaves its transaction open, until its count decides how it ends. `first` and `last` are reads of one
 * snapshot.
 */
export type BlockKind = Statement['kind'] | 'held' | 'first' | 'last';

export const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Where in a snapshot a statement runs. */
export const placeOf = ({ snapshot }: RunOptions): 'first' | 'last' | undefined =>
  typeof snapshot === 'object' ? 'first' : snapshot;

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
  first: {
    before: Buffer.concat(once(beginSnapshot)),
    after: protocol.sync,
    commandsBefore: 1,
    tags: { [-1]: 'BEGIN' },
  },
  last: {
    before: Buffer.alloc(0),
    after: Buffer.concat([...once(unlock), ...once('ROLLBACK'), protocol.sync]),
    commandsBefore: 0,
    tags: { 2: 'ROLLBACK' },
  },
};

/** `pg_advisory_unlock_all`, whose number is the same in every version. */
const unlockId = 2892;

/**
 * A read in one write that costs the server a third less: instead of a statement that it would parse, plan and run, a
 * function call releases the locks, and its ReadyForQuery ends the trip in place of Sync. After an error the server
 * skips the call and waits for Sync, which `recovery` sends; poolers count their answers otherwise, so this is for a
 * server that is reached directly.
 */
export const directRead: Block = {
  before: sessionBlocks.read.before,
  after: Buffer.concat([...once('ROLLBACK'), protocol.callFunction(unlockId)]),
  commandsBefore: 1,
  tags: { [-1]: 'BEGIN', 1: 'ROLLBACK' },
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
  const all = maxRows === undefined || maxRows >= protocol.executeRowsMax || maxAffected !== undefined;
  const limit = all ? protocol.executeAll : protocol.execute(maxRows + 1);
  if (name !== '') return [protocol.bind(name, params), limit];
  const described = fields === undefined ? [] : [protocol.describePortal];
  return [protocol.parse('', text), protocol.bind('', params), ...described, limit];
}

const settings = Object.entries(sessionSettings).map(([name, value]) => `SET ${name} = '${value}'`);
const watchClient = "SET client_connection_check_interval = '500ms'";

interface Rows {
  rows(text: string): Promise<(string | null)[][]>;
}

export interface SessionSetup {
  /** The text that brings the session back to what it is now. */
  reset: string;
  /** Process and port are those of this connection: there is no pooler between. */
  isDirect: boolean;
}

const probe = `RESET ALL;SELECT pg_catalog.current_setting('IntervalStyle'), pg_catalog.pg_backend_pid(),
  pg_catalog.inet_client_port()`;

export async function prepareSession(
  wire: Wire,
  statements: Rows,
  { processId }: { processId: number },
): Promise<SessionSetup> {
  const [[style, process, port] = []] = await statements.rows(probe);
  // Given at the log-in they are what RESET ALL comes back to; servers that take no options there need them again.
  const kept = style === sessionSettings.IntervalStyle;
  if (!kept) await statements.rows(settings.join(';'));
  // Since PostgreSQL 14, and not on every platform: without it a dead executor's statement ends at its deadline.
  const { error } = await wire.exchange(protocol.query(watchClient), () => {});
  const reset = [...resetCommands, ...(kept ? [] : settings), ...(error === undefined ? [watchClient] : [])];
  const isDirect = Number(process) === processId && Number(port) === wire.localPort;
  return { reset: reset.join(';'), isDirect };
}

/** After an error the server skipped what should have ended the transaction. */
export const undo = `ROLLBACK;${unlock}`;
/** Ends the trip of a `directRead` that failed. */
export const recovery = Buffer.concat([protocol.sync, protocol.query(undo)]);

export interface ServerState {
  isStandby: boolean;
  isReadOnly: boolean;
}

export async function readServerState(statements: Rows): Promise<ServerState> {
  const text =
    "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('default_transaction_read_only')";
  const [[recovery, readOnly] = []] = await statements.rows(text);
  return { isStandby: recovery === 't', isReadOnly: readOnly === 'on' };
}
