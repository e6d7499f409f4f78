/**
 * One connection through a bastion. The library's channels are never destroyed and emit `close` only when the other side
 * agrees; this stream ends at once, like a socket.
 */

import { Duplex } from 'node:stream';
import type { ClientChannel } from 'ssh2';

export class ChannelStream extends Duplex {
  readonly #channel: ClientChannel;

  constructor(channel: ClientChannel) {
    super({ allowHalfOpen: false });
    this.#channel = channel;
    channel.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) channel.pause();
    });
    channel.on('end', () => this.push(null));
    channel.on('close', () => this.destroy());
    channel.on('error', (err: Error) => this.destroy(err));
    // Bastions send nothing here.
    channel.stderr.resume();
  }

  override _read(): void {
    this.#channel.resume();
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#channel.write(bytes, encoding, done);
  }

  override _final(done: () => void): void {
    this.#channel.end();
    done();
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#channel.removeAllListeners('data').resume();
    this.#channel.destroy();
    // A socket emits `close` after its loop of events, so that whoever destroyed it can report its own error first.
    setImmediate(done, err);
  }

  /** What the channel has received and nothing has read yet. */
  get unreadBytes(): number {
    return this.#channel.readableLength;
  }
}
