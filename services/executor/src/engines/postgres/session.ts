/** The settings of sessions, their reset, and the messages of the transaction around a statement. */

import type { Statement } from '../../ports/engine.ts';
import * as protocol from './protocol.ts';
import type { Wire } from './wire.ts';

/** Most values are sent as text, so these settings fix their formats. */
export const sessionSettings = {
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  // The order of a date that is written as 04/03/2026 would otherwise be that of the role in some sessions.
  DateStyle: 'ISO,MDY',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  xmloption: 'content',
  xmlbinary: 'base64',
  // Lists are sent as array literals.
  array_nulls: 'on',
  idle_in_transaction_session_timeout: '60000',
  application_name: 'datahub',
};

const valueSettings = [
  ...([
    'client_encoding',
    'TimeZone',
    'DateStyle',
    'IntervalStyle',
    'extra_float_digits',
    'bytea_output',
  ] as const),
  ...(['standard_conforming_strings', 'xmloption', 'xmlbinary', 'array_nulls'] as const),
];
/**
 * Sets how values and statements are read and written, for the rest of the transaction. A function or trigger of the
 * statement before may have set it otherwise.
 */
export const restoreValues = `SELECT ${valueSettings
  .map((name) => `pg_catalog.set_config('${name}', '${sessionSettings[name]}', true)`)
  .join(', ')}`;

/** The name of a setting by which values and statements are read, if it is not the hub's. */
export const changedValue = `SELECT CASE ${(
  [
    'client_encoding',
    'TimeZone',
    'DateStyle',
    'IntervalStyle',
    'standard_conforming_strings',
    'xmloption',
  ] as const
)
  .map(
    (name) =>
      `WHEN pg_catalog.replace(pg_catalog.current_setting('${name}'), ' ', '') OPERATOR(pg_catalog.<>) '${sessionSettings[name]}' THEN '${name}'`,
  )
  .join(' ')} END`;

export const unlock = 'SELECT pg_catalog.pg_advisory_unlock_all()';

/** The commands of `DISCARD ALL`, except the one for prepared statements. */
export const resetCommands = [
  'CLOSE ALL',
  'SET SESSION AUTHORIZATION DEFAULT',
  'RESET ALL',
  'UNLISTEN *',
  unlock,
  'DISCARD TEMP',
  'DISCARD SEQUENCES',
];

/** Parses a text for one run. SQL that ran before in the session could replace a named statement. */
export const once = (text: string) => [protocol.parse('', text), protocol.bind('', []), protocol.executeAll];

/**
 * A `held` statement leaves its transaction open until the number of affected rows is known. `first` and `last` are the
 * two reads of a snapshot. `inner` runs in an open transaction, and `innerRead` reads in one that writes.
 */
export type BlockKind = Statement['kind'] | 'held' | 'first' | 'last' | 'inner' | 'innerRead';

/** Makes the server show at once that it receives what is sent. It locks nothing, so it never waits. */
export const sign = Buffer.concat([protocol.closeStatement(''), protocol.flush]);
const begin = (text: string) => Buffer.concat([...once(text), protocol.flush]);

export const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** The messages around a statement's own. The server answers the first ones at once, see `sign`. */
export interface Block {
  before: Buffer;
  after: Buffer;
  /** Commands that complete before the statement's own. */
  commandsBefore: number;
  tags: Tags;
}

/** The command tags that a block expects. */
export interface Tags {
  /** By position relative to the statement, which has position 0. */
  bytes: ReadonlyMap<number, Buffer>;
  /** The last position; 0 without tags. */
  last: number;
}

/** Encodes the expected tags once, so that reading a response compares bytes and decodes no text. */
export function toTags(tags: Readonly<Record<number, string>>): Tags {
  const entries = Object.entries(tags).map(([place, tag]) => [Number(place), Buffer.from(tag)] as const);
  return {
    bytes: new Map(entries),
    last: entries.length === 0 ? 0 : Math.max(...entries.map(([place]) => place)),
  };
}

const bare: Block = {
  before: sign,
  after: protocol.sync,
  commandsBefore: 0,
  tags: toTags({}),
};

/** The blocks of a session that the hub does not share with other applications. */
export const sessionBlocks: Record<BlockKind, Block> = {
  read: {
    before: begin('BEGIN READ ONLY'),
    // Session-level advisory locks outlive a transaction, and a function can take them without a trace in the text.
    // They are released within the transaction, so that the release needs no transaction of its own.
    after: Buffer.concat([...once(unlock), ...once('ROLLBACK'), protocol.sync]),
    commandsBefore: 1,
    tags: toTags({ [-1]: 'BEGIN', 2: 'ROLLBACK' }),
  },
  write: bare,
  standalone: bare,
  held: { ...bare, before: begin('BEGIN'), commandsBefore: 1 },
  first: {
    before: begin(beginSnapshot),
    after: Buffer.concat([...once(restoreValues), protocol.sync]),
    commandsBefore: 1,
    tags: toTags({ [-1]: 'BEGIN' }),
  },
  last: {
    before: sign,
    after: Buffer.concat([...once(unlock), ...once('ROLLBACK'), protocol.sync]),
    commandsBefore: 0,
    tags: toTags({ 2: 'ROLLBACK' }),
  },
  ...innerBlocks(sign),
};

/** The blocks in an open transaction. A transaction that writes cannot end being read-only, but a savepoint can. */
export function innerBlocks(first: Buffer): Record<'inner' | 'innerRead', Block> {
  const readOnly = ['SAVEPOINT datahub', 'SET LOCAL transaction_read_only = on'];
  return {
    inner: {
      before: first,
      after: Buffer.concat([...once(restoreValues), protocol.sync]),
      commandsBefore: 0,
      tags: toTags({}),
    },
    innerRead: {
      before: Buffer.concat([first, ...readOnly.flatMap(once)]),
      after: Buffer.concat([
        ...once('ROLLBACK TO SAVEPOINT datahub'),
        ...once('RELEASE SAVEPOINT datahub'),
        protocol.sync,
      ]),
      commandsBefore: readOnly.length,
      tags: toTags({ [-2]: 'SAVEPOINT', [-1]: 'SET', 1: 'ROLLBACK', 2: 'RELEASE' }),
    },
  };
}

/**
 * Sets settings until the end of the transaction, which is the implicit one of the messages up to Sync if there was no
 * BEGIN. Names and values are parameters, so they cannot be SQL.
 */
export function setLocal(session: NonNullable<Statement['session']>): Buffer[] {
  const calls = session.map((_, i) => `pg_catalog.set_config($${2 * i + 1}, $${2 * i + 2}, true)`);
  return [
    protocol.parse('', `SELECT ${calls.join(', ')}`),
    protocol.bind('', session.flat()),
    protocol.executeAll,
  ];
}

/** Undoes what fails in an open transaction. */
export const savepoint = {
  begin: 'SAVEPOINT datahub_apart',
  end: 'RELEASE SAVEPOINT datahub_apart',
  undo: 'ROLLBACK TO SAVEPOINT datahub_apart;RELEASE SAVEPOINT datahub_apart',
};

/** Gives the transaction an id, if it has none. */
export const nameText = 'SELECT pg_catalog.txid_current()';
const nameAfter = Buffer.concat([...once(nameText), protocol.sync]);

/** A block that leaves its transaction open, and reads its id. */
export const withName = (block: Block): Block => ({ ...block, after: nameAfter });

/** The block with settings behind its BEGIN. */
export function withSession(block: Block, session: Statement['session']): Block {
  if (session === undefined) return block;
  const { bytes, last } = block.tags;
  const shifted = [...bytes].map(([place, tag]) => [place < 0 ? place - 1 : place, tag] as const);
  return {
    ...block,
    before: Buffer.concat([block.before, ...setLocal(session)]),
    commandsBefore: block.commandsBefore + 1,
    tags: { bytes: new Map([...shifted, [-1, selected]]), last },
  };
}
const selected = Buffer.from('SELECT 1');

interface BlockOptions {
  /** Set behind a pooler. */
  blocks: { block(kind: BlockKind, timeoutMs: number, asksServer: boolean): Block } | undefined;
  blockKind: BlockKind;
  timeoutMs: number;
  isNamed: boolean;
  asksServer: boolean;
}

/** The messages around a statement. */
export function blockOf(
  { session }: Pick<Statement, 'session'>,
  { blocks, blockKind, timeoutMs, isNamed, asksServer }: BlockOptions,
): Block {
  const plain = blocks?.block(blockKind, timeoutMs, asksServer) ?? sessionBlocks[blockKind];
  const block = isNamed ? withName(plain) : plain;
  // The second read of a snapshot has the settings of the first.
  return blockKind === 'last' ? block : withSession(block, session);
}

/** The OID of `pg_advisory_unlock_all`, the same in every version. */
const unlockId = 2892;

/**
 * A block for reads that takes the server a third less time. A function call releases the locks, so the server need not
 * parse and plan a statement for this. The ReadyForQuery of the call ends the round trip instead of Sync. After an
 * error the server skips the call and waits for Sync, which `recovery` sends. Poolers count answers differently, so
 * this is only for servers without a pooler.
 */
export const directRead: Block = {
  before: sessionBlocks.read.before,
  after: Buffer.concat([...once('ROLLBACK'), protocol.callFunction(unlockId)]),
  commandsBefore: 1,
  tags: toTags({ [-1]: 'BEGIN', 1: 'ROLLBACK' }),
};

const settings = Object.entries(sessionSettings).map(([name, value]) => `SET ${name} = '${value}'`);
const watchClient = "SET client_connection_check_interval = '500ms'";

interface Rows {
  rows(text: string): Promise<(string | null)[][]>;
  prepareCheck(): Promise<void>;
}

export interface SessionSetup {
  /** The SQL that restores the session to its state after the set-up. */
  reset: string;
  /** True if no pooler is in between: what the server reports as its process id and port is that of this connection. */
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
  // RESET ALL restores settings of the log-in. Servers that refuse options at the log-in need the settings again.
  const kept = style === sessionSettings.IntervalStyle;
  if (!kept) await statements.rows(settings.join(';'));
  // PostgreSQL 14 and later have this setting on some platforms. Without it, the statement of an executor that died
  // runs until its timeout.
  const [{ error }] = await Promise.all([
    wire.exchange(protocol.query(watchClient), () => {}),
    statements.prepareCheck(),
  ]);
  const reset = [...resetCommands, ...(kept ? [] : settings), ...(error === undefined ? [watchClient] : [])];
  const isDirect = Number(process) === processId && Number(port) === wire.localPort;
  return { reset: reset.join(';'), isDirect };
}

/** Ends the transaction after an error, because the server skipped the commands that should have ended it. */
export const undo = `ROLLBACK;${unlock}`;
/** Ends the round trip of a `directRead` that failed. */
export const recovery = Buffer.concat([protocol.sync, protocol.query(undo)]);

export interface ServerState {
  isStandby: boolean;
  isReadOnly: boolean;
}

export async function readServerState(statements: Pick<Rows, 'rows'>): Promise<ServerState> {
  const text =
    "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('default_transaction_read_only')";
  const [[recovery, readOnly] = []] = await statements.rows(text);
  return { isStandby: recovery === 't', isReadOnly: readOnly === 'on' };
}

/**
 * From version 18 on, pg_stat_statements leaves out comments in front of a statement. Behind a pooler they would hide
 * the statement's first word, by which Pgpool-II chooses a server.
 */
export const keepsFrontComments = (version: string): boolean => Number(/\d+/.exec(version)?.[0]) < 18;
