/** One session at PostgreSQL: prepared statements, read-only transactions, rows written directly into the sink. */

import { HubError } from '@datahub/service-kit/call/error';
import {
  type Connection,
  NothingRan,
  type Outcome,
  type Param,
  type RunOptions,
  type Schema,
  type Signature,
  type Statement,
  unreported,
} from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import type { KeptOfAccount } from '../../ports/server-stream.ts';
import { Cancellation } from '../shared/cancellation.ts';
import { FailedRead } from '../shared/failed-read.ts';
import { isHeld, toOutcome } from '../shared/outcomes.ts';
import {
  brokenError,
  hasNoEffect,
  isReadOnlyServer,
  RefusedPlan,
  toCancelled,
  toHubError,
} from './errors.ts';
import { withCheck } from './formats.ts';
import type { BinaryResult, Prepared } from './prepared.ts';
import * as protocol from './protocol.ts';
import { ResultReader, toBinaryResult } from './results.ts';
import { describeStatement, readSchema } from './schema.ts';
import {
  blockOf,
  directRead,
  keepsFrontComments,
  prepareSession,
  readServerState,
  recovery,
  type ServerState,
  type SessionSetup,
  undo,
  withSession,
} from './session.ts';
import { Statements } from './statements.ts';
import { describeTimeoutMs, endings, type PooledBlocks } from './transaction-pooling.ts';
import { type Committing, PostgresTransactions } from './transactions.ts';
import type { ExchangeResult, Wire } from './wire.ts';

export interface PostgresSession {
  /** The connection, after the log-in. */
  wire: Wire;
  serverVersion: string;
  /** False if the database stores and returns text without checking its encoding. */
  checksTexts: boolean;
  /** The process id that the server reported at the log-in. */
  processId: number;
  /** True if statements are sent with their comments. */
  comments: boolean;
  kept: KeptOfAccount | undefined;
  /** Set if a pooler can run each transaction in another session. */
  blocks: PooledBlocks | undefined;
  /** Cancels the running statement over a second connection, if `isRunning` is still true once that is connected. */
  cancel(signal: AbortSignal, isRunning: () => boolean): Promise<void>;
  suggestPooling(signal: AbortSignal): Promise<'transaction' | undefined>;
}

export class PostgresConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: PostgresSession;
  readonly #statements: Statements;
  #setup: SessionSetup = { reset: '', isDirect: false };
  #timeoutMs = -1;
  /** The message of `#resetQuery`, until the timeout changes. */
  #reset: Buffer | undefined;
  #broken = false;
  #running = false;
  /** True once the running statement itself was sent. */
  #isSent = false;
  /** True once the COMMIT of a held statement was sent. */
  #isCommitting = false;
  readonly #cancellation = new Cancellation();
  readonly #failed = new FailedRead(() => this.close());
  readonly transactions: PostgresTransactions;

  constructor(session: PostgresSession) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = session.wire;
    const { blocks } = session;
    this.#statements = new Statements(this.#wire, {
      block: blocks && (() => blocks.block('read', describeTimeoutMs, true)),
      comments: session.comments ? 'behind' : 'off',
      kept: session.kept,
    });
    this.transactions = new PostgresTransactions({
      ...{ wire: this.#wire, statements: this.#statements, blocks },
      ...{ control: (work) => this.#control(work), setTimeout: (timeoutMs) => this.#setTimeout(timeoutMs) },
      ...{ simple: (text) => this.#simple(text), end: (how) => this.#end(how), close: () => this.close() },
    });
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  get silentSince(): number | undefined {
    return this.#wire.silentSince;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  /** Sets up the session. */
  async initialize(): Promise<void> {
    if (this.#session.blocks !== undefined) return;
    this.#setup = await prepareSession(this.#wire, this.#statements, this.#session);
    if (this.#setup.isDirect && keepsFrontComments(this.serverVersion)) this.#statements.commentInFront();
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const { kind } = statement;
    this.#running = true;
    this.#isSent = this.#isCommitting = false;
    this.#cancellation.reset();
    this.#failed.reset();
    try {
      let outcome: Outcome;
      try {
        if (options.beforeCommit !== undefined) await this.transactions.prepareName();
        outcome = await this.#runPrepared(statement, sink, options);
      } catch (err) {
        if (!hasNoEffect(err) || options.snapshot === 'last' || options.inTransaction) throw err;
        outcome = await this.#runPrepared(statement, sink, options);
      }
      const left = this.#cancellation.rowsLeft(kind);
      if (left !== undefined) throw left;
      return outcome;
    } catch (err) {
      if (options.snapshot === 'last' && !this.#isSent && !this.broken) await this.endSnapshot();
      if (this.#failed.error !== undefined) throw this.#failed.error;
      if (err instanceof RefusedPlan && options.inTransaction) throw new NothingRan(err);
      const told = err instanceof RefusedPlan ? this.#rejected(err.body, statement) : err;
      const isSent = isHeld(kind, options) ? this.#isCommitting : this.#isSent;
      throw toOutcome(this.#cancellation.isAsked ? toCancelled(told) : told, { kind, isSent });
    } finally {
      this.#running = false;
      this.#failed.end();
      if (placeOf(options) !== 'first') this.#statements.forgetOnce();
      // After an error in the middle of rows, the socket may still be paused, and the sink may never drain.
      this.#wire.resume();
      // A cancel request that arrives late could cancel the next statement. A new connection knows fewer types.
      const isFull = kind === 'read' && !options.inTransaction && this.#statements.knowsManyTypes;
      if (isFull || this.#cancellation.isPending) this.#broken = true;
    }
  }

  async #runPrepared(asked: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const [kind, blocks] = [asked.kind, this.#session.blocks];
    const named = kind === 'read' && blocks === undefined;
    const place = placeOf(options);
    // The next statement cannot be prepared in the open transaction.
    if (place === 'first') await this.#statements.prepareNext(options.snapshot, named);
    const isLast = place === 'last';
    const { statement, prepared } = await this.#statements.readied(asked, { named, isLast });
    const params = this.#statements.paramsOf(statement, prepared);
    const outcome: Outcome = { hasRows: prepared.fields !== undefined };
    const inner = options.inTransaction === true;
    // The types may be those of another server, which a write of a pooler says only when it has run.
    const asksServer = blocks !== undefined && !inner && prepared.hasServerTypes;
    const held = isHeld(kind, options) || (asksServer && kind === 'write');
    const blockKind = inner ? this.transactions.kindOf(statement) : held ? 'held' : (place ?? kind);
    const timeoutMs = Math.ceil(options.statementTimeoutMs);
    const before = blocks === undefined && !inner ? this.#setTimeout(timeoutMs) : [];
    // If a command before the statement failed, `recovery` would be wrong. So this is only for a statement without
    // them.
    const isDirect = this.#setup.isDirect && blockKind === 'read' && before.length === 0;
    const isNamed = options.beforeCommit !== undefined;
    const block = isDirect
      ? withSession(directRead, statement.session)
      : blockOf(statement, { blocks, blockKind, timeoutMs, isNamed, asksServer });
    let id: string | undefined;
    const binary = sink.takesBinary ? this.#binaryResult(prepared) : undefined;
    const reader = new ResultReader({
      ...{ prepared, binary, sink, outcome },
      ...{ serverTypes: this.#statements.serverTypes, checksTexts: this.#session.checksTexts },
      ...{ commandsBefore: before.length + block.commandsBefore, tags: block.tags },
      meetServer: asksServer && !isLast ? (row) => this.#statements.meetServer(row) : undefined,
      onTail: isNamed ? (text) => (id = text) : undefined,
      discarding: () => this.#cancellation.dropsRows(),
      onFailure: (err) => kind === 'read' && this.#failed.begin(err),
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
      readOnIn: (turn) => this.#wire.readOnIn(turn),
    });
    // The messages are encoded before the hub expects answers: if this throws, the connection is still in sync.
    const toSend = this.#toSend(statement, prepared, params);
    const own = protocol.statementMessages(toSend, { prepared, formats: binary?.formats }, options);
    const messages = [...before, block.before, ...withCheck(prepared.check, own), block.after];
    const sent = this.#wire.expect(
      (type, source, start, end) => reader.read(type, source, start, end),
      before.length + 1,
      // If the ROLLBACK has completed, the function call itself failed, so the server does not wait for a Sync.
      isDirect ? () => (reader.isOver ? undefined : recovery) : undefined,
    );
    const resets = blocks === undefined && kind !== 'read' && !held && !inner;
    const cleaned = resets ? this.#expectReset() : undefined;
    // A pooler may have no server for the client yet, so it gives no sign.
    if (blocks === undefined) this.#wire.awaitSign();
    this.#isSent = true;
    this.#wire.send(Buffer.concat(resets ? [...messages, this.#resetQuery()] : messages));
    const result = cleaned === undefined ? await sent : (await Promise.all([sent, cleaned]))[0];
    if (reader.isMoved) {
      this.#isSent = kind === 'standalone';
      await this.transactions.undoMoved(result, kind);
    }
    const isOver =
      result.error === undefined &&
      result.status === (place === 'first' || inner ? 'T' : 'I') &&
      !held &&
      reader.tagsMissing === 0;
    if (!isOver) await this.#settle(result, statement, { held, options, reader, prepared, outcome, id });
    if (reader.isOutdated) await this.#statements.forget(statement.key);
    if (reader.failure !== undefined)
      throw kind === 'read' || options.dryRun || inner ? reader.failure : unreported(reader.failure);
    return outcome;
  }

  /**
   * Resets the session after every write, in the same round trip. A write may leave state in its session, and a
   * function can do so without a trace in the statement's text.
   */
  #resetQuery(): Buffer {
    this.#reset ??= protocol.query(`${this.#setup.reset};SET statement_timeout = ${this.#timeoutMs}`);
    return this.#reset;
  }

  /** Waits for the reset. Closes a session that cannot be reset. The outcome of the write is known without it. */
  async #expectReset(): Promise<void> {
    const { error } = await this.#wire.expect(() => {}).catch((err) => ({ error: err }));
    if (error !== undefined) this.close();
  }

  /** Ends the transaction after any outcome. */
  async #settle(result: ExchangeResult, statement: Statement, run: Settled): Promise<void> {
    const { held, options, outcome } = run;
    if (result.error !== undefined) {
      if (options.inTransaction) this.transactions.hasFailed = true;
      else if (held && this.#session.blocks === undefined) await this.#end('ROLLBACK');
      // In a failed transaction, the commands of a pooled session that come before its end would fail.
      else if (result.status !== 'I') await this.#simple(undo);
      if (!run.reader.begun) await this.#statements.forgetStale(result.error, statement.key, run);
      // The call that releases the advisory locks failed.
      if (statement.kind === 'read' && run.reader.isOver && placeOf(options) !== 'first') this.#broken = true;
      // A new connection can find the server that accepts writes now.
      if (statement.kind !== 'read' && isReadOnlyServer(result.error)) this.#broken = true;
      throw this.#rejected(result.error, { ...statement, apart: run.prepared.apart });
    }
    // A proxy, or the SQL itself, has changed the transaction. The outcome of a write is unknown, and a read may not
    // have been read-only.
    if (result.status !== (held || options.inTransaction ? 'T' : 'I') || run.reader.tagsMissing > 0) {
      this.close();
      throw brokenError(new Error(`The session is in the state ${result.status}.`));
    }
    if (options.inTransaction) return;
    const { affectedRows: affected = 0 } = outcome;
    const tooMany = options.maxAffected !== undefined && affected > options.maxAffected;
    const how = options.dryRun || tooMany ? 'ROLLBACK' : 'COMMIT';
    if (how === 'COMMIT') await this.transactions.beforeCommit(run, () => this.#cancellation.isAsked);
    else if (!tooMany) await this.transactions.beforeRollback(statement);
    this.#isCommitting = how === 'COMMIT';
    await this.#end(how, statement);
    if (tooMany) {
      throw new HubError(
        'MAX_AFFECTED',
        `The statement would affect ${affected} rows, and at most ${options.maxAffected} are allowed. Nothing was changed.`,
        { retryable: false },
      );
    }
  }

  /** Undefined for results that come as texts. */
  #binaryResult(prepared: Prepared): BinaryResult | undefined {
    // Only the columns of a named statement are certain before it runs: the server refuses to run it with others.
    // Where the database does not check texts, the hub does, and would refuse other bytes.
    const { name, fields } = prepared;
    if (name === '' || fields === undefined || !this.#session.checksTexts) return undefined;
    prepared.binary ??= toBinaryResult(fields, this.#statements.serverTypes);
    return prepared.binary;
  }

  /** A statement without a name is sent as text again. */
  #toSend(statement: Statement, prepared: Prepared, params: Param[]): Statement {
    if (prepared.name !== '') return params === statement.params ? statement : { ...statement, params };
    return { ...statement, params, text: this.#statements.textOf(statement, prepared) };
  }

  #rejected(body: Buffer, statement: Statement): HubError {
    return toHubError(body, statement, this.#statements.charactersBefore(statement));
  }

  /** Deferred constraints and triggers of the statement can fail at COMMIT. */
  async #end(how: 'COMMIT' | 'ROLLBACK', { errors }: Pick<Statement, 'errors'> = {}): Promise<void> {
    let tag = '';
    const ended = this.#wire.expect((type, source, start, end) => {
      if (type === commandComplete) tag = source.toString('latin1', start, end - 1);
    });
    const isPooled = this.#session.blocks !== undefined;
    const cleaned = isPooled ? undefined : this.#expectReset();
    const own = protocol.query(isPooled ? endings[how] : how);
    this.#wire.send(isPooled ? own : Buffer.concat([own, this.#resetQuery()]));
    const [{ error, status }] = await Promise.all([ended, cleaned]);
    if (error !== undefined && status !== 'I') {
      await this.#simple(undo);
      // A transaction that has failed takes no other command of a pooled session in front of its end.
      if (how === 'ROLLBACK') return;
    }
    if (error !== undefined) throw toHubError(error, { errors });
    if (tag === how && status === 'I') return;
    this.close();
    throw brokenError(new Error(`The server answered ${how} with ${tag}.`));
  }

  /** Sets the server's timeout, a fallback for the executor's deadline. It is sent only if it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    if (timeoutMs === this.#timeoutMs) return [];
    this.#timeoutMs = timeoutMs;
    this.#reset = undefined;
    return [protocol.query(`SET statement_timeout = ${timeoutMs}`)];
  }

  async #simple(text: string): Promise<void> {
    const { error } = await this.#wire.exchange(protocol.query(text), () => {});
    if (error !== undefined) throw toHubError(error);
  }

  /** Runs commands that can be cancelled. */
  async #control(work: () => Promise<void>): Promise<void> {
    this.#running = true;
    this.#cancellation.reset();
    try {
      await work();
    } catch (err) {
      throw this.#cancellation.isAsked ? toCancelled(err) : err;
    } finally {
      this.#running = false;
      if (this.#cancellation.isPending) this.#broken = true;
    }
  }

  async endSnapshot(): Promise<void> {
    this.#statements.forgetOnce();
    await this.#simple(this.#session.blocks === undefined ? undo : endings.ROLLBACK).catch(() =>
      this.close(),
    );
  }

  async cancel(signal: AbortSignal): Promise<void> {
    this.#cancellation.ask();
    await this.#session.cancel(signal, () => this.#running);
    this.#cancellation.answered();
    this.#wire.resume();
  }

  async ping(): Promise<void> {
    await this.#wire.exchange(protocol.sync, () => {});
  }

  async suggestPooling(signal: AbortSignal): Promise<'transaction' | undefined> {
    // This fails if a pooler has no room for a second client.
    return this.#session.suggestPooling(signal).catch(() => undefined);
  }

  describe(statement: Statement): Promise<Signature> {
    return describeStatement(this.#statements, statement);
  }

  readState = (): Promise<ServerState> => readServerState(this.#statements);

  readSchema = (): Promise<Schema> => readSchema(this.#statements);

  close(): void {
    this.#broken = true;
    this.#wire.close();
  }
}

/** The position of a statement in a snapshot; undefined outside of one. */
const placeOf = ({ snapshot }: RunOptions): 'first' | 'last' | undefined =>
  typeof snapshot === 'object' ? 'first' : snapshot;

interface Settled extends Committing {
  held: boolean;
  prepared: Prepared;
  reader: ResultReader;
}

const commandComplete = 'C'.charCodeAt(0);
