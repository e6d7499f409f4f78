/** Servers that speak a protocol as far as it takes to do harm. */

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface Rogue {
  port: number;
  /** All that clients sent, as one byte a character. */
  received(): string;
  /** How many clients are connected. */
  connections(): number;
  close(): void;
}

export async function startRogue(play: (socket: Socket) => void): Promise<Rogue> {
  const sockets = new Set<Socket>();
  let received = '';
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    play(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    connections: () => sockets.size,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const floodBytes = 65_536;

/** Sends the same bytes as long as the other side takes them, with a breath for those who share this process. */
export function flood(socket: Socket, part: Buffer): void {
  const copies = Math.ceil(floodBytes / part.length);
  const bytes = copies === 1 ? part : Buffer.concat(new Array(copies).fill(part));
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', () => setTimeout(more, 2));
  more();
}

/** Sends the bytes one by one, and again from the start. */
export function drip(socket: Socket, bytes: Buffer, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(bytes.subarray(at, at + 1));
    at = (at + 1) % bytes.length;
  }, everyMs);
}

export const noise = Buffer.from(Array.from({ length: 65_536 }, (_, i) => (i * i * 7 + (i >> 3)) & 0xff));

/** Hands on each whole message of a client. */
export function cut(
  socket: Socket,
  lengthOf: (bytes: Buffer) => number,
  take: (message: Buffer) => void,
): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (let length = lengthOf(rest); length > 0 && rest.length >= length; length = lengthOf(rest)) {
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(message);
    }
  });
}
