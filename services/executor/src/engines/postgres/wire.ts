/** One exchange at a time with the server: bytes out, messages in, until it is ready for the next. */

import type { Socket } from 'node:net';
import { brokenError } from './errors.ts';
import { FrameReader } from './frames.ts';
import { copyFail } from './protocol.ts';

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
  resolve: (result: ExchangeResult) => void;
  reject: (err: unknown) => void;
}

const readyForQuery = 0x5a;
const errorResponse = 0x45;
const copyIn = 0x47;

export class Wire {
  closed = false;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  #exchange: Exchange | undefined;
  #onClose: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    for (const event of ['data', 'end', 'close', 'error', 'drain']) socket.removeAllListeners(event);
    socket.on('error', () => {});
    socket.on('close', () => this.close());
    socket.on('end', () => this.close());
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.resume();
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Rejects with SOURCE_BROKEN when the connection dies on the way. */
  exchange(bytes: Buffer, onMessage: OnMessage, readies = 1): Promise<ExchangeResult> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(brokenError());
      this.#exchange = { onMessage, readies, error: undefined, resolve, reject };
      this.#socket.write(bytes);
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(cause?: unknown): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.reject(brokenError(cause));
    this.#onClose();
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk, (type, source, start, end) => this.#take(type, source, start, end));
    } catch (err) {
      this.close(err);
    }
  }

  #take(type: number, source: Buffer, start: number, end: number): void {
    const exchange = this.#exchange;
    // What the server says of itself (notices, parameters) needs no answer.
    if (exchange === undefined) return;
    if (type === errorResponse) exchange.error ??= Buffer.from(source.subarray(start, end));
    else if (type === copyIn) this.#socket.write(copyFail);
    else if (type !== readyForQuery) exchange.onMessage(type, source, start, end);
    else if (--exchange.readies === 0) {
      this.#exchange = undefined;
      exchange.resolve({ error: exchange.error, status: String.fromCharCode(source[start] as number) });
    }
  }
}
