/** One session at MySQL or MariaDB: server-side prepare, read-only transactions, binary rows straight into the sink. */

import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/error';
import type { Connection, Outcome, RunOptions, SchemaTable, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../rows/row-sink.ts';
import { rowsLeftError } from '../stopped.ts';
import * as packets from './packets.ts';
import { createPrepareReader, type Prepared } from './prepared.ts';
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
import { begin, settings, track, unlock, usesSession } from './session.ts';
import { type SideSession, Stopper } from './stopper.ts';
import { createTextReader, type TextRow } from './texts.ts';
import { typeName } from './values.ts';
import { ok, type Response, settled, Wire } from './wire.ts';

/** Statements kept prepared on one connection; the server's own bound is for all connections together. */
const preparedMax = 50;

export interface Session {
  socket: Socket;
  serverVersion: string;
  isMariadb: boolean;
  /** MariaDB tells formats of columns beside their types. */
  hasExtended: boolean;
  rowBytesMax: number | undefined;
  /** Logs in beside it, to stop what runs here. */
  openSide(signal: AbortSignal): Promise<SideSession>;
}

interface Run {
  sink: RowSink;
  options: RunOptions;
}

export class MysqlConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: Session;
  readonly #stopper: Stopper;
  readonly #prepared = new Map<string, Prepared>();
  #unlock: Buffer[] = [];
  #timeoutMs = -1;
  /** True once anything ran in the session since it was fresh. */
  #used = false;
  /** True once a statement changed something that lasts as long as the session. */
  #changed = false;
  #broken = false;
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;
  #hasDiscarded = false;

  constructor(session: Session) {
    this.#session = session;
    this.#stopper = new Stopper(session.openSide);
    this.serverVersion = session.serverVersion;
    this.#wire = new Wire(session.socket, session.rowBytesMax);
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  async initialize(): Promise<void> {
    const required = settings.map((text) => this.#command(packets.query(text), ok));
    const [unlocks] = await Promise.all([this.#takes(unlock), this.#takes(track), ...required]);
    this.#unlock = unlocks ? [unlock] : [];
  }

  /** False on a server too old for it, where the text of a statement alone tells what it leaves. */
  #takes(command: Buffer): Promise<boolean> {
    return this.#command(command, ok).then(
      () => true,
      (err) => (this.broken ? Promise.reject(err) : false),
    );
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    this.#discarding = false;
    this.#hasDiscarded = false;
    const exposed = !this.#prepared.has(statement.key) && usesSession(statement.text);
    try {
      if (exposed && this.#used) await this.#reset();
      this.#used = true;
      const prepared = await this.#prepare(statement);
      if (this.#cancelling) throw stoppedError();
      const held =
        statement.kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
      const run = { sink, options };
      const outcome = await (held
        ? this.#runHeld(prepared, statement, run)
        : this.#execute(prepared, statement, run));
      if (this.#hasDiscarded) throw rowsLeftError(statement.kind);
      return outcome;
    } catch (err) {
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
    this.#timeoutMs = -1;
    try {
      await this.#command(packets.resetConnection, ok);
      await this.initialize();
    } catch {
      this.close();
    }
  }

  /** A read is wrapped in a transaction that cannot write and is undone, without an extra round trip. */
  async #execute(prepared: Prepared, statement: Statement, { sink, options }: Run): Promise<Outcome> {
    const before = this.#setTimeout(options.statementTimeoutMs);
    if (statement.kind === 'read') before.push(begin.read);
    const body = packets.execute(prepared.id, statement.params);
    if (body.length > packets.commandBytesMax)
      throw new HubError('TOO_LARGE', 'The values are too large for the database.');
    // The command after a failed write clears what the server has to say of it.
    const next = statement.kind === 'read' ? packets.query('ROLLBACK') : showWarnings;
    const after = [next, ...this.#unlock];
    this.#wire.send(Buffer.concat([...before, body, ...after]));

    const outcome: Outcome = { hasRows: false, rowCount: 0, truncated: false };
    const started = before.map(() => this.#wire.expect(ok));
    const reader = createResultReader({
      sink,
      outcome,
      hasExtended: this.#session.hasExtended,
      rowsMax: options.maxRows,
      discarding: () => this.#discards(),
      onSessionChanged: () => {
        this.#changed = true;
      },
      pause: () => this.#wire.pause(),
      resume: () => this.#wire.resume(),
    });
    // MySQL reports what a read changed in the OK of the next command, MariaDB in the end of the read's rows.
    const followUp: Response = (source, start, end) => {
      if (ok(source, start, end) && packets.readOk(source, start).sessionChanged) this.#changed = true;
      return true;
    };
    const warnings = createWarningsReader(this.#session.hasExtended);
    const responses = [reader, statement.kind === 'read' ? followUp : warnings.response];
    const ended = [...responses, ...this.#unlock.map(() => followUp)].map((one) => this.#wire.expect(one));
    await settled([...started, ...ended]).catch((err) => {
      // A failed statement does not tell what it had changed by then.
      this.#changed = true;
      throw warnings.incomplete() ? failedIncompleteError(err) : err;
    });
    return outcome;
  }

  async #runHeld(prepared: Prepared, statement: Statement, run: Run): Promise<Outcome> {
    await requireTransactional(statement.text, (query) => this.#texts(query));
    const session: HeldSession = {
      begin: () => this.#command(begin.write, ok),
      execute: () => this.#execute(prepared, statement, run),
      commit: () => this.#command(packets.query('COMMIT'), ok),
      rollBack: () => this.#rollBack(),
      isBroken: () => this.broken,
    };
    return runHeld(session, run.options);
  }

  /** False when the server could not undo everything. */
  async #rollBack(): Promise<boolean> {
    const warnings = createWarningsReader(this.#session.hasExtended);
    const ended = [this.#wire.expect(ok), this.#wire.expect(warnings.response)];
    this.#wire.send(Buffer.concat([packets.query('ROLLBACK'), showWarnings]));
    await settled(ended);
    return !warnings.incomplete();
  }

  async #texts(query: string): Promise<TextRow[]> {
    const { rows, response } = createTextReader(this.#session.hasExtended);
    await this.#command(packets.query(query), response);
    return rows;
  }

  /** The second net under the executor's own deadline; sent only when it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    if (timeoutMs === this.#timeoutMs) return [];
    this.#timeoutMs = timeoutMs;
    const text = this.#session.isMariadb
      ? `SET max_statement_time = ${timeoutMs / 1_000}`
      : `SET max_execution_time = ${Math.ceil(timeoutMs)}`;
    return [packets.query(text)];
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
    const after = [packets.query('ROLLBACK'), ...this.#unlock];
    this.#wire.send(Buffer.concat([begin[kind], packets.prepare(text), ...after]));
    await settled([ok, response, ...after.map(() => ok)].map((one) => this.#wire.expect(one)));
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
    const prepared = this.#prepareNew(statement).finally(() => this.broken || this.#reset());
    const { columns, parameterCount } = await prepared;
    return {
      columns: columns.map((column) => ({ name: column.name, type: typeName(column) })),
      // The protocol does not tell types of parameters.
      parameters: new Array(parameterCount).fill(undefined),
    };
  }

  readSchema(): Promise<SchemaTable[]> {
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

function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.code !== 'STATEMENT_TIMEOUT') return err;
  return stoppedError(err);
}

const stoppedError = (cause?: unknown) => new HubError('CANCELLED', 'The statement was stopped.', { cause });
