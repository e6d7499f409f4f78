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
  sessionSettings,
  toTags,
  unlock,
} from './session.ts';
import type { Wire } from './wire.ts';

/** Undo settings that other applications left in the session. A rollback restores them. */
const defaults = ['SET SESSION AUTHORIZATION DEFAULT', 'RESET ALL'];
/** Deferred triggers would run at COMMIT, after the session was cleaned. This runs them before. */
const fireTriggers = 'SET CONSTRAINTS ALL IMMEDIATE';
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
  first: open,
  last: reads,
};
const begins: Partial<Record<BlockKind, string>> = { read: 'BEGIN READ ONLY', first: beginSnapshot };

const watchClient = 'client_connection_check_interval';

/** Ends the transaction of a `held` block. */
export const endings = {
  COMMIT: [...cleanUp, 'COMMIT'].join(';'),
  ROLLBACK: ['DISCARD SEQUENCES', unlock, 'ROLLBACK'].join(';'),
};

export class PooledBlocks {
  readonly #settings: [string, string][];
  #timeoutMs = -1;
  #blocks: Partial<Record<BlockKind, Block>> = {};
  /** A pooler may have no server for the client yet, so it gives no sign. */
  readonly #inner = innerBlocks(Buffer.alloc(0));

  constructor({ watchesClient }: { watchesClient: boolean }) {
    this.#settings = [
      ...Object.entries(sessionSettings),
      ...(watchesClient ? [[watchClient, '500ms'] as [string, string]] : []),
    ];
  }

  /** The commands that begin a transaction, and set it up as those of single statements. */
  opening(begin: string, timeoutMs: number): string[] {
    const settings = [...this.#settings, ['statement_timeout', String(timeoutMs)]];
    const calls = settings.map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`);
    return [begin, ...defaults, `SELECT ${calls.join(', ')}`];
  }

  block(kind: BlockKind, timeoutMs: number): Block {
    if (kind === 'inner' || kind === 'innerRead') return this.#inner[kind];
    if (timeoutMs !== this.#timeoutMs) this.#blocks = {};
    this.#timeoutMs = timeoutMs;
    this.#blocks[kind] ??= this.#build(kind, timeoutMs);
    return this.#blocks[kind];
  }

  #build(kind: keyof typeof closings, timeoutMs: number): Block {
    const opening = kind === 'last' ? [] : this.opening(begins[kind] ?? 'BEGIN', timeoutMs);
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
 * Tests whether the server can detect a disconnected client, in a transaction that changes nothing. Throws
 * SOURCE_UNREACHABLE if the pooler has no transactions: what would follow in one could run outside of it.
 */
export async function openPooledBlocks(wire: Wire): Promise<PooledBlocks> {
  const probe = ['BEGIN', `SET LOCAL ${watchClient} = '500ms'`, 'ROLLBACK'].map(protocol.query);
  const answers = wire.exchange(Buffer.concat(probe), () => {}, probe.length);
  const { error } = await answers.catch((err) => {
    throw poolsByStatement(err) ?? err;
  });
  return new PooledBlocks({ watchesClient: error === undefined });
}
