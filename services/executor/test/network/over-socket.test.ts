import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PacedSocket } from '../../src/network/ssh/paced-socket.ts';

const sockets: Socket[] = [];
let server: Server;

beforeEach(async () => {
  server = createServer((socket) => sockets.push(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

async function pair(accountId = 'a'): Promise<[paced: PacedSocket, other: Socket]> {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const [[other]] = (await Promise.all([accepted, once(socket, 'connect')])) as [[Socket], unknown];
  return [new PacedSocket(Object.assign(socket, { accountId })).on('error', () => {}), other];
}

const compute = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

describe('a paced socket', () => {
  it('lets others have turns while a slow reader reads what two servers have sent', async () => {
    const pairs = [await pair(), await pair()];
    let readInTurn = 0;
    let mostInTurn = 0;
    let read = 0;
    for (const [paced, other] of pairs) {
      paced.on('data', ({ length }: Buffer) => {
        read += length;
        mostInTurn = Math.max(mostInTurn, ++readInTurn);
        compute(3);
      });
      other.write(Buffer.alloc(131_072));
    }
    while (read < 262_144) {
      readInTurn = 0;
      await new Promise(setImmediate);
    }
    expect(mostInTurn).toBeLessThanOrEqual(3);
  });

  it('lets the sockets of another account not wait for each of an account', async () => {
    const flooded: Awaited<ReturnType<typeof pair>>[] = [];
    for (let i = 0; i < 40; i++) flooded.push(await pair());
    let slices = 0;
    for (const [paced, other] of flooded) {
      paced.on('data', () => {
        slices++;
        compute(5);
      });
      other.write(Buffer.alloc(131_072));
    }
    const [paced, other] = await pair('b');
    await expect.poll(() => slices, { interval: 1 }).toBeGreaterThan(40);
    const before = slices;
    other.write('small');
    await once(paced, 'data');
    expect(slices - before).toBeLessThan(10);
  });

  it('passes on all bytes in order, then the end', async () => {
    const [paced, other] = await pair();
    const parts: Buffer[] = [];
    paced.on('data', (part: Buffer) => parts.push(part));
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    other.end(sent);
    await once(paced, 'close');
    expect(Buffer.concat(parts).equals(sent)).toBe(true);
  });

  it('counts what the other side does not take', async () => {
    const [paced, other] = await pair();
    other.pause();
    for (let i = 0; i < 200; i++) paced.write(Buffer.alloc(65_536));
    await expect.poll(() => paced.unsentBytes).toBeGreaterThan(1_048_576);
    other.resume();
    await expect.poll(() => paced.unsentBytes).toBe(0);
  });

  it('ends when the connection breaks', async () => {
    const [paced, other] = await pair();
    other.resetAndDestroy();
    await expect.poll(() => paced.closed).toBe(true);
  });
});
