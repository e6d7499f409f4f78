/** Commands and replies over OP_MSG, one at a time. */

import type { Socket } from 'node:net';
import { BSON, type Document } from 'bson';
import { NeverAnswered } from '../../engine.ts';
import { logInBytesMax } from '../shared/bounds.ts';
import { documentEnd } from './bson-reader.ts';
import { brokenError } from './errors.ts';

const opMsg = 2_013;
const headerBytes = 16;
/** Flags, and the kind of the one section that a reply has: its body. */
const beforeBodyBytes = 5;
/** What every MongoDB sends at most. */
const messageBytesMax = 48_000_000 + 16_384;

interface Waiting {
  id: number;
  resolve: (reply: Buffer) => void;
  reject: (err: unknown) => void;
}

export class Wire {
  closed = false;
  readonly #socket: Socket;
  #bytesMax = logInBytesMax;
  #lastId = 0;
  #waiting: Waiting | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #onClose: () => void = () => {};

  /** Nobody is logged in yet: messages are small. */
  constructor(socket: Socket) {
    this.#socket = socket;
    for (const event of ['data', 'end', 'close', 'error', 'drain']) socket.removeAllListeners(event);
    socket.on('error', () => {});
    socket.on('close', () => this.close());
    socket.on('end', () => this.close());
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.resume();
  }

  /** From here on messages are as large as the server makes them. */
  widen(): void {
    this.#bytesMax = messageBytesMax;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** The body of the reply, in BSON, whatever it says. Rejects with SOURCE_BROKEN when the connection dies on the way. */
  send(command: Document): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.closed || this.#waiting !== undefined) {
        reject(brokenError());
        return;
      }
      this.#lastId = (this.#lastId + 1) & 0x7fffffff;
      this.#waiting = { id: this.#lastId, resolve, reject };
      this.#socket.write(toMessage(this.#lastId, command));
    });
  }

  close(cause?: unknown): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket.destroy();
    this.#chunks = [];
    const answered = this.#bytes > 0;
    this.#waiting?.reject(cause === undefined && !answered ? new NeverAnswered() : brokenError(cause));
    this.#waiting = undefined;
    this.#onClose();
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    try {
      this.#take();
    } catch (err) {
      this.close(err);
    }
  }

  /** A message nobody asked for, or one that is not whole within its own length, ends the connection. */
  #take(): void {
    if (this.#bytes < headerBytes) return;
    const length = this.#head().readInt32LE(0);
    if (length < headerBytes + beforeBodyBytes || length > this.#bytesMax)
      throw new RangeError('The length of a message is out of bounds.');
    if (this.#bytes < length) return;
    if (this.#bytes > length || this.#waiting === undefined)
      throw new RangeError('The server says what it was not asked.');
    const message = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    const { id, resolve } = this.#waiting;
    const fits = message.readInt32LE(8) === id && message.readInt32LE(12) === opMsg;
    if (!fits || message.readUInt32LE(headerBytes) !== 0 || message[headerBytes + 4] !== 0) {
      throw new RangeError('The reply is to something else, or of a kind that was not asked for.');
    }
    const start = headerBytes + beforeBodyBytes;
    const body = message.subarray(start, documentEnd(message, start, message.length));
    this.#waiting = undefined;
    resolve(body);
  }

  /** The first chunk with the whole header in it. */
  #head(): Buffer {
    const [first] = this.#chunks as [Buffer];
    if (first.length >= headerBytes) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}

function toMessage(id: number, command: Document): Buffer {
  const body = BSON.serialize(command);
  const message = Buffer.allocUnsafe(headerBytes + beforeBodyBytes + body.length);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(id, 4);
  message.writeInt32LE(0, 8);
  message.writeInt32LE(opMsg, 12);
  message.writeUInt32LE(0, headerBytes);
  message[headerBytes + 4] = 0;
  message.set(body, headerBytes + beforeBodyBytes);
  return message;
}
