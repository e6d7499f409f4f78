/** One session at MySQL or MariaDB: server-side prepare, read-only transactions, binary rows straight into the sink. */

import type { Connection, Outcome, RunOptions, Schema, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../row-sink.ts';
import { rowsLeftError } from '../shared/cancelled-error.ts';
import {
  brokenError,
  ConnectionEnds,
  controlError,
  stoppedError,
  toCancelled,
  tooLargeError,
} from './errors.ts';
import { Stopper } from './kill.ts';
import * as packets from './protocol.ts';
import { createResultReader } from './results.ts';
import {
  createWarningsReader,
  failedIncompleteError,
  type HeldSession,
  requireTransactional,
  runHeld,
  showWarnings,
} from './rollback.ts';
import { readSchema } from './schema.ts';
import {
  begin,
  Controls,
  commit,
  rollback,
  type Session,
  settings,
  tidy,
  track,
  usesSession,
} from './session.ts';
import { createPrepareReader, type Prepared } from './statements.ts';
import { createTextReader } from './texts.ts';
import { typeName } from './values.ts';
import { beganReadOnly, ok, type Response, Wire } from './wire.ts';

/** Statements kept prepared on one connection; the server's own bound is for all connections together. */
const preparedMax = 50;

interface Run {
  sink: RowSink;
  options: RunOptions;
  /** It runs in a transaction that was begun before. */
  held: boolean;
}

export class MysqlConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: Session;
  readonly #stopper: Stopper;
  readonly #prepared = new Map<string, Prepared>();
  readonly #controls: Controls;
  #tidy: Buffer[] = [];
  /** True once anything ran in the session since it was fresh. */
  #used = false;
  /** True once a statement changed something that lasts as long as the session. */
  #changed = false;
  #broken = false;
  /** The OK of a command after the statement: MySQL reports there what a read changed, MariaDB in the end of its rows. */
  readonly #followUp: Response = (source, start, end) => {
    if (ok(source, start, end) && packets.readOk(source, start, end).sessionChanged) this.#changed = true;
    return true;
  };
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;
  #hasDiscarded = false;

  constructor(session: Session) {
    this.#session = session;
    this.#stopper = new Stopper(session.openSide);
    this.serverVersion = session.serverVersion;
    this.#wire = new Wire(session.socket, session.rowBytesMax);
    this.#controls = new Controls(session.isMariadb);
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  async initialize(): Promise<void> {
    const required = [...settings.map(packets.query), this.#controls.readOnly];
    const [tidies] = await Promise.all([
      this.#takes(tidy),
      this.#takes(track),
      ...required.map((command) => this.#command(command, ok)),
    ]);
    this.#tidy = tidies ? [tidy] : [];
  }

  /** False on a server too old for it, where the text of a statement alone tells what it leaves. */
  #takes(command: Buffer): Promise<boolean> {
    return this.#command(command, ok).then(
      () => true,
      (err) => (this.broken ? Promise.reject(err) : false),
    );
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = this.#discarding = this.#hasDiscarded = false;
    const exposed = !this.#prepared.has(statement.key) && usesSession(statement.text);
    try {
      if (exposed && this.#used) await this.#reset();
      this.#used = true;
      const prepared = await this.#prepare(statement);
      if (this.#cancelling) throw stoppedError();
      const held =
        statement.kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
      const run = { sink, options, held };
      const outcome = await (held
        ? this.#runHeld(prepared, statement, run)
        : this.#execute(prepared, statement, run));
      if (this.#hasDiscarded) throw rowsLeftError(statement.kind);
      // MySQL ends a stopped SLEEP() as if it had slept its time.
      if (this.#cancelling && statement.kind === 'read') throw stoppedError();
      return outcome;
    } catch (err) {
      if (err instanceof ConnectionEnds && this.#wire.closed) throw this.#wire.broken(err);
      throw this.#cancelling ? toCancelled(err) : err;
    } finally {
      // An error in the middle of rows may have found the socket paused for a reader who never says that he caught up.
      this.#wire.resume();
      // A cancellation that came too late could hit the next statement.
      if (this.#cancelling && !this.#discarding) this.#broken = true;
      const leaves = exposed || this.#changed || statement.kind === 'standalone';
      if (leaves && !this.broken) await this.#reset();
    }
  }

  /** The server forgets everything of the session: variables, locks, temporary tables, and what was prepared. */
  async #reset(): Promise<void> {
    this.#used = false;
    this.#changed = false;
    this.#prepared.clear();
    this.#controls.forget();
    try {
      await this.#command(packets.resetConnection, ok);
      await this.initialize();
    } catch {
      this.close();
    }
  }

  /** The hub's own commands around the statement are sent together with it, so that they cost no round trip. */
  async #execute(prepared: Prepared, statement: Statement, { sink, options, held }: Run): Promise<Outcome> {
    const body = packets.execute(prepared.id, statement.params);
    if (body.length > packets.commandBytesMax) throw tooLargeError();
    const isRead = statement.kind === 'read';
    const before = this.#controls.before(statement.kind, options.statementTimeoutMs);
    // The command after a failed write clears what the server has to say of it.
    const after = isRead ? [rollback, ...this.#tidy] : [showWarnings, ...this.#tidy, this.#controls.readOnly];
    this.#wire.send(Buffer.concat([...before, body, ...after]));

    const outcome: Outcome = { hasRows: false, rowCount: 0, truncated: false };
    let inTransaction = false;
    const reader = createResultReader({
      sink,
      outcome,
      hasExtended: this.#session.hasExtended,
      rowsMax: options.maxRows,
      discarding: () => this.#discards(),
      onStatus: (status) => {
        this.#changed ||= status.sessionChanged;
        inTransaction = status.inTransaction;
      },
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
    });
    const warnings = createWarningsReader(this.#session.hasExtended);
    const { begun, ran } = await this.#wire.settle({
      before: before.map((_, i) => (isRead && i === before.length - 1 ? beganReadOnly : ok)),
      main: reader,
      after: [isRead ? this.#followUp : warnings.response, ...after.slice(1).map(() => this.#followUp)],
    });
    // It ran, in another transaction than it should have: one that was left open is undone with the session.
    if (!isRead && ran === undefined && (begun !== undefined || inTransaction !== held)) {
      this.close();
      throw brokenError();
    }
    if (begun !== undefined) throw controlError(begun);
    if (ran === undefined) return outcome;
    // A failed statement does not report what it had changed by then.
    this.#changed = true;
    throw warnings.incomplete() ? failedIncompleteError(ran) : ran;
  }

  async #runHeld(prepared: Prepared, statement: Statement, run: Run): Promise<Outcome> {
    await requireTransactional(statement.text, async (query) => {
      const { rows, response } = createTextReader(this.#session.hasExtended);
      await this.#command(packets.query(query), response);
      return rows;
    });
    const session: HeldSession = {
      begin: () => this.#command(begin.write, ok),
      execute: () => this.#execute(prepared, statement, run),
      commit: () => this.#command(commit, ok),
      rollBack: () => this.#rollBack(),
      isBroken: () => this.broken,
    };
    return runHeld(session, run.options);
  }

  /** False when the server could not undo everything. */
  async #rollBack(): Promise<boolean> {
    const warnings = createWarningsReader(this.#session.hasExtended);
    this.#wire.send(Buffer.concat([rollback, showWarnings]));
    const { begun, ran } = await this.#wire.settle({ before: [ok], main: warnings.response, after: [] });
    if (begun !== undefined || ran !== undefined) throw begun ?? ran;
    return !warnings.incomplete();
  }

  async #prepare(statement: Pick<Statement, 'key' | 'text' | 'kind'>): Promise<Prepared> {
    const known = this.#prepared.get(statement.key);
    if (known !== undefined) {
      this.#prepared.delete(statement.key);
      this.#prepared.set(statement.key, known);
      return known;
    }
    const prepared = await this.#prepareNew(statement);
    this.#prepared.set(statement.key, prepared);
    const [oldest] = this.#prepared;
    if (this.#prepared.size > preparedMax && oldest !== undefined) {
      this.#prepared.delete(oldest[0]);
      this.#wire.send(packets.closeStatement(oldest[1].id));
    }
    return prepared;
  }

  /** The server may call functions to prepare a statement, which must not write either, nor before a write is begun. */
  async #prepareNew({ text, kind }: Pick<Statement, 'text' | 'kind'>): Promise<Prepared> {
    const { prepared, response } = createPrepareReader(this.#session.hasExtended);
    this.#wire.send(Buffer.concat([begin[kind], packets.prepare(text), rollback, ...this.#tidy]));
    const after = [this.#followUp, ...this.#tidy.map(() => ok)];
    const { begun, ran, ended } = await this.#wire.settle({ before: [ok], main: response, after });
    if (begun !== undefined) throw controlError(begun);
    if (ran !== undefined) throw ran;
    if (ended !== undefined) throw controlError(ended);
    return prepared;
  }

  async #command(bytes: Buffer, response: Response): Promise<void> {
    const done = this.#wire.expect(response);
    this.#wire.send(bytes);
    await done;
  }

  cancel(signal: AbortSignal): Promise<void> {
    this.#cancelling = true;
    return this.#stopper.stopStatement({
      busy: () => this.#wire.busy,
      signal,
      onAsked: () => {
        // The server may be waiting for us to read on before it notices.
        this.#discarding = true;
        this.#wire.resume();
      },
    });
  }

  async ping(): Promise<void> {
    await this.#command(packets.ping, ok);
  }

  async describe(statement: Statement): Promise<Signature> {
    // What a function left in the session while it was prepared is told by nobody.
    const preparing = this.#prepareNew(statement).finally(() => this.broken || this.#reset());
    const { columns, parameterCount } = await preparing;
    return {
      columns: columns.map((column) => ({ name: column.name, type: typeName(column) })),
      // The protocol does not tell types of parameters.
      parameters: new Array(parameterCount).fill(undefined),
    };
  }

  readSchema(): Promise<Schema> {
    return readSchema(this);
  }

  close(): void {
    this.#broken = true;
    // The server looks at its connection only between statements: what runs, or is about to, would run to its end.
    if (this.#wire.busy) this.#stopper.endSession().catch(() => {});
    this.#wire.close();
  }

  #discards(): boolean {
    this.#hasDiscarded ||= this.#discarding;
    return this.#discarding;
  }
}
