/** One session at PostgreSQL: prepared statements, read-only transactions, rows straight into the sink. */

import { HubError } from '@datahub/service-kit/error';
import type { Connection, Outcome, RunOptions, Schema, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../rows/row-sink.ts';
import { rowsLeftError } from '../stopped.ts';
import { toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { ResultReader } from './results.ts';
import { readSchema } from './schema.ts';
import { prepareSession, undo, unlock } from './session.ts';
import { type Prepared, Statements } from './statements.ts';
import { typeName } from './values.ts';
import type { Wire } from './wire.ts';

export interface Session {
  /** Logged in. */
  wire: Wire;
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
  #sessionReset = '';
  /** The messages around every read, made once. */
  #beforeRead: Buffer = Buffer.alloc(0);
  #afterRead: Buffer = Buffer.alloc(0);
  #timeoutMs = -1;
  #broken = false;
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;
  #hasDiscarded = false;

  constructor(session: Session) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = session.wire;
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
    this.#sessionReset = await prepareSession(this.#wire, this.#statements);
    const call = async (text: string) => [
      protocol.bind(await this.#statements.own(text), []),
      protocol.execute(0),
    ];
    this.#beforeRead = Buffer.concat(await call('BEGIN READ ONLY'));
    // Locks of the session outlive a transaction, and a function can take them unseen. Given back within the
    // transaction they cost none of their own.
    this.#afterRead = Buffer.concat([...(await call(unlock)), ...(await call('ROLLBACK')), protocol.sync]);
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    this.#discarding = false;
    this.#hasDiscarded = false;
    try {
      let outcome: Outcome;
      try {
        outcome = await this.#runPrepared(statement, sink, options);
      } catch (err) {
        if (!(err instanceof StalePlan)) throw err;
        await this.#prepareAnew(err, statement);
        outcome = await this.#runPrepared(statement, sink, options);
      }
      if (this.#hasDiscarded) throw rowsLeftError(statement.kind);
      return outcome;
    } catch (err) {
      throw this.#cancelling ? toCancelled(err) : err;
    } finally {
      // An error in the middle of rows may have found the socket paused for a reader who never says that he caught up.
      this.#wire.resume();
      // A cancellation that came too late could hit the next statement.
      if (this.#cancelling && !this.#discarding) this.#broken = true;
    }
  }

  /** Nothing was sent yet. A function of the database's own may have dropped all that was prepared. */
  async #prepareAnew({ isGone }: StalePlan, { key }: Statement): Promise<void> {
    if (!isGone) return this.#statements.forget(key);
    this.#statements.clear();
    return this.initialize();
  }

  async #runPrepared(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const { key, text } = statement;
    const prepared = this.#statements.prepared(key) ?? (await this.#statements.prepare(key, text));
    const outcome: Outcome = { hasRows: prepared.fields !== undefined, rowCount: 0, truncated: false };
    const held = statement.kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
    const before = this.#setTimeout(options.statementTimeoutMs);
    const reader = new ResultReader({
      prepared,
      sink,
      outcome,
      serverTypes: this.#statements.serverTypes,
      checksTexts: this.#session.checksTexts,
      commandsBefore: before.length + (statement.kind === 'read' || held ? 1 : 0),
      rowsMax: options.maxRows,
      discarding: () => this.#discards(),
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
    });
    const sent = this.#wire.expect(
      (type, source, start, end) => reader.read(type, source, start, end),
      before.length + 1,
    );
    const messages = [...before, ...this.#around(statement, prepared, { held, options })];
    const resets = statement.kind !== 'read' && !held;
    const cleaned = resets ? this.#expectReset() : undefined;
    if (resets) messages.push(this.#resetQuery());
    this.#wire.send(Buffer.concat(messages));
    const result = cleaned === undefined ? await sent : (await Promise.all([sent, cleaned]))[0];
    const stale = result.error === undefined || reader.begun ? undefined : toStalePlan(result.error);
    if (stale !== undefined) {
      if (result.status !== 'I') await this.#simple(undo);
      throw stale;
    }
    const isOver = result.error === undefined && result.status === 'I' && !held;
    if (!isOver) await this.#settle(result, statement, { held, options, outcome });
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

  /**
   * What a statement outside of a rolled back transaction may have left in its session, a function of the database's
   * own unseen by its text: it is forgotten after every write, in the same trip.
   */
  #resetQuery(): Buffer {
    return protocol.query(`${this.#sessionReset};SET statement_timeout = ${this.#timeoutMs}`);
  }

  /** A session that cannot be reset is not used again. */
  async #expectReset(): Promise<void> {
    const { error } = await this.#wire.expect(() => {});
    if (error !== undefined) this.close();
  }

  /** Leaves no transaction open, whatever came. */
  async #settle(
    result: Awaited<ReturnType<Wire['exchange']>>,
    statement: Statement,
    { held, options, outcome }: { held: boolean; options: RunOptions; outcome: Outcome },
  ): Promise<void> {
    if (result.error !== undefined) {
      if (held) await this.#end('ROLLBACK');
      else if (result.status !== 'I') await this.#simple(undo);
      throw toHubError(result.error, statement.text);
    }
    if (!held) {
      if (result.status !== 'I') this.close();
      return;
    }
    const affected = outcome.affectedRows ?? outcome.rowCount;
    const tooMany = options.maxAffected !== undefined && affected > options.maxAffected;
    await this.#end(options.dryRun || tooMany ? 'ROLLBACK' : 'COMMIT');
    if (tooMany) {
      throw new HubError(
        'MAX_AFFECTED',
        `The statement would touch ${affected} rows, and ${options.maxAffected} are allowed. Nothing was changed.`,
        { retryable: false },
      );
    }
  }

  async #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const ended = this.#wire.expect(() => {});
    const cleaned = this.#expectReset();
    this.#wire.send(Buffer.concat([protocol.query(how), this.#resetQuery()]));
    const [{ error }] = await Promise.all([ended, cleaned]);
    if (error !== undefined) throw toHubError(error, undefined);
  }

  /** The second net under the executor's own deadline; sent only when it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    const wholeMs = Math.ceil(timeoutMs);
    if (wholeMs === this.#timeoutMs) return [];
    this.#timeoutMs = wholeMs;
    return [protocol.query(`SET statement_timeout = ${wholeMs}`)];
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

  readSchema(): Promise<Schema> {
    return readSchema(this.#statements);
  }

  close(): void {
    this.#broken = true;
    this.#wire.close();
  }

  #discards(): boolean {
    this.#hasDiscarded ||= this.#discarding;
    return this.#discarding;
  }
}

/** A table changed under a prepared statement, or it is gone; nothing was sent yet, so it is prepared anew. */
class StalePlan extends Error {
  readonly isGone: boolean;
  constructor(isGone: boolean) {
    super('The prepared statement is stale.');
    this.isGone = isGone;
  }
}

function toStalePlan(error: Buffer): StalePlan | undefined {
  const fields = protocol.readFields(error);
  const isGone = fields.get('C') === '26000';
  return isGone || fields.get('R') === 'RevalidateCachedQuery' ? new StalePlan(isGone) : undefined;
}

function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.sql?.state !== '57014') return err;
  return new HubError('CANCELLED', 'The statement was stopped.', { cause: err });
}
