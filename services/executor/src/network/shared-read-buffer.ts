/**
 * One read buffer for all sockets to sources. A socket's bytes are used within the call that delivers them, and no other
 * socket reads meanwhile. A buffer for each read would be 64 KiB of garbage however few bytes arrive, and as much again
 * when the start of a message is kept.
 */

import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { freeBuffer } from './large-buffers.ts';
import { Pieces } from './pieces.ts';

/** `bytes` are valid during the call only. */
export type OnBytes = (bytes: Buffer) => void;

/** Room before the bytes just read, for the start of the message that they complete. */
const headBytes = 65_536;
const readBytes = 32_768;

const space = Buffer.allocUnsafeSlow(headBytes + readBytes);

/** The consumer of a socket's bytes, once it is read in place. */
const consumer = Symbol('consumer');

interface Shared {
  [consumer]?: OnBytes;
}

/** On Windows each pending read needs a buffer of its own. */
const canShare = process.platform !== 'win32';

/** Opens a socket, which is an ordinary one until `readInPlace`. */
export function openSocket(options: TcpNetConnectOpts): Socket {
  if (!canShare) return connect(options);
  const callback = (length: number): boolean => {
    const bytes = space.subarray(headBytes, headBytes + length);
    const consume = socket[consumer];
    if (consume === undefined) return socket.push(Buffer.from(bytes));
    consume(bytes);
    return true;
  };
  const socket: Socket & Shared = connect({
    ...options,
    onread: { buffer: space.subarray(headBytes), callback },
  });
  return socket;
}

/** Passes all further bytes to `consume` as they are read. Removes all other listeners. */
export function readInPlace(socket: Duplex, consume: OnBytes): void {
  socket.removeAllListeners('data');
  (socket as Duplex & Shared)[consumer] = consume;
  // For bytes that were read before, and for streams on top of others, such as those of TLS and SSH.
  socket.on('data', consume);
  socket.resume();
}

/** Rows of more bytes are long; see `LongRows`. */
export const longRowBytes = 262_144;

/** Whether a long message waits for its rest, or for the next call of `join`, which returns it. */
export type LongMessage = 'begun' | 'whole' | undefined;

/** Room behind a long message, for the start of what follows it. */
const restBytes = 65_536;

/** Keeps the start of a message until the rest has arrived, and one of more than `longBytes` for one call more. */
export class Carry {
  readonly #longBytes: number;
  #start: Buffer | undefined;
  /** The length of the whole message; 0 until its header is complete. */
  #needed = 0;
  /** What has arrived of the rest. */
  readonly #rest = new Pieces();
  /** A long message, as far as it has arrived. Parts and a copy of them would take twice the memory. */
  #collected: Buffer | undefined;
  #collectedBytes = 0;
  /** The long message that `join` has returned. */
  #joined: Buffer | undefined;

  constructor(longBytes = Number.POSITIVE_INFINITY) {
    this.#longBytes = longBytes;
  }

  get long(): LongMessage {
    if (this.#collected === undefined) return undefined;
    return this.#collectedBytes < this.#needed ? 'begun' : 'whole';
  }

  /** The kept start and these bytes in one buffer; undefined if the message is still incomplete. */
  join(bytes: Buffer): Buffer | undefined {
    if (this.#collected !== undefined) return this.#collect(this.#collected, bytes);
    const start = this.#start;
    if (start === undefined) return bytes;
    if (this.#needed > start.length + this.#rest.bytes + bytes.length) {
      this.#rest.add(bytes);
      return undefined;
    }
    const whole = this.#rest.bytes === 0 ? putBefore(start, bytes) : undefined;
    const joined = whole ?? Buffer.concat([start, ...this.#rest.take(), bytes]);
    this.#start = undefined;
    return joined;
  }

  /** Frees the long message that `join` has returned. */
  free(): void {
    if (this.#joined !== undefined) freeBuffer(this.#joined);
    this.#joined = undefined;
  }

  /** Frees what has arrived of a long message, whose rest will not come. */
  close(): void {
    if (this.#collected !== undefined) freeBuffer(this.#collected);
    this.#collected = undefined;
  }

  /** Keeps the message that begins at `at`. It has `needed` bytes in total, or 0 if that is not known yet. */
  keep(bytes: Buffer, at: number, needed: number): void {
    this.#needed = needed;
    if (needed <= this.#longBytes) this.#start = Buffer.from(bytes.subarray(at));
    else {
      // Most of it is allocated when its rest arrives, for which the connection may have to wait.
      this.#collected = Buffer.allocUnsafeSlow(Math.min(needed, 2 * this.#longBytes) + restBytes);
      this.#collectedBytes = bytes.copy(this.#collected, 0, at);
    }
  }

  #collect(collected: Buffer, bytes: Buffer): Buffer | undefined {
    const wasWhole = this.long === 'whole';
    const before = this.#collectedBytes;
    this.#collectedBytes += bytes.length;
    let all = collected;
    if (this.#collectedBytes > all.length) {
      all = Buffer.allocUnsafeSlow(Math.max(this.#needed + restBytes, this.#collectedBytes));
      collected.copy(all, 0, 0, before);
      freeBuffer(collected);
    }
    bytes.copy(all, before);
    this.#collected = wasWhole ? undefined : all;
    this.#joined = wasWhole ? all : undefined;
    return wasWhole ? all.subarray(0, this.#collectedBytes) : undefined;
  }
}

/** Joins them within the shared buffer, if the bytes are in it and there is room; else undefined. */
function putBefore(start: Buffer, bytes: Buffer): Buffer | undefined {
  if (bytes.buffer !== space.buffer || start.length > headBytes) return undefined;
  start.copy(space, headBytes - start.length);
  return space.subarray(headBytes - start.length, headBytes + bytes.length);
}
