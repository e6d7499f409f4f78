/**
 * Bytes from sources, read in place. All sockets read into one space: what comes is taken within the call that says so,
 * and none of them reads meanwhile. A buffer for each read would be 64 KiB of garbage, whatever came, and as much again
 * where the start of a message waits for its end.
 */

import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** `bytes` are valid during the call only. */
export type OnBytes = (bytes: Buffer) => void;

/** Room before what is read, for the start of a message whose end has come. */
const headBytes = 65_536;
const readBytes = 32_768;

const space = Buffer.allocUnsafeSlow(headBytes + readBytes);
const inPlace = new WeakMap<Socket, OnBytes>();

/** Windows is given the place of what is yet to come, for each socket one. */
const canShare = process.platform !== 'win32';

/** Opens a socket. Until somebody reads it in place it is like any other. */
export function openSocket(options: TcpNetConnectOpts): Socket {
  if (!canShare) return connect(options);
  const callback = (length: number): boolean => {
    const bytes = space.subarray(headBytes, headBytes + length);
    const take = inPlace.get(socket);
    if (take === undefined) return socket.push(Buffer.from(bytes));
    take(bytes);
    return true;
  };
  const socket: Socket = connect({ ...options, onread: { buffer: space.subarray(headBytes), callback } });
  return socket;
}

/** From here on all that comes is handed to `take` as it is read, and nobody else listens. */
export function readInPlace(socket: Socket, take: OnBytes): void {
  socket.removeAllListeners('data');
  inPlace.set(socket, take);
  // What had come before, and what other sockets hand on, such as those with TLS.
  socket.on('data', take);
  socket.resume();
}

/** The start of a message, kept until its end has come. */
export class Carry {
  #start: Buffer | undefined;
  /** Bytes of the whole message; 0 when its header is not there. */
  #needed = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;

  /** What is there to be read with these bytes; undefined where it is still too little. */
  join(bytes: Buffer): Buffer | undefined {
    const start = this.#start;
    if (start === undefined) return bytes;
    if (this.#needed > start.length + this.#partBytes + bytes.length) {
      this.#parts.push(Buffer.from(bytes));
      this.#partBytes += bytes.length;
      return undefined;
    }
    const whole = this.#partBytes === 0 ? putBefore(start, bytes) : undefined;
    const joined = whole ?? Buffer.concat([start, ...this.#parts, bytes]);
    this.#start = undefined;
    this.#parts = [];
    this.#partBytes = 0;
    return joined;
  }

  /** The message that begins at `at` is not whole; it takes `needed` bytes, 0 where that is not known yet. */
  keep(bytes: Buffer, at: number, needed: number): void {
    this.#start = Buffer.from(bytes.subarray(at));
    this.#needed = needed;
  }
}

/** In the space, where that is where the bytes are and there is room. */
function putBefore(start: Buffer, bytes: Buffer): Buffer | undefined {
  if (bytes.buffer !== space.buffer || start.length > headBytes) return undefined;
  start.copy(space, headBytes - start.length);
  return space.subarray(headBytes - start.length, headBytes + bytes.length);
}
