/** Transactions of several statements at PostgreSQL. */

import { isolationSql } from '@datahub/contract/transactions';
import type { Statement, TransactionOptions, Transactions } from '../../ports/engine.ts';
import { toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { type BlockKind, undo } from './session.ts';
import type { Statements } from './statements.ts';
import type { PooledBlocks } from './transaction-pooling.ts';
import type { Wire } from './wire.ts';

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

export class PostgresTransactions implements Transactions {
  /** Whether a statement of the open transaction failed. It takes no command but its end then. */
  hasFailed = false;
  #isReadOnly = false;
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
    return this.#host.control(async () => {
      const opening = blocks?.opening(begin, timeoutMs) ?? [begin];
      const timeout = blocks === undefined ? this.#host.setTimeout(timeoutMs) : [];
      const bytes = Buffer.concat([...timeout, protocol.query(opening.join(';'))]);
      const { error, status } = await wire.exchange(bytes, () => {}, timeout.length + 1);
      if (error !== undefined && status !== 'I') await this.#host.simple(undo);
      if (error !== undefined) throw toHubError(error);
      statements.inTransaction = true;
    });
  }

  commit(): Promise<void> {
    return this.#host.control(() => this.#end('COMMIT'));
  }

  rollBack(): Promise<void> {
    return this.#host.control(() => this.#end('ROLLBACK')).catch(() => this.#host.close());
  }

  #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const { statements, blocks } = this.#host;
    statements.inTransaction = false;
    statements.forgetOnce();
    return this.hasFailed && blocks !== undefined ? this.#host.simple(undo) : this.#host.end(how);
  }
}
