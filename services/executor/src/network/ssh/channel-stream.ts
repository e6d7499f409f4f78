/**
 * One connection through a bastion. The library's channels are never destroyed and emit `close` only when the other side
 * agrees; this stream ends at once, like a socket.
 */

import { Duplex } from 'node:stream';
import type { ClientChannel } from 'ssh2';
import { Pieces } from '../pieces.ts';

/** More waits in pieces that are put together. */
const readAheadBytes = 8_192;

/** What the library's types leave out: it calls `push` with what arrives, and `_read` grants a window. */
type Channel = ClientChannel & Pick<Duplex, 'push' | '_read'>;

export class ChannelStream extends Duplex {
  readonly accountId: string | undefined;
  readonly #channel: Channel;
  readonly #onBytes: (bytes: number) => void;
  /** What has arrived while the reader had enough, and what of it is passed on next. */
  readonly #unread = new Pieces();
  #next: Buffer[] = [];
  /** Of both. */
  #unreadBytes = 0;
  #isWanted = true;
  #hasEnded = false;

  /** `onBytes` is called with the number of bytes of what arrives. */
  constructor(
    channel: ClientChannel,
    { accountId, onBytes }: { accountId: string | undefined; onBytes: (bytes: number) => void },
  ) {
    super({ allowHalfOpen: false, readableHighWaterMark: readAheadBytes });
    this.accountId = accountId;
    this.#channel = channel as Channel;
    this.#onBytes = onBytes;
    const { push } = this.#channel;
    // A channel keeps each packet by itself, and a packet with few bytes takes 330 in memory.
    this.#channel.push = (bytes: Buffer | null) =>
      bytes === null ? push.call(channel, null) : this.#receive(bytes);
    channel.on('end', () => this.#end());
    channel.on('close', () => this.#end());
    channel.on('error', (err: Error) => this.destroy(err));
    channel.resume();
    // Bastions send nothing here.
    channel.stderr.resume();
  }

  /** False if the library must grant no window. */
  #receive(bytes: Buffer): boolean {
    if (this.destroyed || this.#hasEnded) return true;
    this.#onBytes(bytes.length);
    if (this.#isWanted) this.#isWanted = this.push(bytes);
    else {
      this.#unread.add(bytes);
      this.#unreadBytes += bytes.length;
    }
    return this.#isWanted;
  }

  #end(): void {
    this.#hasEnded = true;
    if (this.#unreadBytes === 0) this.push(null);
  }

  override _read(): void {
    this.#isWanted = true;
    while (this.#isWanted && this.#unreadBytes > 0) {
      if (this.#next.length === 0) this.#next = this.#unread.take();
      const bytes = this.#next.shift() as Buffer;
      this.#unreadBytes -= bytes.length;
      this.#isWanted = this.push(bytes);
    }
    if (this.#unreadBytes > 0) return;
    if (this.#hasEnded) this.push(null);
    else this.#channel._read(readAheadBytes);
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#channel.write(bytes, encoding, done);
  }

  override _final(done: () => void): void {
    this.#channel.end();
    done();
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#channel.destroy();
    // A socket emits `close` after its loop of events, so that whoever destroyed it can report its own error first.
    setImmediate(done, err);
  }

  /** What the channel has received and nothing has read yet. */
  get unreadBytes(): number {
    return this.#unreadBytes;
  }
}
