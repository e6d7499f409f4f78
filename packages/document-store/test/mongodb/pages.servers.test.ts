import { connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import type { Doc } from '../../src/index.ts';
import { openMongodbStore } from '../../src/mongodb/store.ts';

interface Item extends Doc {
  text: string;
}

/** A proxy that counts what the server sends. */
async function counting(url: string) {
  const count = { bytes: 0, url };
  const { hostname, port } = new URL(url);
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    upstream.on('data', ({ length }) => (count.bytes += length));
    socket.pipe(upstream).pipe(socket);
    for (const one of [socket, upstream]) one.on('error', () => {});
  }).listen(0, '127.0.0.1');
  server.unref();
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  count.url = through.href;
  return count;
}

describeMongodb(60_000, () => {
  it('a bounded page has the server send little more than what it holds', async () => {
    const count = await counting(newDatabaseUrl());
    const store = await openMongodbStore(count.url, [{ name: 'items' }]);
    const items = store.collection<Item>('items');
    const [accountId, text] = ['a', 'x'.repeat(50_000)];
    for (let i = 0; i < 60; i++) await items.insert({ id: `i${i + 10}`, accountId, version: 1, text });
    count.bytes = 0;
    const page = await items.find({ accountId, limit: 60, charactersMax: 1_000_000 });
    expect(page).toHaveLength(20);
    expect(count.bytes).toBeLessThan(1_300_000);
    count.bytes = 0;
    expect(await items.scan({ limit: 60, charactersMax: 1_000_000 })).toHaveLength(20);
    expect(count.bytes).toBeLessThan(1_300_000);
    await store.close();
  });
});
