/**
 * PORT: an engine adapter. An adapter opens one connection at a time, to an address that the executor has checked, and
 * hands the rows to a sink in the database's own bytes. Pools, queues, deadlines, circuit breakers and
 * retries are outside of the adapters, the same for all engines.
 */

import type { EngineName } from '@datahub/contract/engines';
import type { PasswordFrom } from '@datahub/contract/password-from';
import type {
  AuthMechanism,
  Pooling,
  ReadPreferenceName,
  SshAddress,
  StatementComments,
  TargetSessionAttrs,
  TlsMode,
} from '@datahub/contract/source-settings';
import type { Isolation } from '@datahub/contract/transactions';
import { HubError } from '@datahub/service-kit/call/error';
import type { BoundStatement } from '@datahub/statement/types';
import type { ColumnKind } from './column-kind.ts';
import type { RowSink } from './row-sink.ts';
import type { ServerStream, SharesOfAccount } from './server-stream.ts';

export interface TlsSettings {
  /**
   * `prefer` tries TLS and falls back to plain; `require` never falls back; `verify-full` also checks chain and name.
   */
  mode: TlsMode;
  /** PEM texts. */
  ca?: string;
  cert?: string;
  key?: string;
}

/** The servers of a source, and how the hub reads from them, logs in and shares sessions. */
export interface ServerSettings {
  /** Further servers of the same database; PostgreSQL and MongoDB. */
  hosts?: readonly { host: string; port: number }[];
  /** The kind of server to connect to if there are several; `any` by default. PostgreSQL only, like `pooling`. */
  targetSessionAttrs?: TargetSessionAttrs;
  /** With `transaction`, a pooler can run each transaction in another session, which other applications share. */
  pooling?: Pooling;
  /** True if DNS lists the servers of `host` (`mongodb+srv`). MongoDB only, like the members up to `authMechanism`. */
  srv?: boolean;
  /** The name of a replica set. Its servers report its current members. */
  replicaSet?: string;
  /** The members that reads go to; `primary` by default. */
  readPreference?: ReadPreferenceName;
  /** Negotiated with the server by default. */
  authMechanism?: AuthMechanism;
  /** `off` keeps the hub's comments out of the source's statements. */
  statementComments?: StatementComments;
  /** Set if `password` is a token that is valid for minutes. Servers ask for it in clear text. Not for MongoDB. */
  passwordFrom?: PasswordFrom;
}

/** The bastion that a source is reached through, with its secrets. */
export interface SshSettings extends SshAddress {
  /** Either the key, in the format of OpenSSH or PEM, or the password. */
  privateKey?: string | undefined;
  password?: string | undefined;
}

/** Address and credentials. They contain plain secrets, so they are never logged or put into an error. */
export interface ConnectSettings extends ServerSettings {
  engine: EngineName;
  host: string;
  port: number;
  database: string;
  /** Empty for a MongoDB server without authentication. */
  user: string;
  password: string;
  /** The database that the user is defined in; MongoDB only. */
  authSource?: string;
  tls: TlsSettings;
  /** Used by the executor, not by adapters: their `dial` goes through the bastion. */
  ssh?: SshSettings;
}

/** Facts that the first connections to a source detect, for later connections. */
export interface SourceFacts {
  /** True if the server rejects session settings in the start-up message; PostgreSQL only. */
  refusesOptions?: boolean;
  /** True if a pooler can run each transaction in another session; PostgreSQL only. */
  sharesSessions?: boolean | undefined;
  /** The server that accepted the last connection; PostgreSQL only. */
  server?: { host: string; port: number };
}

/** The SRV records (RFC 2782) and TXT records of a name. */
export interface Services {
  servers: { host: string; port: number }[];
  texts: string[];
}

export interface ConnectDeps extends SharesOfAccount {
  /**
   * Resolves, checks and dials `host:port`, for all sockets of adapters. Rejects with SOURCE_UNREACHABLE. Later dials of
   * the same host use the address that the first one reached, unless `resolveAgain` is set.
   */
  dial(
    host: string,
    port: number,
    options: { signal: AbortSignal; resolveAgain?: boolean },
  ): Promise<ServerStream>;
  /** Rejects if there is no such service, or if the name servers take too long. */
  resolveService?(service: string, name: string, signal: AbortSignal): Promise<Services>;
  /** Aborts the whole attempt: dial, TLS and log-in. */
  signal: AbortSignal;
  /**
   * Asked before commands are sent. Closes all connections and returns false if the executor was paused for so long that
   * others may use its share of the server's connections. Not for MongoDB.
   */
  isAwake?(): boolean;
  /** True if statements are sent with their comments. */
  comments?: boolean;
  /** A larger row fails with SQL_REJECTED and closes the connection. */
  rowBytesMax?: number;
  /** Returns a password that is valid now, because with `passwordFrom` the one in the settings expires. */
  currentPassword?(): Promise<string>;
  /** Call this when the server that was dialled last has accepted the log-in, but may not become the connection. */
  accepted?(): void;
  /** Read and written by the adapter. The same object for all connections to a source until its settings change. */
  facts?: SourceFacts;
}

/** A value to bind. A number that no double represents exactly is a decimal text, or a value of its declared type. */
export type Param = string | number | bigint | boolean | null | { readonly decimal: string };

/** A statement ready for the engine: placeholders in the engine's own form. */
export interface Statement
  extends Pick<BoundStatement, 'untyped' | 'infersTypes' | 'apart' | 'textWith' | 'roles'> {
  /** Identifies the prepared statement on a connection: equal keys have equal texts. */
  key: string;
  text: string;
  params: Param[];
  /** `read` runs in a read-only transaction that is rolled back, `write` in its own one, `standalone` in none. */
  kind: 'read' | 'write' | 'standalone';
  /** What the database's own tools show beside the statement. It has no comment signs, and is the same for each run. */
  comment?: string | undefined;
  /** Settings that hold for the transaction of the statement alone, by their names; PostgreSQL only. */
  session?: readonly (readonly [name: string, value: string])[] | undefined;
  /** `author`: its errors contain the texts of RAISE and SIGNAL. */
  errors?: string | undefined;
  /** True if the statement does not run again, so that the connection does not keep it prepared. */
  isOnce?: boolean;
}

/** The position of a read in a snapshot, in which two reads see the same data. */
export type SnapshotPlace =
  /** Begins the snapshot, and leaves it open for `next`. */
  | { next: Statement }
  /** Runs in the open snapshot, and ends it. */
  | 'last';

export interface RunOptions {
  /** The sink drops further rows, so an adapter need not fetch more than one of them. */
  maxRows?: number;
  /** A write that affects more rows is rolled back and fails with MAX_AFFECTED. */
  maxAffected?: number;
  /** Runs the statement and rolls it back. */
  dryRun?: boolean;
  /** Passes all results of a procedure to the sink. By default it gets the first one. */
  allResults?: boolean;
  /** Only for reads, and only on connections that have `endSnapshot`. */
  snapshot?: SnapshotPlace;
  /** Runs in the transaction that `begin` opened, which stays open. `dryRun` and `maxAffected` have no effect then. */
  inTransaction?: boolean;
  /**
   * Before COMMIT, for writes on connections whose `transactions` have `name`. If it rejects, the statement is rolled back.
   * An error before COMMIT then proves that nothing was changed.
   */
  beforeCommit?: (name: TransactionName | undefined, outcome: Outcome) => Promise<void>;
  /** The server's own statement timeout, in case the executor's deadline does not take effect. */
  statementTimeoutMs: number;
}

export interface TransactionOptions {
  /** By default that of the server. */
  isolation?: Isolation | undefined;
  readOnly: boolean;
  /** See `RunOptions`. */
  statementTimeoutMs: number;
}

export interface Outcome {
  /** False if the statement returned no row set. Then `affectedRows` and perhaps `insertId` are set. */
  hasRows: boolean;
  /** All rows that the database changed, even if the answer contains fewer. */
  affectedRows?: number;
  /** Exact digits. */
  insertId?: string;
  /** True if there were further results, which the sink did not get. */
  moreResults?: boolean;
}

/** A column of a result or of a table. `type` is the engine's name of the type. */
export interface ColumnInfo {
  name: string;
  type: string;
  nullable?: boolean;
  /** Of a column of a table. */
  comment?: string | undefined;
}

export interface DescribedColumn extends ColumnInfo {
  /** False only if it comes from a NOT NULL column of a table. The statement may still make it NULL, as joins do. */
  nullable: boolean;
  /** The name of this table, if it is known. */
  table?: string | undefined;
  kind: ColumnKind;
  /**
   * True if the server gives it the type of a variable, which only values have; `computed`: if it is made of some, `alone`:
   * if it is made of nothing else.
   */
  isUntyped?: boolean | 'computed' | 'alone';
  /** The values of an enum, in its order. */
  labels?: readonly string[] | undefined;
}

export interface Signature {
  columns: DescribedColumn[];
  /** The type of each placeholder, in order; undefined if the engine does not report it. */
  parameters: (string | undefined)[];
  /** The values of placeholders that take an enum or a list of it, by the place of the placeholder. */
  parameterLabels?: ReadonlyMap<number, readonly string[]>;
  /** Common functions that the database redefines, by name. */
  redefined?: ReadonlySet<string>;
}

export interface Schema {
  tables: SchemaTable[];
  /** Set if some tables are left out. */
  truncated?: true;
}

export interface SchemaTable {
  schema: string;
  name: string;
  kind: 'table' | 'view';
  columns: ColumnInfo[];
  comment?: string | undefined;
  /** Absent if the database has no estimate. */
  rowEstimate?: number | undefined;
  primaryKey: string[];
  foreignKeys: ForeignKey[];
}

export interface ForeignKey {
  columns: string[];
  /** Of the table that it references. */
  schema: string;
  table: string;
  /** In the order of `columns`. */
  referencedColumns: string[];
}

/**
 * One session at the database. Apart from `cancel`, one call runs at a time.
 *
 * All methods reject with a HubError: SQL_REJECTED, CONSTRAINT, STATEMENT_TIMEOUT, MAX_AFFECTED, ROLLBACK_INCOMPLETE,
 * CANCELLED, SOURCE_AUTH, SOURCE_TLS, SOURCE_UNREACHABLE (nothing was sent, or nothing can have run), SOURCE_BROKEN
 * (the connection died, so a write may have been carried out) or OUTCOME_UNKNOWN (a write may have been carried out in
 * part, was carried out without an answer, or was not replicated to enough servers). STATEMENT_TIMEOUT and CANCELLED
 * say that a write was stopped without an effect: it ran in a transaction, and the server confirmed its end. The
 * messages are the adapter's own. It passes on the database's
 * message only for an error in the statement itself, without host, user or values. `sql.line` and `sql.column` are
 * positions in the text that was run.
 */
export interface Connection {
  readonly serverVersion: string;
  /** Once true, it stays true, and the connection must not be used again. */
  readonly broken: boolean;
  /**
   * The time, in milliseconds of `performance.now()`, since which the server owes the first sign that it received the
   * running statement. Undefined if it has given one, if none is running, or if the engine gives no early sign.
   */
  readonly silentSince?: number | undefined;
  /** The listener is called once, when the connection dies or is closed, even while idle. */
  onClose(listener: () => void): void;
  /**
   * Runs one statement and writes its rows to `sink`. Once this settles, the connection is either clean or `broken`.
   */
  run(statement: Statement, sink: RowSink, options: RunOptions): Promise<Outcome>;
  /** Ends a snapshot without running its last statement. Closes the connection if that fails. */
  endSnapshot?(): Promise<void>;
  /** Absent if the engine has no transactions of several statements. */
  readonly transactions?: Transactions | undefined;
  /**
   * Cancels the running statement over a second connection. Resolves when the server has the request. `run` rejects
   * with CANCELLED.
   */
  cancel(signal: AbortSignal): Promise<void>;
  /** Makes a round trip to check that the connection is alive. */
  ping(): Promise<void>;
  /**
   * Resolves to the `pooling` that the source needs, or to undefined if its setting fits or this cannot be detected.
   */
  suggestPooling?(signal: AbortSignal): Promise<Pooling | undefined>;
  describe(statement: Statement): Promise<Signature>;
  readSchema(): Promise<Schema>;
  /** Closes the connection at once. Idempotent. */
  close(): void;
}

/** A transaction of several statements, which run with `inTransaction`. */
export interface Transactions {
  begin(options: TransactionOptions): Promise<void>;
  /**
   * Runs many statements, sent together, and leaves out the rows that they return. Resolves to the number of affected
   * rows. If one fails, `onFailure` gets its index, and the transaction must be rolled back.
   */
  runAll(statements: readonly Statement[], options: RunAllOptions): Promise<number>;
  /** Rejects with SOURCE_BROKEN if it is unknown whether the server has committed. Otherwise nothing was changed. */
  commit(): Promise<void>;
  /** Before `rollBack`. Rejects with the error that COMMIT would find. */
  rehearseCommit?(): Promise<void>;
  /** Rejects with ROLLBACK_INCOMPLETE if tables without transactions keep rows. Closes the connection if it fails. */
  rollBack(): Promise<void>;
  /** Names the open transaction, so that another connection can ask how it ended; undefined if the server cannot. */
  name?(): Promise<TransactionName | undefined>;
  /** Outside of a transaction: how another one ended. `unknown` at another server, or after its promotion. */
  endOf?(name: TransactionName): Promise<'committed' | 'aborted' | 'running' | 'unknown'>;
  /** Ends the session that has the transaction open. */
  stop?(name: TransactionName): Promise<void>;
}

export interface RunAllOptions {
  /** Of each statement; see `RunOptions`. */
  statementTimeoutMs: number;
  onFailure(index: number): void;
}

export interface TransactionName {
  /** The identifier and the timeline of the server, and when it last crashed. */
  server: string;
  /** Digits. */
  id: string;
}

/** The connection died before the server responded. A read may be repeated; the outcome of a write is unknown. */
export class NeverAnswered extends HubError {
  constructor(cause?: unknown) {
    super('SOURCE_BROKEN', 'The connection to the source broke.', { cause, retryable: true });
  }
}

/** Opening a session failed after the server accepted the log-in, so this does not count as a failed log-in. */
export class SetUpFailed extends HubError {
  constructor({ code, message, cause, retryable = false }: HubError) {
    super(code, message, { cause, stage: 'connect', retryable });
  }

  /** The server rejected a command of the set-up. */
  static refused(err: HubError): SetUpFailed {
    const text = `The server accepts the log-in but lacks what the hub sets up in each session, so it cannot be a source. ${err.message}`;
    return new SetUpFailed(new HubError('SOURCE_UNREACHABLE', text, { cause: err }));
  }
}

/** The connection failed, and the statement certainly had no effect, so any statement may be repeated. */
export class NothingRan extends HubError {
  constructor(cause: unknown) {
    // It may have run in a transaction that was undone.
    const text = 'The connection to the source broke before the statement took effect. Try again.';
    super('SOURCE_UNREACHABLE', text, { cause, retryable: true });
  }
}

/** The error of a write that was carried out, but whose rows could not be passed on. */
export const unreported = (cause: unknown): HubError =>
  new HubError(
    'OUTCOME_UNKNOWN',
    `The database carried out the statement, but its answer could not be passed on: ${
      cause instanceof HubError ? cause.message : 'the hub failed.'
    } Check the source before you repeat it.`,
    { cause, retryable: false },
  );

/**
 * The same error for an unknown host, a closed port, a timeout and a forbidden address, so that the hub cannot be used
 * as a port scanner. The `cause` tells them apart, for the log.
 */
export function sourceUnreachable(cause: unknown): HubError {
  return new HubError(
    'SOURCE_UNREACHABLE',
    'The source cannot be reached. Check its host and port, and that it accepts connections from the hub.',
    { cause, stage: 'connect', retryable: true },
  );
}

export interface Engine {
  connect(settings: ConnectSettings, deps: ConnectDeps): Promise<Connection>;
  /** True for a port that the adapter itself listens on, which no source may use. */
  owns?(address: string, port: number): boolean;
}
