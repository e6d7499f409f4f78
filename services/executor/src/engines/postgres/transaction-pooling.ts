/**
 * Sources behind a pooler that can run each transaction in another session, which other applications share. Each
 * statement runs in one transaction with everything that it needs. The transaction first restores the session's
 * defaults and sets the formats of values. Before it ends, it removes what the statement left in the session.
 * Statements have no names.
 */

import { poolsByStatement } from './errors.ts';
import * as protocol from './protocol.ts';
import {
  type Block,
  type BlockKind,
  beginSnapshot,
  innerBlocks,
  once,
  resetCommands,
  restoreValues,
  sessionSettings,
  toTags,
  unlock,
} from './session.ts';
import type { Wire } from './wire.ts';

/** Undo settings that other applications left in the session. A rollback restores them. */
const defaults = ['SET SESSION AUTHORIZATION DEFAULT', 'RESET ALL'];
/** Deferred triggers would run at COMMIT, after the session was cleaned. This runs them before. */
export const fireTriggers = 'SET CONSTRAINTS ALL IMMEDIATE';
const cleanUp = [fireTriggers, ...resetCommands];

const openingTags = { [-4]: 'BEGIN', [-3]: 'SET', [-2]: 'RESET', [-1]: 'SELECT 1' };
const commits = { commands: [...cleanUp, 'COMMIT'], tags: { [cleanUp.length + 1]: 'COMMIT' } };
const reads = { commands: [unlock, 'ROLLBACK'], tags: { 2: 'ROLLBACK' } };
const open = { commands: [], tags: {} };
const closings: Record<
  Exclude<BlockKind, 'inner' | 'innerRead'>,
  { commands: string[]; tags: Record<number, string> }
> = {
  read: reads,
  write: commits,
  standalone: commits,
  held: open,
  first: { commands: [restoreValues], tags: {} },
  last: reads,
};
const begins: Partial<Record<BlockKind, string>> = { read: 'BEGIN READ ONLY', first: beginSnapshot };

const watchClient = 'client_connection_check_interval';
/** Differs between servers whose types have other ids. A copy of a server and its standbys have the same ids. */
const serverText = `pg_catalog.concat((SELECT system_identifier FROM pg_catalog.pg_control_system()), ' ',
  pg_catalog.pg_relation_filepath(1255::pg_catalog.oid::pg_catalog.regclass))`;

/** For statements that are parsed but not run. */
export const describeTimeoutMs = 30_000;

/** Ends the transaction of a `held` block. */
export const endings = {
  COMMIT: [...cleanUp, 'COMMIT'].join(';'),
  ROLLBACK: ['DISCARD SEQUENCES', unlock, 'ROLLBACK'].join(';'),
};

interface Abilities {
  /** The server can detect a disconnected client. */
  watchesClient: boolean;
  /** The server says which one it is. */
  namesServer: boolean;
}

export class PooledBlocks {
  readonly #settings: [string, string][];
  readonly #namesServer: boolean;
  #timeoutMs = -1;
  #blocks = new Map<string, Block>();
  /** A pooler may have no server for the client yet, so it gives no sign. */
  readonly #inner = innerBlocks(Buffer.alloc(0));

  constructor({ watchesClient, namesServer }: Abilities) {
    this.#namesServer = namesServer;
    this.#settings = [
      ...Object.entries(sessionSettings),
      ...(watchesClient ? [[watchClient, '500ms'] as [string, string]] : []),
    ];
  }

  /**
   * The commands that begin a transaction, and set it up as those of single statements. If `asksServer`, the first value of
   * their one row names the server.
   */
  opening(begin: string, timeoutMs: number, asksServer: boolean): string[] {
    const settings = [...this.#settings, ['statement_timeout', String(timeoutMs)]];
    const calls = settings.map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`);
    const server = asksServer && this.#namesServer ? [serverText] : [];
    return [begin, ...defaults, `SELECT ${[...server, ...calls].join(', ')}`];
  }

  block(kind: BlockKind, timeoutMs: number, asksServer = false): Block {
    if (kind === 'inner' || kind === 'innerRead') return this.#inner[kind];
    if (timeoutMs !== this.#timeoutMs) this.#blocks.clear();
    this.#timeoutMs = timeoutMs;
    const key = `${kind} ${asksServer}`;
    const block = this.#blocks.get(key) ?? this.#build(kind, timeoutMs, asksServer);
    this.#blocks.set(key, block);
    return block;
  }

  #build(kind: keyof typeof closings, timeoutMs: number, asksServer: boolean): Block {
    const opening = kind === 'last' ? [] : this.opening(begins[kind] ?? 'BEGIN', timeoutMs, asksServer);
    const { commands, tags } = closings[kind];
    return {
      before: Buffer.concat(opening.flatMap(once)),
      after: Buffer.concat([...commands.flatMap(once), protocol.sync]),
      commandsBefore: opening.length,
      tags: toTags(kind === 'last' ? tags : { ...openingTags, ...tags }),
    };
  }
}

/**
 * Tests what the server can do, in transactions that change nothing. Throws SOURCE_UNREACHABLE if the pooler has no
 * transactions: what would follow in one could run outside of it.
 */
export async function openPooledBlocks(wire: Wire): Promise<PooledBlocks> {
  const can = async (command: string) => {
    const probe = ['BEGIN', command, 'ROLLBACK'].map(protocol.query);
    const answers = wire.exchange(Buffer.concat(probe), () => {}, probe.length);
    const { error } = await answers.catch((err) => {
      throw poolsByStatement(err) ?? err;
    });
    return error === undefined;
  };
  const watchesClient = await can(`SET LOCAL ${watchClient} = '500ms'`);
  return new PooledBlocks({ watchesClient, namesServer: await can(`SELECT ${serverText}`) });
}
