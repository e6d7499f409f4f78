/** One session at PostgreSQL: prepared statements, read-only transactions, rows straight into the sink. */

import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/error';
import type { Connection, Outcome, RunOptions, SchemaTable, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../rows/row-sink.ts';
import { toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { createResultReader } from './results.ts';
import { readSchema } from './schema.ts';
import { sessionSettings } from './session-settings.ts';
import { type Prepared, Statements } from './statements.ts';
import { typeName } from './values.ts';
import { Wire } from './wire.ts';

export interface Session {
  socket: Socket;
  serverVersion: string;
  /** False where the database takes any bytes for a text and passes them on as they are. */
  checksTexts: boolean;
  /** Asks the server on a side connection to stop what runs here. */
  cancel(signal: AbortSignal): Promise<void>;
}

export class PostgresConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: Session;
  readonly #statements: Statements;
  /** The messages around every read, made once. */
  #beforeRead: Buffer = Buffer.alloc(0);
  #afterRead: Buffer = Buffer.alloc(0);
  #timeoutMs = -1;
  #broken = false;
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;

  constructor(session: Session) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = new Wire(session.socket);
    this.#statements = new Statements(this.#wire);
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  /** What every session of the hub is set to, and the statements around every read. */
  async initialize(): Promise<void> {
    await this.#simple(settingsText);
    // Since PostgreSQL 14, and not on every platform: without it a dead executor's statement ends at its deadline.
    await this.#wire.exchange(protocol.query("SET client_connection_check_interval = '500ms'"), () => {});
    const call = async (text: string) => [
      protocol.bind(await this.#statements.own(text), []),
      protocol.execute(0),
    ];
    this.#beforeRead = Buffer.concat(await call('BEGIN READ ONLY'));
    // Locks of the session outlive a transaction, and a function can take them unseen.
    this.#afterRead = Buffer.concat([
      ...(await call('ROLLBACK')),
      ...(await call('SELECT pg_advisory_unlock_all()')),
      protocol.sync,
    ]);
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    this.#discarding = false;
    try {
      return await this.#runPrepared(statement, sink, options);
    } catch (err) {
      if (!(err instanceof StalePlan)) throw this.#cancelling ? toCancelled(err) : err;
      await this.#statements.forget(statement.key);
      return await this.#runPrepared(statement, sink, options);
    } finally {
      // A cancellation that came too late could hit the next statement.
      if (this.#cancelling && !this.#discarding) this.#broken = true;
      const leaves = statement.kind === 'standalone' || leavesTraces.test(statement.text);
      if (statement.kind !== 'read' && leaves && !this.broken) await this.#reset();
    }
  }

  async #runPrepared(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const prepared = await this.#statements.prepare(statement.key, statement.text);
    const outcome: Outcome = { hasRows: prepared.fields !== undefined, rowCount: 0, truncated: false };
    const held = statement.kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
    const before = this.#setTimeout(options.statementTimeoutMs);
    const reader = createResultReader({
      prepared,
      sink,
      outcome,
      serverTypes: this.#statements.serverTypes,
      checksTexts: this.#session.checksTexts,
      commandsBefore: before.length + (statement.kind === 'read' || held ? 1 : 0),
      rowsMax: options.maxRows,
      discarding: () => this.#discarding,
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
    });
    const result = await this.#wire.exchange(
      Buffer.concat([...before, ...this.#around(statement, prepared, { held, options })]),
      reader.onMessage,
      before.length + 1,
    );
    if (result.error !== undefined && !reader.begun && isStalePlan(result.error)) {
      if (result.status !== 'I') await this.#simple('ROLLBACK');
      throw new StalePlan();
    }
    await this.#settle(result, statement, { held, options, outcome });
    if (reader.failure !== undefined) throw reader.failure;
    return outcome;
  }

  /** The statement's own messages, between those that open and close its transaction. */
  #around(
    statement: Statement,
    { name }: Prepared,
    { held, options }: { held: boolean; options: RunOptions },
  ): Buffer[] {
    const limit = options.maxRows === undefined ? protocol.executeAll : protocol.execute(options.maxRows + 1);
    const own = [protocol.bind(name, statement.params), limit];
    if (statement.kind === 'read') return [this.#beforeRead, ...own, this.#afterRead];
    const begin = held ? [protocol.parse('', 'BEGIN'), protocol.bind('', []), protocol.executeAll] : [];
    return [...begin, ...own, protocol.sync];
  }

  /** Everything a statement outside of our transactions may have left in its session. */
  async #reset(): Promise<void> {
    this.#timeoutMs = -1;
    try {
      await this.#simple(resetText);
      await this.#simple(settingsText);
    } catch {
      this.close();
    }
  }

  /** Leaves no transaction open, whatever came. */
  async #settle(
    result: Awaited<ReturnType<Wire['exchange']>>,
    statement: Statement,
    { held, options, outcome }: { held: boolean; options: RunOptions; outcome: Outcome },
  ): Promise<void> {
    if (result.error !== undefined) {
      if (result.status !== 'I') await this.#simple('ROLLBACK');
      throw toHubError(result.error, statement.text);
    }
    if (!held) {
      if (result.status !== 'I') this.close();
      return;
    }
    const affected = outcome.affectedRows ?? outcome.rowCount;
    const tooMany = options.maxAffected !== undefined && affected > options.maxAffected;
    await this.#simple(options.dryRun || tooMany ? 'ROLLBACK' : 'COMMIT');
    if (tooMany) {
      throw new HubError(
        'MAX_AFFECTED',
        `The statement would touch ${affected} rows, and ${options.maxAffected} are allowed. Nothing was changed.`,
        { retryable: false },
      );
    }
  }

  /** The second net under the executor's own deadline; sent only when it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    if (timeoutMs === this.#timeoutMs) return [];
    this.#timeoutMs = timeoutMs;
    return [protocol.query(`SET statement_timeout = ${Math.ceil(timeoutMs)}`)];
  }

  async #simple(text: string): Promise<void> {
    const { error } = await this.#wire.exchange(protocol.query(text), () => {});
    if (error !== undefined) throw toHubError(error, undefined);
  }

  async cancel(signal: AbortSignal): Promise<void> {
    this.#cancelling = true;
    await this.#session.cancel(signal);
    // The server may be waiting for us to read on before it notices.
    this.#discarding = true;
    this.#wire.resume();
  }

  async ping(): Promise<void> {
    await this.#wire.exchange(protocol.sync, () => {});
  }

  async describe(statement: Statement): Promise<Signature> {
    const { name, fields, parameterTypes } = await this.#statements.parse(statement.text);
    await this.#statements.close(name);
    const toName = (id: number) => typeName(id, this.#statements.serverTypes);
    return {
      columns: (fields ?? []).map((field) => ({ name: field.name, type: toName(field.typeId) })),
      parameters: parameterTypes.map(toName),
    };
  }

  readSchema(): Promise<SchemaTable[]> {
    return readSchema(this.#statements);
  }

  close(): void {
    this.#broken = true;
    this.#wire.close();
  }
}

/** What outlives a write in its session, where its text shows it. */
const leavesTraces = /set_config|advisory_lock|dblink_connect/i;

const settingsText = Object.entries(sessionSettings)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join(';');

const resetText = [
  'CLOSE ALL',
  'SET SESSION AUTHORIZATION DEFAULT',
  'RESET ALL',
  'UNLISTEN *',
  'SELECT pg_advisory_unlock_all()',
  'DISCARD TEMP',
].join(';');

/** A table changed under a prepared statement; nothing was sent yet, so it is prepared anew. */
class StalePlan extends Error {}

function isStalePlan(error: Buffer): boolean {
  const fields = protocol.readFields(error);
  return fields.get('R') === 'RevalidateCachedQuery' || fields.get('C') === '26000';
}

function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.sql?.state !== '57014') return err;
  return new HubError('CANCELLED', 'The statement was stopped.', { cause: err });
}
