import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import type { CollectionSpec, Doc } from '../../src/index.ts';
import { formatVersion, openDocumentStore } from '../../src/index.ts';
import { openMongodbStore } from '../../src/mongodb/store.ts';
import { describeDocumentStore } from '../conformance/index.ts';

const unavailable = expect.objectContaining({ code: 'UNAVAILABLE' });
/** The driver waits this long for a server unless it is told otherwise. */
const driverTimeoutMs = 30_000;
const specs: CollectionSpec[] = [{ name: 'notes', indexes: ['topic'] }];

interface Note extends Doc {
  topic: string;
  stars?: number;
}

// A small stand-in for a server does some hundred operations a second, and a tenth of that beside other tests.
describeMongodb(240_000, () => {
  describeDocumentStore('MongoDB', (conformanceSpecs) =>
    openDocumentStore(newDatabaseUrl(), conformanceSpecs),
  );

  it('shows a write of one replica to the next read of another', async () => {
    const url = newDatabaseUrl();
    const [one, two] = [await openMongodbStore(url, specs), await openMongodbStore(url, specs)];
    await one.collection<Note>('notes').insert({ id: 'n', accountId: 'a', version: 1, topic: 't' });
    expect(await two.collection<Note>('notes').get('a', 'n')).toMatchObject({ topic: 't' });
    await one.close();
    await expect(one.collection('notes').get('a', 'n')).rejects.toEqual(unavailable);
    await two.close();
  });

  it('derives fields anew when a collection gets more of them, and refuses a newer format', async () => {
    const url = newDatabaseUrl();
    const old = await openMongodbStore(url, [{ name: 'notes' }]);
    await old.collection<Note>('notes').insert({ id: 'n', accountId: 'a', version: 1, topic: 't' });
    await old.close();
    const store = await openMongodbStore(url, [{ ...specs[0], name: 'notes', counters: ['stars'] }]);
    expect(await store.collection('notes').count({ accountId: 'a', where: { topic: 't' } })).toBe(1);
    expect(await store.collection('notes').add('a', 'n', { counter: 'stars', by: 1 })).toBe(1);
    await store.close();
    const client = new MongoClient(url);
    const meta = client.db().collection<{ _id: string; format: number }>('datahub_meta');
    const set = (format: number) => meta.updateOne({ _id: 'format' }, { $set: { format } });
    await set(1);
    await (await openMongodbStore(url, specs)).close();
    expect(await meta.findOne({ _id: 'format' })).toMatchObject({ format: formatVersion });
    await set(formatVersion + 1);
    await client.close();
    await expect(openMongodbStore(url, specs)).rejects.toThrow(/format 3.*Start a newer version/);
  });
});

/**
 * Stands between store and server. Until `mend`, `cut` ends every connection and each new one, and `hush` lets no byte
 * pass.
 */
async function proxied(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let whole = true;
  let silent = false;
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    if (!whole) return socket.destroy();
    const upstream = connect(Number(port || 27017), hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      // What arrives in the silence is lost, and with it the connection.
      from.on('data', (bytes) => silent || to.write(bytes));
    }
    return socket;
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return {
    url: through.href,
    cut() {
      whole = false;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    hush() {
      silent = true;
    },
    mend() {
      whole = true;
      silent = false;
    },
    connections: () => connections,
    close: () => server.close(),
  };
}

describeMongodb(60_000, () => {
  it.each(['cut', 'hush'] as const)(
    'fails at once while the server is away (%s), and heals',
    async (fault) => {
      const proxy = await proxied(newDatabaseUrl());
      const store = await openMongodbStore(proxy.url, specs);
      const notes = store.collection<Note>('notes');
      const note = (id: string) => ({ id, accountId: 'a', version: 1, topic: 't' });
      await notes.insert(note('before'));
      proxy[fault]();
      const [read, written] = await Promise.allSettled([
        notes.get('a', 'before'),
        notes.insert(note('during')),
      ]);
      expect(read).toEqual({ status: 'rejected', reason: unavailable });
      // On a connection that is found to be cut the write may have got through.
      const code = expect.stringMatching('^(UNAVAILABLE|OUTCOME_UNKNOWN)$');
      expect(written).toMatchObject({ status: 'rejected', reason: { code } });
      const isOpen = () => expect.poll(() => store.health().catch((err) => err.code), { timeout: 60_000 });
      await isOpen().toBe('UNAVAILABLE');
      // The driver would wait for a second and a half at least in each of these calls.
      const startMs = performance.now();
      for (let i = 0; i < 200; i++) await expect(notes.insert(note(`${i}`))).rejects.toEqual(unavailable);
      expect(performance.now() - startMs).toBeLessThan(driverTimeoutMs);
      proxy.mend();
      await isOpen().toBeUndefined();
      expect(await notes.get('a', 'before')).toMatchObject({ topic: 't' });
      await notes.insert(note('after'));
      await store.close();
      proxy.cut();
      proxy.close();
    },
  );

  it('keeps its connections if a new one gets an answer', async () => {
    const proxy = await proxied(newDatabaseUrl());
    const store = await openMongodbStore(proxy.url, specs);
    proxy.cut();
    proxy.mend();
    const notes = store.collection<Note>('notes');
    const lost = await notes.insert({ id: 'n', accountId: 'a', version: 1, topic: 't' }).catch((err) => err);
    expect(lost).toBeUndefined();
    await store.health();
    await store.close();
    proxy.cut();
    proxy.close();
  });
});

describe('without a server', () => {
  it('says in bounded time that the store cannot be reached', async () => {
    const startMs = performance.now();
    const opening = openMongodbStore('mongodb://127.0.0.1:1/', specs, { serverSelectionTimeoutMs: 300 });
    await expect(opening).rejects.toEqual(unavailable);
    expect(performance.now() - startMs).toBeLessThan(driverTimeoutMs);
  });

  it('gives up on a server that accepts and never answers', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const opening = openMongodbStore(`mongodb://127.0.0.1:${port}/`, specs, {
      serverSelectionTimeoutMs: 500,
    });
    await expect(opening).rejects.toEqual(unavailable);
    server.close();
  });
});
