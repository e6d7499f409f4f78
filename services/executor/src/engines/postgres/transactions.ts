/** Transactions of several statements at PostgreSQL. */

import { isolationSql } from '@datahub/contract/transactions';
import { HubError } from '@datahub/service-kit/call/error';
import {
  type Outcome,
  type RunAllOptions,
  type RunOptions,
  type Statement,
  type TransactionName,
  type TransactionOptions,
  type Transactions,
  unreported,
} from '../../ports/engine.ts';
import { MovedServer, toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { RunOfMany } from './run-all.ts';
import { type BlockKind, nameText, undo } from './session.ts';
import type { Statements } from './statements.ts';
import { fireTriggers, type PooledBlocks, endings as pooledEndings } from './transaction-pooling.ts';
import type { ExchangeResult, Wire } from './wire.ts';

/** A single statement before its COMMIT. */
export interface Committing {
  options: RunOptions;
  outcome: Outcome;
  reader: { readonly failure: unknown };
  /** Of its transaction, which has read it by `nameText`. */
  id: string | undefined;
}

/** What the connection lends. */
export interface TransactionHost {
  wire: Wire;
  statements: Statements;
  blocks: PooledBlocks | undefined;
  /** Runs commands that can be cancelled. */
  control(work: () => Promise<void>): Promise<void>;
  setTimeout(timeoutMs: number): Buffer[];
  simple(text: string): Promise<void>;
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<void>;
  close(): void;
}

/**
 * Fails at servers that are not PostgreSQL, or older than version 10. After a crash a server can give the id of a
 * transaction that was lost to another one. It also begins its statistics anew then, and not after other restarts. The
 * timeline is that of the log that is written, because that of the last checkpoint stays the old one after a promotion.
 */
const serverText = `SELECT s.system_identifier,
  CASE WHEN NOT pg_catalog.pg_is_in_recovery()
    THEN pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END,
  pg_catalog.floor(pg_catalog.date_part('epoch', b.stats_reset) OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8
  FROM pg_catalog.pg_control_system() s, pg_catalog.pg_stat_bgwriter b`;
const dataRow = 'D'.charCodeAt(0);
const endings = { committed: 'committed', aborted: 'aborted', 'in progress': 'running' } as const;

export class PostgresTransactions implements Transactions {
  /** Undefined if the server names no transactions. */
  #server: string | undefined;
  /** Whether a statement of the open transaction failed. It takes no command but its end then. */
  hasFailed = false;
  #isReadOnly = false;
  #runOfMany: RunOfMany | undefined;
  readonly #host: TransactionHost;

  constructor(host: TransactionHost) {
    this.#host = host;
  }

  kindOf({ kind }: Pick<Statement, 'kind'>): BlockKind {
    return kind === 'read' && !this.#isReadOnly ? 'innerRead' : 'inner';
  }

  begin({ isolation, readOnly, statementTimeoutMs }: TransactionOptions): Promise<void> {
    const { blocks, wire, statements } = this.#host;
    const timeoutMs = Math.ceil(statementTimeoutMs);
    const level = isolation === undefined ? '' : ` ${isolationSql(isolation)}`;
    const begin = `BEGIN${level}${readOnly ? ' READ ONLY' : ''}`;
    this.#isReadOnly = readOnly;
    this.hasFailed = false;
    this.#runOfMany = undefined;
    return this.#host.control(async () => {
      if (!readOnly) this.#server ??= await this.#readServer();
      const opening = blocks?.opening(begin, timeoutMs, true) ?? [begin];
      const timeout = blocks === undefined ? this.#host.setTimeout(timeoutMs) : [];
      const bytes = Buffer.concat([...timeout, protocol.query(opening.join(';'))]);
      const onMessage = (type: number, source: Buffer, start: number, end: number) => {
        if (type === dataRow && blocks !== undefined) statements.meetServer(source.subarray(start, end));
      };
      const { error, status } = await wire.exchange(bytes, onMessage, timeout.length + 1);
      if (error !== undefined && status !== 'I') await this.#host.simple(undo);
      if (error !== undefined) throw toHubError(error);
      statements.inTransaction = true;
    });
  }

  async runAll(all: readonly Statement[], { onFailure }: RunAllOptions): Promise<number> {
    this.#runOfMany ??= new RunOfMany(this.#host);
    const run = this.#runOfMany;
    let affectedRows = 0;
    await this.#host.control(async () => {
      try {
        affectedRows = await run.run(all, onFailure);
      } catch (err) {
        this.hasFailed = true;
        throw err;
      }
    });
    return affectedRows;
  }

  commit(): Promise<void> {
    return this.#host.control(() => this.#end('COMMIT'));
  }

  rollBack(): Promise<void> {
    return this.#host.control(() => this.#end('ROLLBACK')).catch(() => this.#host.close());
  }

  rehearseCommit(): Promise<void> {
    return this.#host.control(async () => {
      const error = await this.#fireTriggers();
      if (error === undefined) return;
      this.hasFailed = true;
      throw toHubError(error);
    });
  }

  /** Finds what COMMIT would find, before a single statement is rolled back. */
  async beforeRollback({ errors }: Pick<Statement, 'errors'>): Promise<void> {
    const error = await this.#fireTriggers();
    if (error === undefined) return;
    await (this.#host.blocks === undefined ? this.#host.end('ROLLBACK') : this.#host.simple(undo));
    throw toHubError(error, { errors });
  }

  async #fireTriggers(): Promise<Buffer | undefined> {
    return (await this.#host.wire.exchange(protocol.query(fireTriggers), () => {})).error;
  }

  /** Throws MovedServer, so that the statement is repeated, unless it committed by itself. */
  async undoMoved({ status, error }: ExchangeResult, kind: Statement['kind']): Promise<void> {
    if (kind === 'standalone' && error !== undefined) return;
    if (kind === 'standalone') throw unreported(new MovedServer());
    if (status !== 'I') await this.#host.simple(status === 'T' ? pooledEndings.ROLLBACK : undo);
    throw new MovedServer();
  }

  async name(): Promise<TransactionName | undefined> {
    if (this.#server === undefined || this.#server === '') return undefined;
    let rows: (string | null)[][] = [];
    await this.#host.control(async () => {
      rows = await this.#host.statements.rows(nameText);
    });
    return this.#named(rows[0]?.[0] ?? undefined);
  }

  /** Call this before a statement whose transaction gets a name. */
  async prepareName(): Promise<void> {
    if (this.#server !== undefined) return;
    const { blocks, wire } = this.#host;
    if (blocks === undefined) wire.awaitSign();
    this.#server = await this.#readServer();
  }

  /** Rolls back if the caller does not want the COMMIT, or no longer waits for it. */
  async beforeCommit(
    { options, outcome, reader, id }: Committing,
    isCancelled: () => boolean,
  ): Promise<void> {
    if (options.beforeCommit === undefined) return;
    try {
      if (reader.failure !== undefined) throw reader.failure;
      await options.beforeCommit(this.#named(id), outcome);
      if (isCancelled()) throw new HubError('CANCELLED', 'The statement was cancelled.');
    } catch (err) {
      await this.#host.end('ROLLBACK');
      throw err;
    }
  }

  #named(id: string | undefined): TransactionName | undefined {
    const server = this.#server;
    return server === undefined || server === '' || id === undefined ? undefined : { server, id };
  }

  async endOf({ server, id }: TransactionName) {
    if (!/^\d{1,19}$/.test(id) || (await this.#readServer()) !== server) return 'unknown';
    const [[status] = []] = await this.#host.statements.rows(`SELECT pg_catalog.txid_status(${id})`);
    return endings[status as keyof typeof endings] ?? 'unknown';
  }

  /** A session has the lower half of the id. */
  async stop({ server, id }: TransactionName): Promise<void> {
    if ((await this.#readServer()) !== server) return;
    const session = BigInt.asUintN(32, BigInt(id));
    await this.#host.statements.rows(
      `SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE backend_xid::text = '${session}'`,
    );
  }

  /** Empty if the server has no names for transactions. Poolers can answer with another server each time. */
  async #readServer(): Promise<string> {
    if (this.#host.statements.inTransaction) return '';
    const [row] = await this.#host.statements.rows(serverText).catch((err) => {
      if (err instanceof HubError && err.code === 'SQL_REJECTED') return [];
      throw err;
    });
    return row?.join('/') ?? '';
  }

  #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const { statements, blocks } = this.#host;
    statements.inTransaction = false;
    statements.forgetOnce();
    return this.hasFailed && blocks !== undefined ? this.#host.simple(undo) : this.#host.end(how);
  }
}
