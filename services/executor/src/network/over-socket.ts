import { Duplex } from 'node:stream';

/** Stands between a connected socket and what reads it, and decides how bytes are passed on. */
export abstract class OverSocket extends Duplex {
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket
      .on('data', (bytes: Buffer) => this.receive(bytes))
      .on('end', () => this.receiveEnd())
      .on('error', (err) => this.destroy(err))
      // What was sent before the end can still be on its way.
      .on('close', () => socket.readableEnded || this.destroy());
  }

  protected abstract receive(bytes: Buffer): void;

  protected receiveEnd(): void {
    this.push(null);
  }

  /** Pushes all parts, unless one of them lets the reader end the stream. */
  protected pushAll(parts: Iterable<Buffer>): void {
    let takesMore = true;
    for (const part of parts) {
      if (this.destroyed) return;
      takesMore = this.push(part) && takesMore;
    }
    if (!takesMore) this.#socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
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
