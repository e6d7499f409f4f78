/**
 * Bounds what a server sends in a TLS handshake. Every certificate is read, and every signature of their chain verified,
 * on the main thread, also if nothing is trusted, and OpenSSL takes chains of 100 kB: with long exponents half a second
 * of CPU, with unusual curves many seconds.
 */

import { createTurns } from '@datahub/service-kit/yield-to-loop';
import { HandshakeCheck } from './handshake/handshake-check.ts';
import { OverSocket } from './over-socket.ts';

/** Three times as much as the chains of public authorities, with room for a list of accepted authorities. */
const handshakeBytesMax = 24_576;
/** Handshakes that servers answer together go on in turns, which the accounts share. */
const handshakeTurn = createTurns();

/** Stands between a socket and TLS. Node reads a plain socket without asking, so it could not be stopped in time. */
export class BoundedHandshake extends OverSocket {
  /** Undefined after the handshake. */
  #left: number | undefined = handshakeBytesMax;
  /** Undefined once what follows needs no check. */
  #check: HandshakeCheck | undefined = new HandshakeCheck();
  #isPassing = false;
  /** Parts that wait for their turn. */
  #waiting = 0;

  /** Call this with each line of the log of keys, which says how to read what the server sends. */
  learn(line: Buffer): void {
    if (this.#check?.learn(line) && !this.#isPassing) this.#inOrder(() => this.#pass(Buffer.alloc(0)));
  }

  /** Call this when the handshake is over. */
  lift(): void {
    this.#left = undefined;
  }

  protected override receive(bytes: Buffer): void {
    // The reader has had what was received before.
    if (this.#check?.isOver) this.#check = undefined;
    if (this.#left !== undefined && this.#check !== undefined) this.#left -= bytes.length;
    if (this.#left !== undefined && this.#left < 0)
      this.destroy(new RangeError('The server sent too many bytes in the TLS handshake.'));
    else this.#inOrder(() => this.#pass(bytes));
  }

  /** Passes on what is known to cost little. */
  #pass(bytes: Buffer): void {
    this.#isPassing = true;
    try {
      this.pushAll(this.#check?.read(bytes) ?? [bytes]);
    } catch (err) {
      this.destroy(err as Error);
    } finally {
      this.#isPassing = false;
    }
  }

  protected override receiveEnd(): void {
    this.#inOrder(() => super.receiveEnd());
  }

  #inOrder(pass: () => unknown): void {
    if (this.#left === undefined && this.#waiting === 0) {
      pass();
      return;
    }
    this.#waiting++;
    void handshakeTurn(this.accountId).then(() => {
      this.#waiting--;
      if (!this.destroyed) pass();
    });
  }
}
