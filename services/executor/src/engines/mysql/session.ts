/** The settings of a session, and the hub's own commands in it. */

import type { RunOptions, Statement } from '../../ports/engine.ts';
import type { RowSink } from '../../ports/row-sink.ts';
import type { ServerStream, TakeLongRow } from '../../ports/server-stream.ts';
import type { KeptOfConnection } from '../shared/kept-statements.ts';
import type { Canceller } from './cancel.ts';
import * as protocol from './protocol.ts';
import { beganReadOnly, type Commands, ok, type Response } from './wire.ts';

export interface MysqlSession {
  socket: ServerStream;
  serverVersion: string;
  isMariadb: boolean;
  /** True if MariaDB reports the format of a column (such as JSON) in extended metadata. */
  hasExtended: boolean;
  rowBytesMax: number | undefined;
  /** See `ConnectDeps`. */
  isAwake: (() => boolean) | undefined;
  takeLongRow: TakeLongRow | undefined;
  kept: KeptOfConnection;
  /** True if statements are sent with their comments. */
  comments: boolean;
  threadId: number;
  /** Cancels statements of all sessions of the source. */
  canceller: Canceller;
}

export interface Run {
  sink: RowSink;
  options: RunOptions;
  /** True if the statement runs in a transaction that is already open. */
  inOpenTransaction: boolean;
}

/** Any lower limit, such as one of the server's, would cut answers in silence. */
const noLimit = 'sql_select_limit = 18446744073709551615';
const ownNames = "NAMES utf8mb4, time_zone = '+00:00'";
/**
 * The server's own modes by which it refuses values stay. ONLY_FULL_GROUP_BY is none of them: with it, the servers take
 * `GROUP BY FLOOR(n / :size)` for another expression than the same one in the list of columns.
 */
const refusing = ['STRICT_ALL_TABLES', 'NO_ZERO_IN_DATE', 'NO_ZERO_DATE'].map(
  (mode) => `IF(FIND_IN_SET('${mode}', @@GLOBAL.sql_mode), ',${mode}', '')`,
);
/** In the order in which the servers write modes. */
const ownMode = `CONCAT('STRICT_TRANS_TABLES', ${refusing}, ',ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION')`;
/** Settings of every session. Names are read from messages, so these must be English. */
const settings = [
  `SET ${ownNames}, autocommit = 1, lc_messages = 'en_US'`,
  `SET sql_mode = ${ownMode}, completion_type = 'NO_CHAIN', ${noLimit}`,
];

/** Sets how values and statements are read and written, and how many rows. */
export const restoreValues = protocol.query(`SET ${ownNames}, sql_mode = ${ownMode}, ${noLimit}`);
/** The names of the settings by which values and statements are read that are not the hub's. */
export const changedValues = `SELECT 'time_zone' FROM DUAL WHERE @@time_zone <> '+00:00'
  UNION SELECT 'sql_mode' FROM DUAL WHERE @@sql_mode <> ${ownMode}
  UNION SELECT 'character_set_client' FROM DUAL
    WHERE @@character_set_client <> 'utf8mb4' OR @@character_set_connection <> 'utf8mb4'`;

/** Makes the server report whether a statement, or a function in it, changed the session, and whether it set a format. */
export const track = protocol.query(
  `SET session_track_state_change = ON, session_track_system_variables = '${protocol.formats.join()}'`,
);

const beginning = protocol.query('START TRANSACTION READ WRITE');
/** Begins the transaction in which a statement is prepared. A read also runs in it. */
export const begin = {
  read: protocol.query('START TRANSACTION READ ONLY'),
  write: beginning,
  standalone: beginning,
};

/** Both statements of a snapshot see the data as it was when the transaction began. */
const beginSnapshot = [
  protocol.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'),
  protocol.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'),
];
export const together = (commands: readonly Buffer[], response: Response): Commands => ({
  bytes: Buffer.concat(commands),
  responses: commands.map(() => response),
});
export const nothing: Commands = { bytes: Buffer.alloc(0), responses: [] };

export const showWarnings = protocol.query('SHOW WARNINGS');
/** Lets MySQL report what the statement before changed. */
export const ask = protocol.query('DO 0');
export const commit = protocol.query('COMMIT');
export const rollback = protocol.query('ROLLBACK');
/** Around what is prepared in an open transaction. */
export const savepoint = protocol.query('SAVEPOINT datahub');
export const undo = protocol.query('ROLLBACK TO SAVEPOINT datahub');

/**
 * The commands around a statement, which are sent together with it. The server continues after a command that fails. So
 * sessions are read-only by default: if the command that allows writes fails, the write fails too.
 */
export class Controls {
  readonly readOnly: Buffer;
  /** The commands that set up every session. */
  readonly required: readonly Buffer[];
  readonly #readWrite: string;
  readonly #beforeRead: Commands = { bytes: begin.read, responses: [beganReadOnly] };
  readonly #beforeFirst: Commands = { bytes: Buffer.concat(beginSnapshot), responses: [ok, beganReadOnly] };
  readonly #beforeWrite: Commands;
  readonly #timeout: (ms: number) => string;
  #timeoutMs = -1;

  constructor(isMariadb: boolean) {
    const access = `SESSION ${isMariadb ? 'tx_read_only' : 'transaction_read_only'}`;
    this.readOnly = protocol.query(`SET ${access} = 1`);
    this.required = [...settings.map(protocol.query), this.readOnly];
    this.#readWrite = `${access} = 0`;
    this.#beforeWrite = { bytes: protocol.query(`SET ${this.#readWrite}`), responses: [ok] };
    this.#timeout = isMariadb
      ? (ms) => `max_statement_time = ${ms / 1_000}`
      : (ms) => `max_execution_time = ${Math.ceil(ms)}`;
  }

  /**
   * Returns the commands before a statement. The timeout, a fallback for the executor's deadline, is sent only if it
   * changes.
   */
  before(kind: Statement['kind'], options: RunOptions): Commands {
    const { statementTimeoutMs: timeoutMs, snapshot, inTransaction } = options;
    if (snapshot === 'last') return nothing;
    const isRead = kind === 'read';
    const reads = inTransaction ? nothing : snapshot === undefined ? this.#beforeRead : this.#beforeFirst;
    if (timeoutMs === this.#timeoutMs) return isRead ? reads : this.#beforeWrite;
    const timeout = this.#timeout(timeoutMs);
    if (!isRead)
      return {
        bytes: protocol.query(`SET ${timeout}, ${this.#readWrite}`),
        responses: this.#beforeWrite.responses,
      };
    const bytes = Buffer.concat([protocol.query(`SET ${timeout}`), reads.bytes]);
    return { bytes, responses: [ok, ...reads.responses] };
  }

  /** Sets the timeout of statements of an open transaction, if it changes. */
  timeout(timeoutMs: number): Commands {
    if (timeoutMs === this.#timeoutMs) return nothing;
    this.#timeoutMs = timeoutMs;
    return { bytes: protocol.query(`SET ${this.#timeout(timeoutMs)}`), responses: [ok] };
  }

  /** The first command after a write clears its warnings, so SHOW WARNINGS comes first. */
  afterWrite(cleanUp: readonly Buffer[], [warnings, followUp]: [Response, Response]): Commands {
    const commands = [showWarnings, ...cleanUp, this.readOnly];
    // The last command changes the session itself and reports that, so its report is ignored.
    const responses = [warnings, ...cleanUp.map(() => followUp), ok];
    return { bytes: Buffer.concat(commands), responses };
  }

  /** Call this when the commands before a statement have been sent. */
  sent(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
  }

  /** Call this when the server has discarded all settings. */
  reset(): void {
    this.#timeoutMs = -1;
  }
}

/**
 * Locks and the last insert id outlive a transaction, and a function can set them without a trace in the statement's
 * text.
 */
export const cleanUp = protocol.query('DO RELEASE_ALL_LOCKS(), LAST_INSERT_ID(0)');
