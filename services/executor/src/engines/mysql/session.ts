/** What sessions are set to, and which statements look at them. */

import type { Socket } from 'node:net';
import type { Statement } from '../../engine.ts';
import type { SideSession } from './kill.ts';
import * as packets from './protocol.ts';

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

/** What every session of the hub is set to. */
export const settings = [
  "SET NAMES utf8mb4, time_zone = '+00:00', autocommit = 1",
  "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/** The server then says of each statement whether it changed the session, also where only a function in it did. */
export const track = packets.query('SET session_track_state_change = ON');

const beginning = packets.query('START TRANSACTION READ WRITE');
/** What a statement is prepared in, and reads are run in; a standalone statement is prepared in one as well. */
export const begin = {
  read: packets.query('START TRANSACTION READ ONLY'),
  write: beginning,
  standalone: beginning,
};

export const commit = packets.query('COMMIT');
export const rollback = packets.query('ROLLBACK');

/**
 * The commands around a statement, which are sent together with it. The server goes on after one that fails, so sessions
 * are read-only except for statements that may write: if the command that allows a write fails, the write fails too.
 */
export class Controls {
  readonly readOnly: Buffer;
  readonly #readWrite: string;
  readonly #timeout: (ms: number) => string;
  #timeoutMs = -1;

  constructor(isMariadb: boolean) {
    const access = `SESSION ${isMariadb ? 'tx_read_only' : 'transaction_read_only'}`;
    this.readOnly = packets.query(`SET ${access} = 1`);
    this.#readWrite = `${access} = 0`;
    this.#timeout = isMariadb
      ? (ms) => `max_statement_time = ${ms / 1_000}`
      : (ms) => `max_execution_time = ${Math.ceil(ms)}`;
  }

  /** The time-out is the second net under the executor's own deadline; it is sent only when it changes. */
  before(kind: Statement['kind'], timeoutMs: number): Buffer[] {
    const changes = timeoutMs === this.#timeoutMs ? [] : [this.#timeout(timeoutMs)];
    this.#timeoutMs = timeoutMs;
    if (kind !== 'read') return [packets.query(`SET ${[...changes, this.#readWrite].join(', ')}`)];
    return [...changes.map((change) => packets.query(`SET ${change}`)), begin.read];
  }

  /** The session was reset, so that nothing of what was set holds. */
  forget(): void {
    this.#timeoutMs = -1;
  }
}

/** Locks and the last id outlive a transaction, and a function can take or read them unseen. */
export const tidy = packets.query('DO RELEASE_ALL_LOCKS(), LAST_INSERT_ID(0)');

const sessionWords =
  /@|\b(get_lock|last_insert_id|found_rows|row_count|lastval)`?\s*\(|\bprevious\s+value\b|^\s*show\s+(count|warnings|errors)/i;
/**
 * As the server reads them: after two dashes a control character begins a comment as well as a blank. What is never
 * closed ends with the text, so that it is looked at once.
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
/** What sets or reads something of the session by its text: it is run on a fresh one, and leaves none behind. */
export const usesSession = (text: string) =>
  // A name in quotes may be that of a function.
  sessionWords.test(text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' ')));

/** No name is longer. */
const nameCharactersMax = 64;
const names = /`((?:[^`]|``)+)`|[\w$\u0080-\uffff]+/g;

/** The words of a text that may name something, in lower case; what stands in quotes and comments is none. */
export function wordsOf(text: string): Set<string> {
  const bare = text.replace(quotesAndComments, (part) => (part.startsWith('`') ? part : ' '));
  const words = new Set<string>();
  for (const [word, quoted] of bare.matchAll(names)) {
    const name = quoted?.replaceAll('``', '`') ?? word;
    if (name.length <= nameCharactersMax && !/^\d+$/.test(word)) words.add(name.toLowerCase());
  }
  return words;
}
