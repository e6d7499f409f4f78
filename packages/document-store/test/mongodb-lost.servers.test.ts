import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { MongoClient } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { describeMongodb, newDatabaseUrl } from '../../../tests/support/mongodb.ts';
import type { Collection, Doc, DocumentStore } from '../src/index.ts';
import { openMongodbStore } from '../src/mongodb/store.ts';

interface Item extends Doc {
  label: string;
}
const specs = [{ name: 'items', indexes: ['label'], outbox: true }, { name: 'entries' }];
const item = (version = 1): Item => ({ id: 'i', accountId: 'a', version, label: `v${version}` });
const companion = { collection: 'entries', doc: { id: 'e', accountId: 'a', version: 1 } };

/** Hands on what a command of this name asks, and cuts the connection instead of handing on the answer. */
async function losing(url: string) {
  const { hostname, port } = new URL(url);
  let losses = 0;
  let name = '';
  let away = false;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (away) return socket.destroy();
    const upstream = connect(Number(port), hostname);
    let lost = false;
    for (const one of [socket, upstream]) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => [socket, upstream].map((each) => each.destroy()));
    }
    socket.on('data', (bytes) => {
      lost = losses > 0 && bytes.includes(`${name}\0`);
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!lost) return socket.write(bytes);
      losses--;
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return {
    url: through.href,
    lose(command: string, count: number) {
      name = command;
      losses = count;
    },
    leave() {
      away = true;
      for (const socket of sockets) socket.destroy();
    },
    close: () => server.close(),
  };
}

describeMongodb(60_000, () => {
  let proxy: Awaited<ReturnType<typeof losing>>;
  let store: DocumentStore;
  let items: Collection<Item>;
  let url: string;

  beforeEach(async () => {
    url = newDatabaseUrl();
    proxy = await losing(url);
    store = await openMongodbStore(proxy.url, specs, { serverSelectionTimeoutMs: 1_000 });
    items = store.collection('items');
    return async () => {
      await store.close();
      proxy.leave();
      proxy.close();
    };
  });
  const entries = () => store.collection('entries').find({ accountId: 'a', limit: 10 });

  it('a write whose answer was lost once is done once, and told so', async () => {
    proxy.lose('insert', 1);
    await items.insert(item(), companion);
    expect(await items.get('a', 'i')).toMatchObject({ version: 1 });
    proxy.lose('update', 1);
    expect(await items.replace(item(2))).toBe(true);
    proxy.lose('update', 1);
    expect(
      await items.delete('a', 'i', { companion: { ...companion, doc: { ...companion.doc, id: 'f' } } }),
    ).toBe(true);
    expect((await entries()).map(({ id }) => id)).toEqual(['e', 'f']);
  });

  it('says that the outcome is unknown where no answer comes, and that nothing was changed where nothing was sent', async () => {
    proxy.lose('insert', 1);
    const inserting = items.insert(item());
    const leaving = setInterval(() => proxy.leave(), 1);
    await expect(inserting).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    clearInterval(leaving);
    await expect(items.insert({ ...item(), id: 'j' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
    });
  });

  it('brings to its place what a crash left in an outbox, once, whoever comes first', async () => {
    await items.insert(item());
    const client = new MongoClient(url);
    const kept = client.db().collection<{ _id: string; version: number; accountId: string }>('items');
    const outbox = (id: string) => ({
      pending: `entries a/${id}`,
      outbox: {
        collection: 'entries',
        kept: {
          _id: `a/${id}`,
          accountId: 'a',
          id,
          version: 1,
          body: `{"id":"${id}","accountId":"a","version":1}`,
        },
      },
    });
    await kept.updateOne({ _id: 'a/i' }, { $set: outbox('left') });
    await items.replace(item(2), companion);
    expect((await entries()).map(({ id }) => id)).toEqual(['e', 'left']);

    await kept.updateOne({ _id: 'a/i' }, { $set: { ...outbox('last'), version: -1, accountId: 'a/' } });
    expect(await items.get('a', 'i')).toBeNull();
    await Promise.all([store.settle(), store.settle()]);
    expect((await entries()).map(({ id }) => id)).toEqual(['e', 'last', 'left']);
    expect(await kept.findOne({ _id: 'a/i' })).toBeNull();
    await client.close();
  });
});
