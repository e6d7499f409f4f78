/** Sends commands and reads their responses in the same order. Several commands may be in flight. */

import { once } from 'node:events';
import type { HubError } from '@datahub/service-kit/call/error';
import { LongRows } from '../../network/long-rows.ts';
import { readInPlace } from '../../network/shared-read-buffer.ts';
import type { ServerStream, TakeLongRow } from '../../ports/server-stream.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { brokenError, toHubError } from './errors.ts';
import { PacketReader, readOk } from './protocol.ts';

/** Reads one packet of a response. Returns true if it was the last. */
export type Response = (source: Buffer, start: number, end: number) => boolean;

/** Commands that are sent together, and the readers of their responses. */
export interface Commands {
  bytes: Buffer;
  responses: readonly Response[];
}

/**
 * The errors of an exchange: the first of the hub's commands before the statement, the statement's, and the first after
 * it.
 */
export interface Failures {
  begun: unknown;
  ran: unknown;
  ended: unknown;
}

interface Exchange {
  responses: readonly Response[];
  /** The position of the statement's own response. */
  main: number;
  /** The position of the response that the server sends next. */
  next: number;
  failures: Failures;
  resolve: (failures: Failures) => void;
}

const nothing = Buffer.alloc(0);
/** How long a server may take to close a connection after it has said so. */
const endingMs = 500;
const okHeader = 0x00;
const errorHeader = 0xff;

/** Accepts only an OK. Rejects anything else, for example a request for a local file (LOAD DATA LOCAL). */
export const ok: Response = (source, start) => {
  if (source[start] !== okHeader) throw new RangeError('The server sent an unexpected response.');
  return true;
};

/** The OK to START TRANSACTION READ ONLY. Its status flags confirm that the transaction is read-only. */
export const beganReadOnly: Response = (source, start, end) => {
  if (ok(source, start, end) && !readOk(source, start, end).isReadOnly)
    throw new RangeError('The server did not begin a read-only transaction.');
  return true;
};

export interface WireOptions {
  rowBytesMax?: number | undefined;
  isAwake?: (() => boolean) | undefined;
  takeLongRow?: TakeLongRow | undefined;
  /** Closed with the connection. */
  kept?: { close(): void } | undefined;
}

export class Wire {
  closed = false;
  /** See `Connection`. */
  silentSince: number | undefined;
  readonly #socket: ServerStream;
  readonly #reader: PacketReader;
  readonly #exchanges: Exchange[] = [];
  /** True if the server has sent anything but an error since the wire was last idle. */
  #answered = false;
  #isPaused = false;
  readonly #longRows: LongRows;
  readonly #isAwake: () => boolean;
  readonly #kept: WireOptions['kept'];
  #onClose: () => void = () => {};

  /** Commands are sent while `isAwake` returns true. */
  constructor(
    socket: ServerStream,
    { rowBytesMax = defaultRowBytesMax, isAwake = () => true, takeLongRow, kept }: WireOptions,
  ) {
    this.#socket = socket;
    this.#longRows = new LongRows(takeLongRow, () => this.#isPaused || this.closed || this.resume());
    this.#isAwake = isAwake;
    this.#kept = kept;
    this.#reader = new PacketReader(rowBytesMax);
    for (const event of ['end', 'close', 'error']) socket.removeAllListeners(event);
    socket.on('error', () => {});
    socket.on('close', () => this.close());
    socket.on('end', () => this.close());
    readInPlace(socket, (bytes) => this.#read(bytes));
  }

  /** True while a response is pending. */
  get busy(): boolean {
    return this.#exchanges.length > 0;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Resolves when the response is complete. Rejects with the server's error, or SOURCE_BROKEN. */
  async expect(take: Response): Promise<void> {
    const { ran } = await this.exchange([take], 0);
    if (ran !== undefined) throw ran;
  }

  /**
   * Waits for the responses to a statement, at position `main`, and to the hub's own commands around it. If one of the
   * commands failed, the state of the session is unknown, so the session is closed.
   */
  exchange(responses: readonly Response[], main: number): Promise<Failures> {
    return new Promise((resolve) => {
      const failures: Failures = { begun: undefined, ran: undefined, ended: undefined };
      const exchange = { responses, main, next: 0, failures, resolve };
      if (this.closed) breakOff(exchange, brokenError(undefined, { unanswered: true }));
      else {
        if (this.#exchanges.length === 0) this.#answered = false;
        this.#exchanges.push(exchange);
      }
    });
  }

  /** Call this before the server is sent something that it answers at once. */
  awaitSign(): void {
    this.silentSince = performance.now();
  }

  send(bytes: Buffer): void {
    if (!this.closed && this.#isAwake()) this.#socket.write(bytes);
  }

  /** No packet is read before `resume`, not even one that has arrived: a few bytes can hold a million NULLs. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#longRows.isWaiting) return;
    if (this.#reader.isStopped) this.#read(nothing);
    if (!this.#longRows.look(this.#reader.long, this.#isPaused) && !this.#isPaused) this.#socket.resume();
  }

  /** Reads the next packet in that turn. */
  readOnIn(turn: Promise<void>): void {
    this.pause();
    void turn.then(() => this.resume());
  }

  /** Waits for a server that has said that it closes the connection. Resolves to whether it did. */
  async closes(): Promise<boolean> {
    this.resume();
    const signal = AbortSignal.timeout(endingMs);
    if (!this.closed) await once(this.#socket, 'close', { signal }).catch(() => {});
    // A reset ends the wait before the event `close`.
    return this.closed || this.#socket.destroyed;
  }

  close(cause?: unknown): void {
    if (this.closed) return;
    this.closed = true;
    this.#longRows.close();
    this.#reader.close();
    this.#kept?.close();
    this.#socket.destroy();
    for (const exchange of this.#exchanges.splice(0)) breakOff(exchange, this.broken(cause));
    this.#onClose();
  }

  /** Returns the error of a closed connection. It says whether the server had answered before. */
  broken(cause?: unknown): HubError {
    return brokenError(cause, { unanswered: !this.#answered });
  }

  #read(bytes: Buffer): void {
    this.silentSince = undefined;
    try {
      this.#reader.push(bytes, (source, start, end) => {
        this.#take(source, start, end);
        return this.#isPaused || this.closed;
      });
    } catch (err) {
      this.close(err);
    }
    if (this.#longRows.look(this.#reader.long, this.#isPaused)) this.#socket.pause();
  }

  #take(source: Buffer, start: number, end: number): void {
    const [exchange] = this.#exchanges;
    // A server sends an unrequested packet when it shuts down or closes an idle connection.
    if (exchange === undefined) {
      this.close();
      return;
    }
    const { responses, failures, resolve } = exchange;
    if (source[start] === errorHeader) fail(exchange, toHubError(source, start, end));
    else {
      this.#answered = true;
      if (!(responses[exchange.next] as Response)(source, start, end)) return;
    }
    exchange.next++;
    if (exchange.next < responses.length) return;
    this.#exchanges.shift();
    if (failures.begun !== undefined || failures.ended !== undefined) this.close();
    resolve(failures);
  }
}

function fail({ failures, main, next }: Exchange, err: unknown): void {
  if (next < main) failures.begun ??= err;
  else if (next === main) failures.ran = err;
  else failures.ended ??= err;
}

/** Ends an exchange whose missing responses will not arrive. */
function breakOff(exchange: Exchange, err: unknown): void {
  for (; exchange.next < exchange.responses.length; exchange.next++) fail(exchange, err);
  exchange.resolve(exchange.failures);
}
