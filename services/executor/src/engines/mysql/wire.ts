/** Sends commands and reads their responses in the same order. Several commands may be in flight. */

import type { Socket } from 'node:net';
import type { HubError } from '@datahub/service-kit/call/error';
import { readInPlace } from '../../network/shared-read-buffer.ts';
import { defaultRowBytesMax } from '../shared/bounds.ts';
import { brokenError, toHubError } from './errors.ts';
import { PacketReader, readOk } from './protocol.ts';

/** Reads one packet of a response. Returns true if it was the last. */
export type Response = (source: Buffer, start: number, end: number) => boolean;

interface Waiting {
  take: Response;
  resolve: () => void;
  reject: (err: unknown) => void;
}

const okHeader = 0x00;
const errorHeader = 0xff;

/** Accepts only an OK, and not, for example, a request for a local file (LOAD DATA LOCAL). */
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

/** Waits for all and resolves with the first error, or undefined. */
async function firstFailure(answers: Promise<unknown>[]): Promise<unknown> {
  const results = await Promise.allSettled(answers);
  return results.find((result) => result.status === 'rejected')?.reason;
}

export class Wire {
  closed = false;
  readonly #socket: Socket;
  readonly #reader: PacketReader;
  readonly #waiting: Waiting[] = [];
  /** True if the server has sent anything but an error since the wire was last idle. */
  #answered = false;
  #onClose: () => void = () => {};

  constructor(socket: Socket, rowBytesMax = defaultRowBytesMax) {
    this.#socket = socket;
    this.#reader = new PacketReader(rowBytesMax);
    for (const event of ['end', 'close', 'error']) socket.removeAllListeners(event);
    socket.on('error', () => {});
    socket.on('close', () => this.close());
    socket.on('end', () => this.close());
    readInPlace(socket, (bytes) => this.#read(bytes));
  }

  /** True while a response is pending. */
  get busy(): boolean {
    return this.#waiting.length > 0;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Resolves when the response is complete. Rejects with the server's error, or SOURCE_BROKEN. */
  expect(take: Response): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.closed) reject(brokenError());
      else {
        if (this.#waiting.length === 0) this.#answered = false;
        this.#waiting.push({ take, resolve, reject });
      }
    });
  }

  /**
   * Waits for a statement and the hub's own commands around it, and returns their errors. If one of the commands failed,
   * the state of the session is unknown, so it is closed.
   */
  async settle({ before, main, after }: { before: Response[]; main: Response; after: Response[] }) {
    const expectAll = (responses: Response[]) => firstFailure(responses.map((one) => this.expect(one)));
    const [begun, ran, ended] = await Promise.all([expectAll(before), expectAll([main]), expectAll(after)]);
    if (begun !== undefined || ended !== undefined) this.close();
    return { begun, ran, ended };
  }

  send(bytes: Buffer): void {
    if (!this.closed) this.#socket.write(bytes);
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
    for (const { reject } of this.#waiting.splice(0)) reject(this.broken(cause));
    this.#onClose();
  }

  /** The error of a closed connection. It says whether the server had answered before. */
  broken(cause?: unknown): HubError {
    return brokenError(cause, { unanswered: !this.#answered });
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.push(bytes, (source, start, end) => this.#take(source, start, end));
    } catch (err) {
      this.close(err);
    }
  }

  #take(source: Buffer, start: number, end: number): void {
    const [first] = this.#waiting;
    // A server sends an unrequested packet when it shuts down or closes an idle connection.
    if (first === undefined) {
      this.close();
      return;
    }
    if (source[start] === errorHeader) {
      this.#waiting.shift();
      first.reject(toHubError(source, start, end));
      return;
    }
    this.#answered = true;
    if (!first.take(source, start, end)) return;
    this.#waiting.shift();
    first.resolve();
  }
}
