/** The settings of a session, and how to recognize statements that use its state. */

import type { Socket } from 'node:net';
import type { Statement } from '../../engine.ts';
import type { SideSession } from './cancel.ts';
import * as protocol from './protocol.ts';
import { beganReadOnly, type Commands, ok } from './wire.ts';

export interface Session {
  socket: Socket;
  serverVersion: string;
  isMariadb: boolean;
  /** MariaDB reports the format of a column (such as JSON) in extended metadata. */
  hasExtended: boolean;
  rowBytesMax: number | undefined;
  /** Opens a second session, which can cancel the statement of this one. */
  openSide(signal: AbortSignal): Promise<SideSession>;
}

/** Settings of every session. */
export const settings = [
  "SET NAMES utf8mb4, time_zone = '+00:00', autocommit = 1",
  "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/** Makes the server report for each statement whether it, or a function in it, changed the session. */
export const track = protocol.query('SET session_track_state_change = ON');

const beginning = protocol.query('START TRANSACTION READ WRITE');
/** Begins the transaction that a statement is prepared in, and that a read also runs in. */
export const begin = {
  read: protocol.query('START TRANSACTION READ ONLY'),
  write: beginning,
  standalone: beginning,
};

export const commit = protocol.query('COMMIT');
export const rollback = protocol.query('ROLLBACK');

/**
 * The commands around a statement, which are sent together with it. The server goes on after one that fails, so sessions
 * are read-only except for statements that may write: if the command that allows a write fails, the write fails too.
 */
export class Controls {
  readonly readOnly: Buffer;
  readonly #readWrite: string;
  readonly #beforeRead: Commands = { bytes: begin.read, responses: [beganReadOnly] };
  readonly #beforeWrite: Commands;
  readonly #timeout: (ms: number) => string;
  #timeoutMs = -1;

  constructor(isMariadb: boolean) {
    const access = `SESSION ${isMariadb ? 'tx_read_only' : 'transaction_read_only'}`;
    this.readOnly = protocol.query(`SET ${access} = 1`);
    this.#readWrite = `${access} = 0`;
    this.#beforeWrite = { bytes: protocol.query(`SET ${this.#readWrite}`), responses: [ok] };
    this.#timeout = isMariadb
      ? (ms) => `max_statement_time = ${ms / 1_000}`
      : (ms) => `max_execution_time = ${Math.ceil(ms)}`;
  }

  /** The timeout backs up the executor's own deadline. It is sent only if it changes. */
  before(kind: Statement['kind'], timeoutMs: number): Commands {
    const isRead = kind === 'read';
    if (timeoutMs === this.#timeoutMs) return isRead ? this.#beforeRead : this.#beforeWrite;
    const timeout = this.#timeout(timeoutMs);
    if (!isRead)
      return {
        bytes: protocol.query(`SET ${timeout}, ${this.#readWrite}`),
        responses: this.#beforeWrite.responses,
      };
    const bytes = Buffer.concat([protocol.query(`SET ${timeout}`), this.#beforeRead.bytes]);
    return { bytes, responses: [ok, ...this.#beforeRead.responses] };
  }

  /** To be called when the commands before a statement have been sent. */
  sent(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
  }

  /** The server has discarded all settings. */
  reset(): void {
    this.#timeoutMs = -1;
  }
}

/** Locks and the last insert id outlive a transaction, and a function can use them without the statement's text showing it. */
export const cleanUp = protocol.query('DO RELEASE_ALL_LOCKS(), LAST_INSERT_ID(0)');

const sessionWords =
  /@|\b(get_lock|last_insert_id|found_rows|row_count|lastval)`?\s*\(|\bprevious\s+value\b|^\s*show\s+(count|warnings|errors)/i;
/**
 * Quotes and comments as the server reads them: "--" begins a comment if a space or a control character follows. An
 * unterminated one ends at the end of the text, which keeps the match linear.
 */
const quotesAndComments = new RegExp(
  [
    /\/\*.*?(?:\*\/|$)/,
    /(?:#|--(?![!-~\u0080-\uffff]))[^\n]*/,
    /'(?:[^'\\]|\\.?|'')*(?:'|$)/,
    /"(?:[^"\\]|\\.?|"")*(?:"|$)/,
    /`[^`]*(?:`|$)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gs',
);
/** True if the text sets or reads session state. Such a statement runs in a fresh session, which is reset afterwards. */
export const usesSession = (text: string) =>
  // A name in backticks may be a function.
  sessionWords.test(text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' ')));

/** The longest name that the servers allow. */
const nameCharactersMax = 64;
const names = /`((?:[^`]|``)+)`|[\w$\u0080-\uffff]+/g;

/**
 * The words of a text that may be names, without string literals and comments. Each is there as it is written and in lower
 * case, because a server stores and compares names in one way or the other.
 */
export function wordsOf(text: string): Set<string> {
  const bare = text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' '));
  const words = new Set<string>();
  for (const [word, quoted] of bare.matchAll(names)) {
    const name = quoted?.replaceAll('``', '`') ?? word;
    if (name.length <= nameCharactersMax && !/^\d+$/.test(word)) words.add(name).add(name.toLowerCase());
  }
  return words;
}

/** A word as a string literal in a query of the hub's own. */
export const literal = (word: string) => `_utf8mb4 X'${Buffer.from(word).toString('hex')}'`;
