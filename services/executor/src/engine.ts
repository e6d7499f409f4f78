/**
 * PORT: what an engine adapter does for the executor. An adapter opens one connection at a time, to an address that
 * was checked before, and turns what the database sends straight into the bytes of the answer. Pools, queues,
 * deadlines, breakers and retries live outside, once for all engines.
 */

import type { Socket } from 'node:net';
import type { EngineName } from '@datahub/contract/engines';
import { HubError } from '@datahub/service-kit/call/error';
import type { RowSink } from './row-sink.ts';

export interface TlsSettings {
  /** `prefer` tries TLS without verifying and falls back to plain; `require` never falls back; `verify-full` also checks chain and name. */
  mode: 'disable' | 'prefer' | 'require' | 'verify-full';
  /** PEM texts. */
  ca?: string;
  cert?: string;
  key?: string;
}

/** Which servers a source has, and how it reads from and logs in at them; MongoDB only. */
export interface ServerSettings {
  /** Further servers of the same database. */
  hosts?: readonly { host: string; port: number }[];
  /** `host` is a name whose servers DNS tells (`mongodb+srv`). */
  srv?: boolean;
  /** Its members are followed as its servers name them. */
  replicaSet?: string;
  /** Where reads go; `primary` unless given. */
  readPreference?: 'primary' | 'primaryPreferred' | 'secondary' | 'secondaryPreferred' | 'nearest';
  /** What server and hub agree on unless given. */
  authMechanism?: 'SCRAM-SHA-1' | 'SCRAM-SHA-256' | 'MONGODB-X509' | 'PLAIN';
}

/** Where and as whom to connect. Plain secrets: never logged, never put into an error. */
export interface ConnectSettings extends ServerSettings {
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  /** Empty where MongoDB asks nobody who he is. */
  user: string;
  password: string;
  /** The database that knows the user; MongoDB only. */
  authSource?: string;
  tls: TlsSettings;
}

/** What connections to one source found out, for those that follow. */
export interface Learned {
  /** The server refuses settings of the session at the start-up; PostgreSQL only. */
  refusesOptions?: boolean;
}

/** The servers that a name stands for in DNS (SRV, RFC 2782), and the texts beside them. */
export interface Services {
  servers: { host: string; port: number }[];
  texts: string[];
}

export interface ConnectDeps {
  /**
   * Resolves, checks and dials `host:port`; the only way an adapter may open a socket. Rejects with SOURCE_UNREACHABLE.
   * Further dials go to the address that was reached, unless they are to look it up anew.
   */
  dial(host: string, port: number, signal: AbortSignal, options?: { anew?: boolean }): Promise<Socket>;
  /** Rejects when there is no such service, or no answer in time. */
  resolveService?(service: string, name: string, signal: AbortSignal): Promise<Services>;
  /** Aborts the whole attempt: dial, TLS and log-in. */
  signal: AbortSignal;
  /** A larger row ends its connection: SQL_REJECTED. */
  rowBytesMax?: number;
  /** Read and written by the adapter; the same for each connection to a source while its settings stay. */
  learned?: Learned;
}

/** A value bound by the driver. Numbers that a double cannot hold arrive as decimal text, or as what they were declared. */
export type Param = string | number | bigint | boolean | null | { readonly decimal: string };

/** A statement ready for the engine: placeholders in the engine's own form. */
export interface Statement {
  /** Names the prepared statement on a connection; equal keys have equal texts. */
  key: string;
  text: string;
  params: Param[];
  /** `read` runs in a read-only transaction that is rolled back, `write` in its own transaction, `standalone` outside of any. */
  kind: 'read' | 'write' | 'standalone';
}

export interface RunOptions {
  /** Rows after this many are not sent; the outcome says `truncated`. */
  maxRows?: number;
  /** A write that touches more rows is rolled back: MAX_AFFECTED. */
  maxAffected?: number;
  /** Runs, reports and rolls back. */
  dryRun?: boolean;
  /** The second net under the executor's own deadline: the server's statement time-out. */
  statementTimeoutMs: number;
}

export interface Outcome {
  /** False when the statement returned no row set: then `affectedRows` and perhaps `insertId` are set. */
  hasRows: boolean;
  rowCount: number;
  truncated: boolean;
  /** What the database did, however few of the rows that a write returned are in the answer. */
  affectedRows?: number;
  /** Exact digits. */
  insertId?: string;
}

/** A column of a result or of a table, in the words of its engine. */
export interface ColumnInfo {
  name: string;
  type: string;
  nullable?: boolean;
}

export interface Signature {
  columns: ColumnInfo[];
  /** One per placeholder, in order; undefined where the engine cannot tell. */
  parameters: (string | undefined)[];
}

export interface Schema {
  tables: SchemaTable[];
  /** There are more than are shown. */
  truncated?: true;
}

export interface SchemaTable {
  schema: string;
  name: string;
  kind: 'table' | 'view';
  columns: ColumnInfo[];
}

/**
 * One session at the database. Only one call is under way at a time, except `cancel`.
 *
 * Errors of every method are HubErrors: SQL_REJECTED, CONSTRAINT, STATEMENT_TIMEOUT, MAX_AFFECTED, ROLLBACK_INCOMPLETE, CANCELLED,
 * SOURCE_AUTH, SOURCE_TLS, SOURCE_UNREACHABLE (nothing was sent or nothing can have run), SOURCE_BROKEN (the connection died on
 * the way, so a write may have happened). Their texts come from our own tables; a database's own message is passed only
 * for errors caused by the statement itself, never with host, user or values in it. `sql.line` and `sql.column` count
 * in the text that was run.
 */
export interface Connection {
  readonly serverVersion: string;
  /** True once the connection must not be used again. Never becomes false. */
  readonly broken: boolean;
  /** Called once when the connection dies or is closed, also while idle. */
  onClose(listener: () => void): void;
  /** Runs one statement to its end, rows into `sink`. The connection is clean again when this settles, or `broken`. */
  run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome>;
  /** Asks the database, on a side connection, to stop what runs here. Resolves when asked; `run` then rejects with CANCELLED. */
  cancel(signal: AbortSignal): Promise<void>;
  /** A round trip that proves the connection alive. */
  ping(): Promise<void>;
  describe(statement: Statement): Promise<Signature>;
  readSchema(): Promise<Schema>;
  /** Closes at once; idempotent. */
  close(): void;
}

/**
 * The connection died before the server answered anything to what was sent, so a read may be repeated. Whether a write
 * was carried out is unknown all the same.
 */
export class NeverAnswered extends HubError {
  constructor(cause?: unknown) {
    super('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: false });
  }
}

export interface Engine {
  connect(settings: ConnectSettings, deps: ConnectDeps): Promise<Connection>;
  /** True for a port that the engine itself listens at, where no source may be. */
  owns?(address: string, port: number): boolean;
}
