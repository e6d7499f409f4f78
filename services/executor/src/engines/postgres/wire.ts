/** Exchanges with the server: bytes out, messages in until it is ready again, several on their way in order. */

import { LongRows } from '../../network/long-rows.ts';
import { Carry, type LongMessage, longRowBytes, readInPlace } from '../../network/shared-read-buffer.ts';
import type { ServerStream, TakeLongRow } from '../../ports/server-stream.ts';
import { logInBytesMax, pieceBytes, RowTooLarge, unaskedBytesMax } from '../shared/bounds.ts';
import { brokenError } from './errors.ts';
import { copyFail } from './protocol.ts';

/** The bytes are valid during the call only. */
export type OnMessage = (type: number, source: Buffer, start: number, end: number) => void;

export interface ExchangeResult {
  /** The body of the first ErrorResponse. */
  error: Buffer | undefined;
  /** `I` outside of a transaction, `T` in one, `E` in a failed one. */
  status: string;
}

interface Exchange {
  onMessage: OnMessage;
  /** ReadyForQuery messages still to come. */
  readies: number;
  error: Buffer | undefined;
  /** True once the server asked for a file, which it can do once for each ReadyForQuery. */
  refusedFile: boolean;
  /** What an error is answered with; undefined when the server needs no answer. */
  recover: (() => Buffer | undefined) | undefined;
  resolve: (result: ExchangeResult) => void;
  reject: (err: unknown) => void;
}

const ignore = () => {};
const nothing = Buffer.alloc(0);
const readyForQuery = 0x5a;
const errorResponse = 0x45;
const copyIn = 0x47;

export class Wire {
  closed = false;
  /** See `Connection`. */
  silentSince: number | undefined;
  readonly #socket: ServerStream;
  readonly #reader = new FrameReader(logInBytesMax);
  readonly #exchanges: Exchange[] = [];
  /** True once anything but an error came for what was sent since nothing was under way. */
  #answered = false;
  /** Of messages that nobody had asked for, since the last one that somebody had. */
  #unaskedBytes = 0;
  #isPaused = false;
  readonly #longRows: LongRows;
  readonly #isAwake: () => boolean;
  #onClose: () => void = () => {};

  /** Nobody is logged in yet: messages are small. Commands are sent while `isAwake` returns true. */
  constructor(socket: ServerStream, isAwake = () => true, takeLongRow?: TakeLongRow) {
    this.#socket = socket;
    this.#isAwake = isAwake;
    this.#longRows = new LongRows(takeLongRow, () => this.#isPaused || this.closed || this.resume());
    for (const event of ['end', 'close', 'error', 'drain']) socket.removeAllListeners(event);
    socket.on('error', () => {});
    socket.on('close', () => this.close());
    socket.on('end', () => this.close());
    readInPlace(socket, (bytes) => this.#read(bytes));
  }

  /** Of TCP; undefined once the socket is closed. */
  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  /** From here on rows of this size are taken. */
  widen(rowBytesMax: number): void {
    this.#reader.bytesMax = rowBytesMax;
  }

  onClose(listener: () => void): void {
    const before = this.#onClose;
    this.#onClose = () => {
      before();
      listener();
    };
  }

  /** Rejects with SOURCE_BROKEN when the connection dies on the way; its cause is what the server said last, if it did. */
  exchange(bytes: Buffer, onMessage: OnMessage, readies = 1): Promise<ExchangeResult> {
    const result = this.expect(onMessage, readies);
    this.send(bytes);
    return result;
  }

  /**
   * The result of what is sent next; for several in one write, in the order in which they stand in it. The bytes of
   * `recover` bring one ReadyForQuery more.
   */
  expect(onMessage: OnMessage, readies = 1, recover?: () => Buffer | undefined): Promise<ExchangeResult> {
    return new Promise((resolve, reject) => {
      if (this.closed) reject(brokenError());
      else {
        if (this.#exchanges.length === 0) this.#answered = false;
        const begun = { readies, error: undefined, refusedFile: false };
        this.#exchanges.push({ ...begun, onMessage, recover, resolve, reject });
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

  /** Reads the next message in that turn, also if it has arrived. */
  readOnIn(turn: Promise<void>): void {
    this.#reader.isStopped = true;
    this.pause();
    void turn.then(() => this.resume());
  }

  close(cause?: unknown): void {
    if (this.closed) return;
    this.closed = true;
    this.#longRows.close();
    this.#reader.close();
    this.#socket.destroy();
    const unanswered = !this.#answered;
    for (const { reject, error } of this.#exchanges.splice(0))
      reject(brokenError(error ?? cause, { unanswered }));
    this.#onClose();
  }

  #read(bytes: Buffer): void {
    this.silentSince = undefined;
    try {
      this.#reader.push(bytes, (type, source, start, end) => this.#take(type, source, start, end));
    } catch (err) {
      this.close(err);
    }
    if (this.#longRows.look(this.#reader.long, this.#isPaused)) this.#socket.pause();
  }

  /** Counts a message that no command asked for, such as a notice. A server that sends too many is disconnected. */
  #leave(bytes: number): void {
    this.#unaskedBytes += bytes + pieceBytes;
    if (this.#unaskedBytes > unaskedBytesMax) this.close();
  }

  #fail(exchange: Exchange, body: Buffer): void {
    if (exchange.error !== undefined) return;
    exchange.error = Buffer.from(body);
    const answer = exchange.recover?.();
    if (answer === undefined) return;
    exchange.readies++;
    // What follows answers the recovery.
    exchange.onMessage = ignore;
    this.send(answer);
  }

  #take(type: number, source: Buffer, start: number, end: number): void {
    const [exchange] = this.#exchanges;
    if (exchange === undefined) {
      this.#leave(end - start);
      return;
    }
    this.#unaskedBytes = 0;
    if (type !== errorResponse) this.#answered = true;
    if (type === errorResponse) this.#fail(exchange, source.subarray(start, end));
    else if (type === copyIn) this.#refuseFile(exchange);
    else if (type !== readyForQuery) exchange.onMessage(type, source, start, end);
    else if (--exchange.readies > 0) exchange.refusedFile = false;
    else {
      this.#exchanges.shift();
      exchange.resolve({ error: exchange.error, status: String.fromCharCode(source[start] as number) });
    }
  }

  /** A server that asks again and again, and reads no answer, would fill the memory with answers. */
  #refuseFile(exchange: Exchange): void {
    if (exchange.refusedFile) throw new Error('The server asked for a second file.');
    exchange.refusedFile = true;
    this.#socket.write(copyFail);
  }
}

const dataRow = 0x44;

/** Cuts the server's byte stream into messages; an incomplete message waits for its rest. */
class FrameReader {
  /** Of one message. */
  bytesMax: number;
  /** Set while a message is passed on to read no further one before the next `push`. */
  isStopped = false;
  readonly #carry = new Carry(longRowBytes);

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get long(): LongMessage {
    return this.#carry.long;
  }

  close(): void {
    this.#carry.close();
  }

  /** Throws for a length that cannot be, and for one beyond the bound as soon as it is announced. */
  push(bytes: Buffer, onMessage: OnMessage): void {
    const source = this.#carry.join(bytes);
    if (source === undefined) {
      this.isStopped = this.long === 'whole';
      return;
    }
    let at = 0;
    let needed = 0;
    this.isStopped = false;
    while (source.length - at >= 5 && !this.isStopped) {
      const length = source.readInt32BE(at + 1);
      if (length < 4 || length > this.bytesMax) throw this.#badLength(source[at] as number, length);
      const end = at + 1 + length;
      if (end > source.length) {
        needed = end - at;
        break;
      }
      onMessage(source[at] as number, source, at + 5, end);
      at = end;
    }
    if (at < source.length) this.#carry.keep(source, at, needed);
    this.#carry.free();
  }

  #badLength(type: number, length: number): Error {
    if (type === dataRow && length > 0) return new RowTooLarge(this.bytesMax);
    return new RangeError('The server sent a message of an impossible length.');
  }
}
