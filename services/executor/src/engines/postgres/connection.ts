/** One session at PostgreSQL: prepared statements, read-only transactions, rows straight into the sink. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Connection, Outcome, RunOptions, Schema, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../row-sink.ts';
import { rowsLeftError } from '../shared/cancelled-error.ts';
import { brokenError, isReadOnlyServer, RefusedPlan, toCancelled, toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { ResultReader } from './results.ts';
import { describeText, readSchema } from './schema.ts';
import {
  type BlockKind,
  directRead,
  messagesOf,
  placeOf,
  prepareSession,
  readServerState,
  recovery,
  type ServerState,
  type SessionSetup,
  sessionBlocks,
  undo,
} from './session.ts';
import { type Prepared, Statements } from './statements.ts';
import { endings, type PooledBlocks } from './transaction-pooling.ts';
import type { ExchangeResult, Wire } from './wire.ts';

export interface Session {
  /** Logged in. */
  wire: Wire;
  serverVersion: string;
  /** False where the database takes any bytes for a text and passes them on as they are. */
  checksTexts: boolean;
  /** As the server named it at the log-in. */
  processId: number;
  /** Set where a pooler gives each transaction another session. */
  blocks: PooledBlocks | undefined;
  /** Asks the server on a side connection to stop what runs here, if `isRunning` still holds once it is reached. */
  cancel(signal: AbortSignal, isRunning: () => boolean): Promise<void>;
  suggestPooling(signal: AbortSignal): Promise<'transaction' | undefined>;
}

export class PostgresConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: Session;
  readonly #statements: Statements;
  #setup: SessionSetup = { reset: '', isDirect: false };
  #timeoutMs = -1;
  #broken = false;
  #running = false;
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;
  #hasDiscarded = false;

  constructor(session: Session) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = session.wire;
    const { blocks } = session;
    this.#statements = new Statements(this.#wire, blocks && (() => blocks.block('read', describeTimeoutMs)));
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  /** What every session of the hub is set to. */
  async initialize(): Promise<void> {
    if (this.#session.blocks !== undefined) return;
    this.#setup = await prepareSession(this.#wire, this.#statements, this.#session);
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#running = true;
    this.#cancelling = false;
    this.#discarding = false;
    this.#hasDiscarded = false;
    try {
      let outcome: Outcome;
      try {
        outcome = await this.#runPrepared(statement, sink, options);
      } catch (err) {
        if (!(err instanceof RefusedPlan) || options.snapshot === 'last') throw err;
        // It has not run, and it only reads.
        outcome = await this.#runPrepared(statement, sink, options);
      }
      if (this.#hasDiscarded) throw rowsLeftError(statement.kind);
      return outcome;
    } catch (err) {
      const told = err instanceof RefusedPlan ? toHubError(err.body, statement.text) : err;
      throw this.#cancelling ? toCancelled(told) : told;
    } finally {
      this.#running = false;
      // An error in the middle of rows may have found the socket paused for a reader who never says that he caught up.
      this.#wire.resume();
      // A cancellation that came too late could hit the next statement.
      if (this.#cancelling && !this.#discarding) this.#broken = true;
    }
  }

  async #runPrepared(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const { key, text, kind } = statement;
    const { blocks } = this.#session;
    const named = kind === 'read' && blocks === undefined;
    const place = placeOf(options);
    // It cannot be prepared in the open transaction.
    if (place === 'first') await this.#statements.prepareNext(options.snapshot, named);
    const prepared = this.#statements.prepared(key) ?? (await this.#statements.prepare(key, text, { named }));
    const outcome: Outcome = { hasRows: prepared.fields !== undefined, rowCount: 0, truncated: false };
    const held = kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
    const blockKind: BlockKind = held ? 'held' : (place ?? kind);
    const timeoutMs = Math.ceil(options.statementTimeoutMs);
    const before = blocks === undefined ? this.#setTimeout(timeoutMs) : [];
    // An error of what comes before would need no recovery.
    const isDirect = this.#setup.isDirect && blockKind === 'read' && before.length === 0;
    const block = isDirect ? directRead : (blocks?.block(blockKind, timeoutMs) ?? sessionBlocks[blockKind]);
    const reader = new ResultReader({
      prepared,
      sink,
      outcome,
      serverTypes: this.#statements.serverTypes,
      checksTexts: this.#session.checksTexts,
      commandsBefore: before.length + block.commandsBefore,
      tags: block.tags,
      rowsMax: options.maxRows,
      discarding: () => this.#discards(),
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
    });
    // Made before answers are expected: if this throws, the connection is still in step with the server.
    const messages = [...before, block.before, ...messagesOf(statement, prepared, options), block.after];
    const sent = this.#wire.expect(
      (type, source, start, end) => reader.read(type, source, start, end),
      before.length + 1,
      // With the ROLLBACK done, the function call itself failed, and was not skipped.
      isDirect ? () => (reader.isOver ? undefined : recovery) : undefined,
    );
    const resets = blocks === undefined && kind !== 'read' && !held;
    const cleaned = resets ? this.#expectReset() : undefined;
    this.#wire.send(Buffer.concat(resets ? [...messages, this.#resetQuery()] : messages));
    const result = cleaned === undefined ? await sent : (await Promise.all([sent, cleaned]))[0];
    const isOver =
      result.error === undefined &&
      result.status === (place === 'first' ? 'T' : 'I') &&
      !held &&
      reader.tagsMissing === 0;
    if (!isOver) await this.#settle(result, statement, { held, options, reader, prepared, outcome });
    if (reader.isOutdated) await this.#statements.forget(key);
    if (reader.failure !== undefined) throw reader.failure;
    return outcome;
  }

  /**
   * What a statement outside of a rolled back transaction may have left in its session, a function of the database's
   * own unseen by its text: it is forgotten after every write, in the same trip.
   */
  #resetQuery(): Buffer {
    return protocol.query(`${this.#setup.reset};SET statement_timeout = ${this.#timeoutMs}`);
  }

  /** A session that cannot be reset is not used again. */
  async #expectReset(): Promise<void> {
    const { error } = await this.#wire.expect(() => {});
    if (error !== undefined) this.close();
  }

  /** Leaves no transaction open, whatever came. */
  async #settle(result: ExchangeResult, statement: Statement, run: Settled): Promise<void> {
    const { held, options, outcome } = run;
    if (result.error !== undefined) {
      if (held) await this.#end('ROLLBACK');
      else if (result.status !== 'I') await this.#simple(undo);
      if (!run.reader.begun) await this.#statements.forgetStale(result.error, statement.key, run);
      // The call that releases the locks failed.
      if (statement.kind === 'read' && run.reader.isOver && placeOf(options) !== 'first') this.#broken = true;
      // Another connection finds the server that takes writes now.
      if (statement.kind !== 'read' && isReadOnlyServer(result.error)) this.#broken = true;
      throw toHubError(result.error, statement.text);
    }
    // Something between here and the server, or SQL that ran, has changed the transaction: of a write nobody knows the
    // outcome, and a read may not have been read-only.
    if (result.status !== (held ? 'T' : 'I') || run.reader.tagsMissing > 0) {
      this.close();
      throw brokenError(new Error(`The session is in the state ${result.status}.`));
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
    let tag = '';
    const ended = this.#wire.expect((type, source, start, end) => {
      if (type === commandComplete) tag = source.toString('latin1', start, end - 1);
    });
    const isPooled = this.#session.blocks !== undefined;
    const cleaned = isPooled ? undefined : this.#expectReset();
    const own = protocol.query(isPooled ? endings[how] : how);
    this.#wire.send(isPooled ? own : Buffer.concat([own, this.#resetQuery()]));
    const [{ error, status }] = await Promise.all([ended, cleaned]);
    if (error !== undefined && status !== 'I') await this.#simple(undo);
    if (error !== undefined) throw toHubError(error, undefined);
    if (tag === how && status === 'I') return;
    this.close();
    throw brokenError(new Error(`${how} ended as ${tag}.`));
  }

  /** The second net under the executor's own deadline; sent only when it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    if (timeoutMs === this.#timeoutMs) return [];
    this.#timeoutMs = timeoutMs;
    return [protocol.query(`SET statement_timeout = ${timeoutMs}`)];
  }

  async #simple(text: string): Promise<void> {
    const { error } = await this.#wire.exchange(protocol.query(text), () => {});
    if (error !== undefined) throw toHubError(error, undefined);
  }

  async endSnapshot(): Promise<void> {
    await this.#simple(this.#session.blocks === undefined ? undo : endings.ROLLBACK).catch(() =>
      this.close(),
    );
  }

  async cancel(signal: AbortSignal): Promise<void> {
    this.#cancelling = true;
    await this.#session.cancel(signal, () => this.#running);
    // The server may be waiting for us to read on before it notices.
    this.#discarding = true;
    this.#wire.resume();
  }

  async ping(): Promise<void> {
    await this.#wire.exchange(protocol.sync, () => {});
  }

  async suggestPooling(signal: AbortSignal): Promise<'transaction' | undefined> {
    // A pooler without room for another client gives no answer.
    return this.#session.suggestPooling(signal).catch(() => undefined);
  }

  describe(statement: Statement): Promise<Signature> {
    return describeText(this.#statements, statement.text);
  }

  readState(): Promise<ServerState> {
    return readServerState(this.#statements);
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

interface Settled {
  held: boolean;
  options: RunOptions;
  outcome: Outcome;
  prepared: Prepared;
  reader: ResultReader;
}

const commandComplete = 'C'.charCodeAt(0);
/** For a statement that is parsed and not run. */
const describeTimeoutMs = 30_000;
