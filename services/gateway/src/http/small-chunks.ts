/** Reads bodies that arrive in chunks of any size, at a cost that depends on their bytes. */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { IncomingMessage } from '@datahub/service-kit/node-http';
import { createTurns } from '@datahub/service-kit/yield-to-loop';

/** The first chunks of a body, and chunks of this size, are passed on without a copy. */
const uncopiedChunks = 16;
const uncopiedBytes = 1_024;
const blockBytes = 16_384;
/** If one slice of a read holds more small chunks, the next slice of its connection waits for its turn. */
const sliceChunksMax = 256;
/** A body with more chunks is refused if they have less than the mean size. */
const freeChunks = 4_096;
const meanBytesMin = 8;
/** The most connections that wait for their turn. Each one holds up to 128 KiB. */
const waitingMax = 256;

/** What the requests of one listener share. */
interface ListenerPart {
  /** Answers and closes the connection. */
  refuse: (request: IncomingMessage) => void;
  /** Returns false if too many wait. */
  takeTurn: (resume: () => void) => boolean;
}

/** For `createServer({ IncomingMessage })`. `refuse` answers and closes the connection. */
export function createCompactRequest(refuse: ListenerPart['refuse']): typeof IncomingMessage {
  const listener = { refuse, takeTurn: createBoundedTurns() };
  return class extends CompactRequest {
    constructor(socket: Socket) {
      super(socket, listener);
    }
  };
}

/** Node skips `push`, and so the bounds on small chunks, for a body that the app has not begun to read. */
export function countUnreadChunks(request: IncomingMessage, response: ServerResponse): void {
  request.read(0);
  response.on('finish', () => {
    if (!request.complete && request.listenerCount('data') === 0) request.resume();
  });
}

/**
 * A request whose body may arrive in chunks of any size. Node calls `push` for each chunk, and one read of a socket can
 * hold 10,922 chunks of one byte. Small chunks are copied into a block, because each Buffer that is kept costs some 200
 * bytes. Reads are parsed in slices, and connections with many small chunks take turns, so that one turn of the event
 * loop parses one slice of them and the first slices of new connections.
 */
class CompactRequest extends IncomingMessage {
  readonly #listener: ListenerPart;
  #block: Buffer | undefined;
  #filled = 0;
  #chunks = 0;
  #bytes = 0;
  #chunksOfSlice = 0;
  #isReadWanted = false;

  constructor(socket: Socket, listener: ListenerPart) {
    super(socket);
    this.#listener = listener;
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#pass();
      return super.push(null);
    }
    this.#chunks++;
    this.#bytes += chunk.length;
    if (this.#chunks <= uncopiedChunks) return super.push(chunk);
    if (this.#chunks > freeChunks && this.#bytes < this.#chunks * meanBytesMin) return this.#refuse();
    if (chunk.length >= uncopiedBytes) {
      this.#pass();
      return super.push(chunk);
    }
    this.#copy(chunk);
    return !this.#mustWait() && this.readableLength + this.#filled < this.readableHighWaterMark;
  }

  override _read(size: number): void {
    if (this.#mustWait()) this.#isReadWanted = true;
    else super._read(size);
  }

  #copy(chunk: Buffer): void {
    // Node runs the tick queue after each chunk, so only an immediate runs after the whole slice.
    if (this.#chunksOfSlice++ === 0) setImmediate(() => this.#endSlice());
    if (this.#filled + chunk.length > blockBytes) this.#pass();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    if (chunk.length === 1) this.#block[this.#filled] = chunk[0] as number;
    else chunk.copy(this.#block, this.#filled);
    this.#filled += chunk.length;
  }

  #pass(): void {
    if (this.#filled === 0 || this.#block === undefined) return;
    const bytes = Buffer.from(this.#block.subarray(0, this.#filled));
    this.#filled = 0;
    super.push(bytes);
  }

  #mustWait(): boolean {
    return this.#chunksOfSlice > sliceChunksMax;
  }

  /** Runs after a slice with small chunks. */
  #endSlice(): void {
    if (!this.destroyed && !this.readableEnded) this.#pass();
    if (!this.#mustWait()) this.#chunksOfSlice = 0;
    else if (!this.#listener.takeTurn(() => this.#beginSlice())) this.#refuse();
  }

  #beginSlice(): void {
    this.#chunksOfSlice = 0;
    if (this.#isReadWanted && !this.destroyed && !this.complete) super._read(0);
    this.#isReadWanted = false;
  }

  #refuse(): boolean {
    this.#block = undefined;
    this.#filled = 0;
    if (!this.destroyed) this.#listener.refuse(this);
    return false;
  }
}

/** Returns a function that calls each resumption in a turn of the event loop of its own, in their order. */
function createBoundedTurns(): ListenerPart['takeTurn'] {
  const nextTurn = createTurns();
  let waiting = 0;
  return (resume) => {
    if (waiting === waitingMax) return false;
    waiting++;
    void nextTurn().then(() => {
      waiting--;
      resume();
    });
    return true;
  };
}
