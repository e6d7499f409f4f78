import type { Socket } from 'node:net';
import { OverSocket } from '../over-socket.ts';

/** A connected socket that the library for SSH reads a little at a time. */
export class PacedSocket extends OverSocket {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super(socket, { allowHalfOpen: false });
    this.#socket = socket;
  }

  /** What the library has written and the bastion has not taken. */
  get unsentBytes(): number {
    return this.writableLength + this.#socket.writableLength;
  }

  protected override receive(bytes: Buffer): void {
    this.pushAll([bytes]);
  }
}
