/** One session at PostgreSQL: prepared statements, read-only transactions, rows straight into the sink. */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/error';
import type { Connection, Outcome, RunOptions, SchemaTable, Signature, Statement } from '../../engine.ts';
import type { RowSink } from '../../rows/row-sink.ts';
import { toHubError } from './errors.ts';
import * as protocol from './protocol.ts';
import { readSchema } from './schema.ts';
import { encoderOf, isKnownType, type ServerType, typeName } from './values.ts';
import { Wire } from './wire.ts';

const code = (letter: string) => letter.charCodeAt(0);
const dataRow = code('D');
const commandComplete = code('C');
const portalSuspended = code('s');
const rowDescription = code('T');
const parameterDescription = code('t');

/** Statements kept prepared on one connection; the one used longest ago makes way. */
const preparedMax = 100;

interface Prepared {
  name: string;
  /** Undefined when the statement returns no rows. */
  fields: protocol.FieldDescription[] | undefined;
  parameterTypes: number[];
}

export interface Session {
  socket: Socket;
  serverVersion: string;
  /** Asks the server on a side connection to stop what runs here. */
  cancel(signal: AbortSignal): Promise<void>;
}

export class PostgresConnection implements Connection {
  readonly serverVersion: string;
  readonly #wire: Wire;
  readonly #session: Session;
  readonly #prepared = new Map<string, Prepared>();
  readonly #serverTypes = new Map<number, ServerType>();
  /** Statement names are never shared, even where connections share a session. */
  readonly #prefix = `dh_${randomBytes(6).toString('hex')}_`;
  #named = 0;
  #timeoutMs = -1;
  #broken = false;
  #cancelling = false;
  /** Rows of a statement that is being stopped go nowhere. */
  #discarding = false;

  constructor(session: Session) {
    this.#session = session;
    this.serverVersion = session.serverVersion;
    this.#wire = new Wire(session.socket);
  }

  get broken(): boolean {
    return this.#broken || this.#wire.closed;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  /** What every session of the hub is set to, and the two statements around every read. */
  async initialize(): Promise<void> {
    const settings = {
      client_encoding: 'UTF8',
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      IntervalStyle: 'iso_8601',
      extra_float_digits: '1',
      bytea_output: 'hex',
      standard_conforming_strings: 'on',
      xmloption: 'content',
      idle_in_transaction_session_timeout: '60000',
      application_name: 'datahub',
    };
    const text = Object.entries(settings).map(([name, value]) => `SET ${name} = '${value}'`);
    await this.#simple(text.join(';'));
    // Since PostgreSQL 14, and not on every platform: without it a dead executor's statement ends at its deadline.
    await this.#wire.exchange(protocol.query("SET client_connection_check_interval = '500ms'"), () => {});
    const parts = [
      protocol.parse(`${this.#prefix}begin`, 'BEGIN READ ONLY'),
      protocol.parse(`${this.#prefix}rollback`, 'ROLLBACK'),
      protocol.sync,
    ];
    this.#require(await this.#wire.exchange(Buffer.concat(parts), () => {}), undefined);
  }

  async run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    this.#cancelling = false;
    this.#discarding = false;
    try {
      return await this.#runPrepared(statement, sink, options);
    } catch (err) {
      if (!this.#isStalePlan(err)) throw this.#cancelling ? toCancelled(err) : err;
      await this.#forget(statement.key);
      return await this.#runPrepared(statement, sink, options);
    } finally {
      // A cancellation that came too late could hit the next statement.
      if (this.#cancelling && !this.#discarding) this.#broken = true;
      if (statement.kind === 'standalone' || leavesTraces.test(statement.text)) this.close();
    }
  }

  async #runPrepared(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome> {
    const prepared = await this.#prepare(statement);
    const outcome: Outcome = { hasRows: prepared.fields !== undefined, rowCount: 0, truncated: false };
    if (prepared.fields !== undefined) this.#begin(prepared.fields, sink);
    const held = statement.kind === 'write' && (options.dryRun === true || options.maxAffected !== undefined);
    const parts = this.#setTimeout(options.statementTimeoutMs);
    const readies = parts.length + 1;
    const before = statement.kind === 'read' || held ? 1 : 0;
    if (statement.kind === 'read') parts.push(...this.#bound('begin'));
    else if (held) parts.push(protocol.parse('', 'BEGIN'), protocol.bind('', []), protocol.execute(0));
    parts.push(protocol.bind(prepared.name, statement.params));
    parts.push(protocol.execute(options.maxRows === undefined ? 0 : options.maxRows + 1));
    if (statement.kind === 'read') parts.push(...this.#bound('rollback'));
    parts.push(protocol.sync);

    const offsets = new Int32Array((prepared.fields?.length ?? 0) * 2);
    const rowsMax = options.maxRows ?? Number.POSITIVE_INFINITY;
    let completed = -(readies - 1) - before;
    const result = await this.#wire.exchange(
      Buffer.concat(parts),
      (type, source, start, end) => {
        if (type === dataRow) {
          if (outcome.rowCount >= rowsMax) outcome.truncated = true;
          else this.#row(sink, { source, start, offsets, outcome });
        } else if (type === commandComplete && completed++ === 0) {
          readTag(source.toString('latin1', start, end - 1), outcome);
        } else if (type === portalSuspended) completed++;
      },
      readies,
    );
    await this.#settle(result, statement, { held, options, outcome });
    return outcome;
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

  #bound(name: 'begin' | 'rollback'): Buffer[] {
    return [protocol.bind(this.#prefix + name, []), protocol.execute(0)];
  }

  /** The second net under the executor's own deadline; sent only when it changes. */
  #setTimeout(timeoutMs: number): Buffer[] {
    if (timeoutMs === this.#timeoutMs) return [];
    this.#timeoutMs = timeoutMs;
    return [protocol.query(`SET statement_timeout = ${Math.ceil(timeoutMs)}`)];
  }

  #begin(fields: protocol.FieldDescription[], sink: RowSink): void {
    const serverTypes = this.#serverTypes;
    sink.begin(
      fields.map(({ name, typeId, modifier }) => ({
        name,
        type: typeName(typeId, serverTypes),
        encode: encoderOf(typeId, { modifier, numbers: sink.numbers, serverTypes }),
      })),
    );
    sink.onDrain(() => this.#wire.resume());
  }

  #row(
    sink: RowSink,
    {
      source,
      start,
      offsets,
      outcome,
    }: { source: Buffer; start: number; offsets: Int32Array; outcome: Outcome },
  ): void {
    outcome.rowCount++;
    if (this.#discarding) return;
    let at = start + 2;
    for (let i = 0; i < offsets.length; i += 2) {
      const length = source.readInt32BE(at);
      at += 4;
      offsets[i] = length < 0 ? -1 : at;
      if (length > 0) at += length;
      offsets[i + 1] = at;
    }
    sink.row(source, offsets);
    if (sink.full) this.#wire.pause();
  }

  async #prepare(statement: Pick<Statement, 'key' | 'text'>): Promise<Prepared> {
    const known = this.#prepared.get(statement.key);
    if (known !== undefined) {
      this.#prepared.delete(statement.key);
      this.#prepared.set(statement.key, known);
      return known;
    }
    const name = `${this.#prefix}${++this.#named}`;
    const prepared = await this.#parse(name, statement.text);
    this.#prepared.set(statement.key, prepared);
    const [oldest] = this.#prepared.keys();
    if (this.#prepared.size > preparedMax && oldest !== undefined) await this.#forget(oldest);
    return prepared;
  }

  async #parse(name: string, text: string): Promise<Prepared> {
    const prepared: Prepared = { name, fields: undefined, parameterTypes: [] };
    const bytes = Buffer.concat([
      protocol.parse(name, text),
      protocol.describeStatement(name),
      protocol.sync,
    ]);
    const result = await this.#wire.exchange(bytes, (type, source, start, end) => {
      const body = source.subarray(start, end);
      if (type === rowDescription) prepared.fields = protocol.readRowDescription(body);
      else if (type === parameterDescription) prepared.parameterTypes = protocol.readParameterTypes(body);
    });
    this.#require(result, text);
    await this.#learnTypes([
      ...(prepared.fields ?? []).map(({ typeId }) => typeId),
      ...prepared.parameterTypes,
    ]);
    return prepared;
  }

  async #forget(key: string): Promise<void> {
    const prepared = this.#prepared.get(key);
    if (prepared === undefined) return;
    this.#prepared.delete(key);
    await this.#wire.exchange(
      Buffer.concat([protocol.closeStatement(prepared.name), protocol.sync]),
      () => {},
    );
  }

  /** Types of the database's own: asked for once a connection. */
  async #learnTypes(typeIds: number[]): Promise<void> {
    const unknown = typeIds.filter((id) => !isKnownType(id) && !this.#serverTypes.has(id));
    if (unknown.length === 0) return;
    const list = [...new Set(unknown)].join(',');
    const rows = await this.rows(
      `SELECT oid, format_type(oid, NULL), CASE WHEN typcategory = 'A' THEN typelem ELSE 0 END FROM pg_type WHERE oid IN (${list})`,
    );
    for (const [id, name, element] of rows) {
      const elementId = Number(element);
      this.#serverTypes.set(Number(id), {
        name: name ?? '',
        elementId: elementId === 0 ? undefined : elementId,
      });
      if (elementId !== 0) await this.#learnTypes([elementId]);
    }
  }

  /** Rows of a statement of our own, as texts. */
  async rows(text: string): Promise<(string | null)[][]> {
    const rows: (string | null)[][] = [];
    const result = await this.#wire.exchange(protocol.query(text), (type, source, start) => {
      if (type !== dataRow) return;
      const row: (string | null)[] = [];
      let at = start + 2;
      for (let i = source.readUInt16BE(start); i > 0; i--) {
        const length = source.readInt32BE(at);
        row.push(length < 0 ? null : source.toString('utf8', at + 4, at + 4 + length));
        at += 4 + Math.max(0, length);
      }
      rows.push(row);
    });
    this.#require(result, undefined);
    return rows;
  }

  async #simple(text: string): Promise<void> {
    this.#require(await this.#wire.exchange(protocol.query(text), () => {}, 1), undefined);
  }

  #require({ error }: { error: Buffer | undefined }, text: string | undefined): void {
    if (error !== undefined) throw toHubError(error, text);
  }

  /** A table changed under a prepared statement; nothing was sent yet. */
  #isStalePlan(err: unknown): boolean {
    return err instanceof HubError && ['0A000', '26000'].includes(err.sql?.state ?? '') && !this.broken;
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
    const { name, fields, parameterTypes } = await this.#parse(
      `${this.#prefix}${++this.#named}`,
      statement.text,
    );
    await this.#wire.exchange(Buffer.concat([protocol.closeStatement(name), protocol.sync]), () => {});
    const toName = (id: number) => typeName(id, this.#serverTypes);
    return {
      columns: (fields ?? []).map((field) => ({ name: field.name, type: toName(field.typeId) })),
      parameters: parameterTypes.map(toName),
    };
  }

  readSchema(): Promise<SchemaTable[]> {
    return readSchema(this);
  }

  close(): void {
    this.#broken = true;
    this.#wire.close();
  }
}

/** What outlives a statement in its session, where the statement's text shows it. */
const leavesTraces = /set_config|advisory_lock|dblink_connect/i;

function readTag(tag: string, outcome: Outcome): void {
  const count = Number(/ (\d+)$/.exec(tag)?.[1] ?? Number.NaN);
  if (!outcome.hasRows) outcome.affectedRows = Number.isNaN(count) ? 0 : count;
}

function toCancelled(err: unknown): unknown {
  if (!(err instanceof HubError) || err.sql?.state !== '57014') return err;
  return new HubError('CANCELLED', 'The statement was stopped.', { cause: err });
}
