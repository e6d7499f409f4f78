import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { describeMongodb, newDatabaseUrl } from '../../../../tests/support/mongodb.ts';
import type { CollectionSpec, Doc } from '../../src/index.ts';
import { openDocumentStore } from '../../src/index.ts';
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
    await client
      .db()
      .collection<{ _id: string }>('datahub_meta')
      .updateOne({ _id: 'format' }, { $set: { format: 2 } });
    await client.close();
    await expect(openMongodbStore(url, specs)).rejects.toThrow(/format 2.*Start a newer version/);
  });
});

/** Stands between store and server; `cut` ends every connection and refuses new ones until `mend`. */
async function proxied(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((socket) => {
    if (!whole) return socket.destroy();
    const upstream = connect(Number(port || 27017), hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
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
    mend() {
      whole = true;
    },
    close: () => server.close(),
  };
}

describeMongodb(60_000, () => {
  it('answers UNAVAILABLE in bounded time while the server is away, and heals', async () => {
    const proxy = await proxied(newDatabaseUrl());
    const store = await openMongodbStore(proxy.url, specs, { serverSelectionTimeoutMs: 1_500 });
    const notes = store.collection<Note>('notes');
    await notes.insert({ id: 'before', accountId: 'a', version: 1, topic: 't' });
    proxy.cut();
    const startMs = performance.now();
    const results = await Promise.allSettled([
      notes.get('a', 'before'),
      notes.insert({ id: 'during', accountId: 'a', version: 1, topic: 't' }),
      store.health(),
    ]);
    const [read, written, health] = results;
    for (const result of [read, health]) expect(result).toEqual({ status: 'rejected', reason: unavailable });
    // On a connection that is found to be cut the write may have got through.
    const code = expect.stringMatching('^(UNAVAILABLE|OUTCOME_UNKNOWN)$');
    expect(written).toMatchObject({ status: 'rejected', reason: { code } });
    expect(performance.now() - startMs).toBeLessThan(driverTimeoutMs);
    proxy.mend();
    await expect
      .poll(
        () =>
          store.health().then(
            () => 'well',
            () => 'away',
          ),
        { timeout: 60_000 },
      )
      .toBe('well');
    expect(await notes.get('a', 'before')).toMatchObject({ topic: 't' });
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
