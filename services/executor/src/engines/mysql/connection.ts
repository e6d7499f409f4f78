/** One session at MySQL or MariaDB: prepared statements, read-only transactions, binary rows written into the sink. */

import {
  type Connection,
  type Outcome,
  type RunOptions,
  type Schema,
  type Signature,
  type Statement,
  type Transactions,
  unreported,
} from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import type { Cancellation } from '../shared/cancellation.ts';
import { isHeld, toOutcome } from '../shared/outcomes.ts';
import {
  brokenError,
  ConnectionEnds,
  controlError,
  leftOpenError,
  reported,
  stoppedError,
  toCancelled,
  wasKilled,
} from './errors.ts';
import { SessionFormats } from './formats.ts';
import * as protocol from './protocol.ts';
import { createTextReader, type ResultHost, ResultReader, type TextRow, withExactId } from './results.ts';
import {
  createWarningsReader,
  failedIncompleteError,
  isRefused,
  requireTransactional,
  rollBackAll,
  runInTransaction,
  type TransactionSession,
  warnsOfRows,
} from './rollback.ts';
import { describePrepared, readSchema } from './schema.ts';
import {
  ask,
  begin,
  Controls,
  cleanUp,
  commit,
  type MysqlSession,
  nothing,
  type Run,
  rollback,
  together,
  track,
} from './session.ts';
import { execute, type Prepared, PreparedStatements, prepareUndone } from './statements.ts';
import { Stops } from './stops.ts';
import { usesSession } from './text.ts';
import { createTransactions } from './transactions.ts';
import { ok, type Response, Wire } from './wire.ts';

export class MysqlConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: MysqlSession;
  readonly #prepared: PreparedStatements;
  readonly #controls: Controls;
  readonly #host: ResultHost;
  #cleanUp: Buffer[] = [];
  #afterRead = nothing;
  #afterInner = nothing;
  /** The reset of the session, and what sets it up again. */
  #resetAll = nothing;
  /** True if a statement has run since the session was opened or reset. */
  #used = false;
  /** True if a statement changed state that lasts as long as the session. */
  #changed = false;
  readonly #formats: SessionFormats;
  #broken = false;
  /**
   * Checks the OK of a command after the statement: there MySQL reports that a read changed the session. MariaDB
   * reports it after the rows.
   */
  readonly #followUp: Response = (source, start, end) => {
    if (!ok(source, start, end)) return true;
    const status = protocol.readOk(source, start, end);
    if (status.sessionChanged) this.#changed = true;
    this.#formats.note(status);
    return true;
  };
  readonly #stops: Stops;
  readonly #cancellation: Cancellation;
  /** Of the running statement. */
  #isRead = false;
  /** True once the running statement itself was sent. */
  #isSent = false;
  readonly transactions: Transactions;

  constructor(session: MysqlSession) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = new Wire(session.socket, session);
    this.#prepared = new PreparedStatements({
      prepare: (statement, inTransaction) => this.#prepareNew(statement, { inTransaction }),
      close: (id) => this.broken || this.#wire.send(protocol.closeStatement(id)),
      isMariadb: session.isMariadb,
    });
    this.#stops = new Stops({
      ...{ canceller: session.canceller, threadId: session.threadId },
      ...{ busy: () => this.#wire.busy, resume: () => this.#wire.resume(), close: () => this.close() },
    });
    this.#cancellation = this.#stops.cancellation;
    this.#controls = new Controls(session.isMariadb);
    this.#formats = new SessionFormats({
      ...{ isMariadb: session.isMariadb, rows: (query) => this.#rows(query) },
      command: (bytes) => this.#command(bytes, ok),
    });
    this.transactions = createTransactions({
      ...{ wire: this.#wire, control: (work) => this.#control(work), rollBack: this.#rollBack },
      ...{ leave: () => this.#leave(), close: () => this.close(), prepare: this.#prepareInside },
      ...{ session, timeout: (timeoutMs) => this.#controls.timeout(timeoutMs) },
      restoreValues: () => this.#formats.restore(),
    });
    this.#host = {
      ...{ hasExtended: session.hasExtended, readOnIn: (turn) => this.#wire.readOnIn(turn) },
      // MySQL reports a row and success for a SLEEP() that was killed, perhaps before it answers the KILL.
      discarding: () => this.#cancellation.isAsked && (this.#isRead || this.#cancellation.dropsRows()),
      dropped: () => this.#isRead && this.#stops.dropped(),
      onFailure: (err) => this.#isRead && this.#stops.failed.begin(err),
      ...{ pause: () => this.#wire.pause(), resume: () => this.#wire.resume() },
    };
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

  async initialize(): Promise<void> {
    const [cleansUp, tracks] = await Promise.all([
      this.#isSupported(cleanUp),
      this.#isSupported(track),
      ...this.#controls.required.map((command) => this.#command(command, ok)),
    ]);
    this.#cleanUp = cleansUp ? [cleanUp] : [];
    this.#afterRead = together([rollback, ...this.#cleanUp], this.#followUp);
    if (!this.#session.isMariadb) this.#afterInner = together([ask], this.#followUp);
    const setUp = tracks ? [track, ...this.#controls.required] : this.#controls.required;
    this.#resetAll = together([protocol.resetConnection, ...setUp], ok);
  }

  /** Resolves to false if the server is too old for the command. Resets then depend on the statement's text alone. */
  #isSupported(command: Buffer): Promise<boolean> {
    return this.#command(command, ok).then(
      () => true,
      (err) => (this.broken ? Promise.reject(err) : false),
    );
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#stops.begin();
    this.#isRead = statement.kind === 'read';
    this.#isSent = false;
    const next = typeof options.snapshot === 'object' ? options.snapshot.next : undefined;
    const isNextNew = next !== undefined && !this.#prepared.has(next);
    const usesState =
      (!this.#prepared.has(statement) && usesSession(statement.text)) ||
      (isNextNew && usesSession(next.text));
    try {
      if (usesState && this.#used && !options.inTransaction) await this.#reset();
      this.#used = true;
      // The next statement cannot be prepared in the open transaction.
      if (isNextNew) await this.#prepared.prepare(next);
      const inner = options.inTransaction === true;
      const prepared = await this.#prepared.find(statement, inner || options.snapshot === 'last');
      if (this.#cancellation.isAsked) throw stoppedError();
      if (inner && statement.kind === 'write') await this.#requireTransactional(prepared, statement);
      const held = isHeld(statement.kind, options);
      const run = { sink, options, inOpenTransaction: inner || held };
      const outcome = await (held
        ? this.#runInTransaction(prepared, statement, run)
        : this.#execute(prepared, statement, run));
      if (this.#cancellation.isAsked && this.#isRead) throw stoppedError();
      const left = this.#cancellation.rowsLeft(statement.kind);
      if (left !== undefined) throw left;
      return outcome;
    } catch (err) {
      if (options.snapshot === 'last' && !this.#isSent && !this.broken) await this.endSnapshot();
      if (this.#stops.failed.error !== undefined) throw this.#stops.failed.error;
      throw toOutcome(await this.#toReported(err, statement), { kind: statement.kind, isSent: this.#isSent });
    } finally {
      // After an error in the middle of rows, the socket may still be paused, and the sink may never drain.
      this.#wire.resume();
      // A KILL that arrives late could cancel the next statement.
      if (this.#cancellation.isPending) this.#broken = true;
      const leavesState = usesState || this.#changed || statement.kind === 'standalone';
      this.#changed = leavesState;
      const isOver = next === undefined && !options.inTransaction;
      if (isOver) this.#prepared.closeOnce();
      if (leavesState && isOver && !this.broken) await this.#reset();
    }
  }

  async #toReported(err: unknown, statement: Pick<Statement, 'text' | 'errors'>): Promise<unknown> {
    if (err instanceof ConnectionEnds && (await this.#wire.closes())) return this.#wire.broken(err);
    return this.#cancellation.isAsked ? toCancelled(err) : reported(err, statement);
  }

  /** The server discards the state of the session: variables, locks, temporary tables and prepared statements. */
  async #reset(): Promise<void> {
    this.#used = false;
    this.#changed = false;
    this.#formats.clear();
    this.#prepared.clear();
    this.#controls.reset();
    this.#wire.send(this.#resetAll.bytes);
    const { ran, ended } = await this.#wire.exchange(this.#resetAll.responses, 0);
    if ((ran ?? ended) !== undefined) this.close();
  }

  /** Sends the hub's own commands around the statement together with it, so that they cost no round trip. */
  async #execute(prepared: Prepared, statement: Statement, run: Run): Promise<Outcome> {
    const { kind } = statement;
    const { sink, options } = run;
    const isRead = kind === 'read';
    const before = this.#controls.before(kind, options);
    const warnings = isRead ? undefined : createWarningsReader(this.#session.hasExtended);
    const staysOpen = typeof options.snapshot === 'object' || options.inTransaction === true;
    const afterRead = staysOpen ? this.#afterInner : this.#afterRead;
    const after =
      warnings === undefined
        ? afterRead
        : this.#controls.afterWrite(this.#cleanUp, [warnings.response, this.#followUp]);
    const bytes = execute(prepared, statement, { before: before.bytes, after: after.bytes });
    // MySQL answers each command when it has carried it out, and `before` waits for nothing.
    if (before.responses.length > 0) this.#wire.awaitSign();
    this.#isSent = true;
    this.#wire.send(bytes);
    this.#controls.sent(options.statementTimeoutMs);

    const outcome: Outcome = { hasRows: false };
    const reader = new ResultReader({ prepared, sink, outcome, allResults: options.allResults }, this.#host);
    const responses = [...before.responses, reader.response, ...after.responses];
    const { begun, ended, ...own } = await this.#wire.exchange(responses, before.responses.length);
    const cut = await this.#stops.end();
    if (cut === 'unknown') this.#broken = true;
    const isCut = cut === 'made' && wasKilled(own.ran);
    if (isCut) reader.cut(run.inOpenTransaction);
    const ran = isCut ? undefined : own.ran;
    // In MariaDB, LASTVAL() of a sequence outlives a write, and the server does not report this change.
    this.#changed ||= reader.sessionChanged || (!isRead && this.#session.isMariadb);
    // A misplaced write ran in the wrong transaction. Closing the session rolls back a transaction that is still open.
    const isLeftOpen = kind === 'standalone' && begun === undefined && reader.inTransaction;
    if (isLeftOpen && ran === undefined) {
      this.#changed = true;
      await this.#command(rollback, ok);
      throw leftOpenError();
    }
    const isMisplaced = begun !== undefined || reader.inTransaction !== run.inOpenTransaction;
    if ((!isRead || options.inTransaction) && ran === undefined && isMisplaced) {
      this.close();
      throw brokenError();
    }
    if (begun !== undefined) throw controlError(begun);
    if (ran === undefined) {
      const differs = this.#formats.mayDiffer(reader);
      const {
        failure = differs ? await this.#formats.settle(reader, statement.text, staysOpen) : undefined,
      } = reader;
      if (failure === undefined) return withExactId(outcome, statement.text, (query) => this.#rows(query));
      throw isRead || run.inOpenTransaction ? failure : unreported(failure);
    }
    // A failed statement does not report whether it changed the session.
    this.#changed = true;
    // Without the warnings it is unknown whether the error undid everything.
    if (!isRead && ended !== undefined) throw brokenError();
    const isIncomplete = warnings?.incomplete() || (await this.#mayLeaveRows(prepared, statement, run));
    throw isIncomplete ? failedIncompleteError(ran) : ran;
  }

  async #mayLeaveRows(prepared: Prepared, { kind, text }: Statement, run: Run): Promise<boolean> {
    if (kind !== 'write' || run.inOpenTransaction || (await this.#warnsOfRows())) return false;
    return isRefused(this.#requireTransactional(prepared, { text }));
  }

  async #requireTransactional(prepared: Prepared, { text }: Pick<Statement, 'text'>): Promise<void> {
    if (!prepared.isTransactional) await requireTransactional(text, (query) => this.#rows(query));
    prepared.isTransactional = true;
  }

  async #runInTransaction(prepared: Prepared, statement: Statement, run: Run): Promise<Outcome> {
    await requireTransactional(statement.text, (query) => this.#rows(query));
    const session: TransactionSession = {
      begin: () => this.#command(begin.write, ok),
      execute: () => this.#execute(prepared, statement, run),
      commit: () => this.#command(commit, ok),
      rollBack: this.#rollBack,
      isBroken: () => this.broken,
    };
    return runInTransaction(session, run.options);
  }

  #warnsOfRows = () => warnsOfRows(this.#session.isMariadb, (query) => this.#rows(query));

  #rollBack = () => rollBackAll(this.#wire, this.#session.hasExtended);

  async endSnapshot(): Promise<void> {
    this.#prepared.closeOnce();
    this.#wire.send(this.#afterRead.bytes);
    const { begun, ran, ended } = await this.#wire.exchange(this.#afterRead.responses, 0);
    if ((begun ?? ran ?? ended) !== undefined) this.close();
    else if (this.#changed) await this.#reset();
  }

  /** Cleans the session after a transaction of several statements. */
  async #leave(): Promise<void> {
    this.#prepared.closeOnce();
    if (this.#changed && !this.broken) await this.#reset();
  }

  async #control<T>(work: () => Promise<T>): Promise<T> {
    this.#stops.begin();
    try {
      return await work();
    } catch (err) {
      throw await this.#toReported(err, { text: '' });
    } finally {
      await this.#stops.end();
      if (this.#cancellation.isPending) this.#broken = true;
    }
  }

  #prepareNew(statement: Statement, { inTransaction = false, describes = false }): Promise<Prepared> {
    const own = { cleanUp: this.#cleanUp, followUp: this.#followUp, inTransaction, describes };
    return prepareUndone(this.#wire, statement, { ...this.#session, ...own });
  }

  /** Prepares a statement of the open transaction, of which a rollback must leave nothing. */
  #prepareInside = async (statement: Statement): Promise<Prepared> => {
    this.#changed = true;
    const prepared = await this.#prepared.find(statement, true);
    await this.#requireTransactional(prepared, statement);
    return prepared;
  };

  async #command(bytes: Buffer, response: Response): Promise<void> {
    const done = this.#wire.expect(response);
    this.#wire.send(bytes);
    await done;
  }

  cancel = (signal: AbortSignal): Promise<void> => this.#stops.cancel(signal);

  ping = (): Promise<void> => this.#command(protocol.ping, ok);

  async describe(statement: Statement): Promise<Signature> {
    // The server does not report what a function changed in the session while it prepared.
    const preparing = this.#prepareNew(statement, { describes: true }).finally(
      () => this.broken || this.#reset(),
    );
    const prepared = await preparing.catch((err) => Promise.reject(reported(err, statement)));
    return describePrepared(prepared, statement.text, (query) => this.#rows(query));
  }

  /** Runs a query of the hub's own and resolves to its rows. */
  async #rows(query: string, bytesMax?: number): Promise<TextRow[]> {
    const { rows, response } = createTextReader(this.#session.hasExtended, bytesMax);
    await this.#command(protocol.query(query), response);
    return rows;
  }

  readSchema = (): Promise<Schema> => readSchema((query, bytesMax) => this.#rows(query, bytesMax));

  close(): void {
    this.#broken = true;
    // The server checks its connection only between statements, so without this a running statement would run to its
    // end.
    if (this.#wire.busy) this.#session.canceller.endSession(this.#session.threadId).catch(() => {});
    this.#wire.close();
  }
}
