/** A relay in front of a MongoDB server that counts the messages and bytes of the wire protocol. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

export interface Wire {
  /** The URL through the relay. */
  url: string;
  commands: number;
  replyBytes: number;
  close(): void;
}

/** The lengths of messages are in their first four bytes. */
const headBytes = 4;

export async function openWire(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const server = createServer((client) => {
    const upstream = connect(Number(port || 27_017), hostname);
    const count = createCounter(() => wire.commands++);
    client.on('data', count);
    upstream.on('data', (bytes: Buffer) => {
      wire.replyBytes += bytes.length;
    });
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const wire: Wire = { url: url.href, commands: 0, replyBytes: 0, close: () => server.close() };
  return wire;
}

function createCounter(onMessage: () => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    while (rest.length >= headBytes) {
      const length = rest.readInt32LE(0);
      if (rest.length < length) return;
      onMessage();
      rest = rest.subarray(length);
    }
  };
}
