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

/** Sends a command to the server, also if its client has left. Resolves to the answer, which the client has not got. */
type Forward = () => Promise<Buffer>;
/** Decides about a command. Resolves to the answer that the client gets; undefined if its connection is cut. */
type Handler = (forward: Forward) => Promise<Buffer | undefined>;

const lost: Handler = async (forward) => void (await forward());

/** A proxy that hands each command to the next handler of its name, and passes on what has none. */
async function interfering(url: string) {
  const { hostname, port } = new URL(url);
  let name = '';
  let handlers: Handler[] = [];
  let away = false;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (away) return socket.destroy();
    const upstream = connect(Number(port), hostname);
    let handled: ((answer: Buffer) => void) | undefined;
    for (const one of [socket, upstream]) sockets.add(one.on('error', () => {}));
    upstream.on('close', () => socket.destroy());
    socket.on('data', (bytes) => {
      const handler = bytes.includes(`${name}\0`) ? handlers.shift() : undefined;
      if (handler === undefined) return upstream.write(bytes);
      const forward = () =>
        new Promise<Buffer>((resolve) => {
          handled = resolve;
          upstream.write(bytes);
        });
      handler(forward).then((answer) => (answer === undefined ? socket.destroy() : socket.write(answer)));
    });
    upstream.on('data', (bytes) => {
      if (handled === undefined) socket.write(bytes);
      handled?.(bytes);
      handled = undefined;
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return {
    url: through.href,
    interfere(command: string, ...next: Handler[]) {
      [name, handlers] = [command, next];
    },
    /** The first command of this name arrives after the driver gave it up and just before its repetition. */
    overtake(command: string) {
      let late: Forward | undefined;
      const never = new Promise<undefined>(() => {});
      this.interfere(
        command,
        (forward) => {
          late = forward;
          return never;
        },
        async (forward) => {
          await late?.();
          return forward();
        },
      );
    },
    leave() {
      away = true;
      for (const socket of sockets) socket.destroy();
    },
    close: () => server.close(),
  };
}

describeMongodb(60_000, () => {
  let proxy: Awaited<ReturnType<typeof interfering>>;
  let store: DocumentStore;
  let items: Collection<Item>;
  let url: string;

  beforeEach(async () => {
    url = newDatabaseUrl();
    proxy = await interfering(url);
    store = await openMongodbStore(proxy.url, specs, {
      serverSelectionTimeoutMs: 1_000,
      socketTimeoutMs: 500,
    });
    items = store.collection('items');
    return async () => {
      await store.close();
      proxy.leave();
      proxy.close();
    };
  });
  const entries = () => store.collection('entries').find({ accountId: 'a', limit: 10 });

  it('a write whose answer was lost once is done once, and succeeds', async () => {
    proxy.interfere('insert', lost);
    await items.insert(item(), companion);
    expect(await items.get('a', 'i')).toMatchObject({ version: 1 });
    proxy.interfere('update', lost);
    expect(await items.replace(item(2))).toBe(true);
    proxy.interfere('update', lost);
    expect(
      await items.delete('a', 'i', { companion: { ...companion, doc: { ...companion.doc, id: 'f' } } }),
    ).toBe(true);
    expect((await entries()).map(({ id }) => id)).toEqual(['e', 'f']);
  });

  it('a write that meets its own late first attempt has been done', async () => {
    proxy.overtake('insert');
    await items.insert(item(), companion);
    proxy.overtake('update');
    expect(await items.replace(item(2))).toBe(true);
    proxy.overtake('delete');
    expect(await store.collection('entries').delete('a', 'e')).toBe(true);
    expect(await items.get('a', 'i')).toMatchObject({ version: 2 });
  });

  it('a write that could not be sent reports that another one has done the same', async () => {
    const other = await openMongodbStore(url, specs);
    const others = other.collection<Item>('items');
    const after = (write: () => Promise<unknown>) => async () => void (await write());
    proxy.interfere(
      'insert',
      after(() => others.insert(item())),
    );
    await expect(items.insert(item())).rejects.toMatchObject({ code: 'CONFLICT' });
    proxy.interfere(
      'update',
      after(() => others.replace(item(2))),
    );
    expect(await items.replace(item(2))).toBe(false);
    await other.close();
  });

  it('a change whose answer was lost and that another change followed has an unknown outcome', async () => {
    const other = await openMongodbStore(url, specs);
    await items.insert(item());
    proxy.interfere('update', async (forward) => {
      await forward();
      await other.collection<Item>('items').replace(item(3));
      return undefined;
    });
    await expect(items.replace(item(2))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await other.close();
  });

  it('counts what a deletion removed whose answer was lost', async () => {
    await items.insert(item());
    proxy.interfere('delete', lost);
    expect(await items.deleteMany({ accountId: 'a', limit: 10 })).toBe(1);
  });

  it('says that the outcome is unknown if no answer comes, and that nothing was changed if nothing was sent', async () => {
    proxy.interfere('insert', lost);
    const inserting = items.insert(item());
    const leaving = setInterval(() => proxy.leave(), 1);
    await expect(inserting).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    clearInterval(leaving);
    await expect(items.insert({ ...item(), id: 'j' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
    });
  });

  it('moves the entries that a crash left in an outbox once, in whichever process comes first', async () => {
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
