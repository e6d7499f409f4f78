import { Duplex } from 'node:stream';
import { createTurnClock, createTurns } from '@datahub/service-kit/yield-to-loop';
import type { ServerStream } from '../ports/server-stream.ts';

/**
 * What its reader gets at once. Node reads up to 2 MiB of a socket in one turn of the event loop, and TLS and SSH handle all
 * records and packets of it: 58,000 of the smallest took more than a second. Of a slice they have 20 ms.
 */
const sliceBytes = 8_192;
/** All such sockets together have so much time in a turn. Then their accounts take turns. */
const clock = createTurnClock(4);
const readTurn = createTurns();

/** Stands between a connected socket and what reads it, and passes bytes on a little at a time. */
export abstract class OverSocket extends Duplex {
  readonly accountId: string;
  readonly #socket: Duplex;
  /** What is passed on next, and then what happens. */
  readonly #steps: (Iterator<Buffer> | (() => void))[] = [];
  /** The rest of a part. */
  #rest: Buffer | undefined;
  /** False once the reader has enough for now. */
  #isWanted = true;
  #isPassing = false;
  #hasTurn = true;

  constructor(socket: ServerStream, { allowHalfOpen = true } = {}) {
    super({ allowHalfOpen, readableHighWaterMark: sliceBytes });
    this.accountId = socket.accountId ?? '';
    this.#socket = socket;
    socket
      .on('data', (bytes: Buffer) => this.receive(bytes))
      .on('end', () => this.receiveEnd())
      .on('error', (err) => this.#destroyAfterParts(err))
      // What was sent before the end can still be on its way.
      .on('close', () => socket.readableEnded || this.#destroyAfterParts());
  }

  protected abstract receive(bytes: Buffer): void;

  protected receiveEnd(): void {
    this.#steps.push(() => this.push(null));
    this.#pass();
  }

  /**
   * Pushes all parts, unless one of them lets the reader end the stream. A part is made when the reader has had the one
   * before. If making it fails, the stream is destroyed.
   */
  protected pushAll(parts: Iterable<Buffer>): void {
    this.#steps.push(parts[Symbol.iterator]());
    this.#pass();
  }

  /** An error does not overtake what was sent before, unless the reader does not want it. */
  #destroyAfterParts(err?: Error): void {
    if (!this.#isWanted) {
      this.destroy(err);
      return;
    }
    this.#steps.push(() => this.destroy(err));
    this.#pass();
  }

  #pass(): void {
    if (this.#isPassing || !this.#hasTurn) return;
    this.#isPassing = true;
    try {
      while (this.#steps.length > 0 && this.#isWanted && !this.destroyed && !clock.isSpent) this.#passNext();
    } catch (err) {
      this.destroy(err as Error);
    }
    this.#isPassing = false;
    if (this.destroyed) return;
    if (this.#steps.length > 0) {
      this.#socket.pause();
      if (this.#isWanted) this.#waitForTurn();
    } else if (this.#isWanted) this.#socket.resume();
    else this.#socket.pause();
  }

  #passNext(): void {
    const [step] = this.#steps;
    const part =
      this.#rest ?? (typeof step === 'function' ? undefined : (step?.next().value as Buffer | undefined));
    if (part === undefined) {
      this.#steps.shift();
      if (typeof step === 'function') step();
      return;
    }
    this.#rest = part.length > sliceBytes ? part.subarray(sliceBytes) : undefined;
    clock.begin();
    this.#isWanted = this.push(part.subarray(0, sliceBytes));
  }

  #waitForTurn(): void {
    this.#hasTurn = false;
    void readTurn(this.accountId).then(() => {
      this.#hasTurn = true;
      this.#pass();
    });
  }

  override _read(): void {
    this.#isWanted = true;
    this.#pass();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _writev(
    parts: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (err?: Error | null) => void,
  ): void {
    this.#socket.cork();
    for (const { chunk } of parts.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(parts.at(-1)?.chunk, done);
    this.#socket.uncork();
  }

  override _final(done: () => void): void {
    // It ends by itself once the server has ended.
    if (this.#socket.writableEnded) done();
    else this.#socket.end(done);
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#socket.destroy();
    done(err);
  }
}

/**
 * Passes bytes on in small pieces. Node's HTTP parser reads all that it is given, also after an answer in it has ended the
 * request.
 */
export class InPieces extends OverSocket {
  protected override receive(bytes: Buffer): void {
    this.pushAll(piecesOf(bytes));
  }
}

const pieceBytes = 1_024;

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
