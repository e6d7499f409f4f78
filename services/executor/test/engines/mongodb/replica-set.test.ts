import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import { createAddressPolicy } from '../../../src/network/address-policy.ts';
import { createDial } from '../../../src/network/dialer.ts';
import { openSocket } from '../../../src/network/shared-read-buffer.ts';
import type { ConnectDeps, Connection, ConnectSettings, Services } from '../../../src/ports/engine.ts';
import { ask } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { converse, hello, type Replies, toReply as replyOf } from '../../hostile/rogue-mongodb.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  facts = {};
  for (const one of opened.splice(0).reverse()) one.close();
});

/** What one source has learned; another one has its own. */
let facts = {};

const forbidden = '169.254.169.254';

/** Members that name one another, and others beside; `asked` has the commands that each got. */
async function startSet(others: string[] = []) {
  const members: { rogue: Rogue; asked: string[] }[] = [];
  const names = () => members.map(({ rogue }) => `127.0.0.1:${rogue.port}`);
  const add = async (role: Document) => {
    const asked: string[] = [];
    const told = (): Document => ({
      ...hello,
      ...role,
      setName: 'rs',
      hosts: [...names(), ...others],
      primary: names()[0],
    });
    const batch = { ok: 1, cursor: { id: 0n, ns: 'shop.orders', firstBatch: [{ from: members.length }] } };
    const noted = (name: string, reply: Document) => (socket: Socket, _command: Document, id: number) => {
      asked.push(name);
      socket.write(toReply(reply, id));
    };
    const replies: Replies = {
      hello: (socket, _command, id) => void socket.write(toReply(told(), id)),
      find: noted('find', batch),
      insert: noted('insert', { ok: 1, n: 1 }),
    };
    const rogue = await startRogue(converse(replies));
    opened.push(rogue);
    members.push({ rogue, asked });
  };
  await add({ isWritablePrimary: true, secondary: false });
  await add({ isWritablePrimary: false, secondary: true });
  return members;
}

const toReply = (document: Document, id: number) => replyOf(BSON.serialize(document), id);

interface ReachOptions {
  settings?: Partial<ConnectSettings>;
  /** By name, one answer after the other; the last one stays. */
  names?: Record<string, string[]>;
  services?: Services;
}

/** An engine that dials as the hub does, and all that it dialled. */
function createReaching({ settings = {}, names = {}, services }: ReachOptions = {}) {
  const engine = createMongodbEngine();
  const dials: string[] = [];
  const resolve = async (host: string) => {
    const [first = '', ...more] = names[host] ?? [];
    if (more.length > 0) names[host] = more;
    return first === '' ? [] : [first];
  };
  const rules = { loopbackAllowed: true, privateAllowed: false, allow: [], deny: [], ownNames: [] };
  const dial = createDial({
    policy: createAddressPolicy(rules, resolve),
    accountId: 'a',
    connectTimeoutMs: 2_000,
    owns: (address, port) => engine.owns?.(address, port) ?? false,
    connect: ({ address, family }, port) => {
      dials.push(`${address}:${port}`);
      return openSocket({ host: address, port, family });
    },
  });
  const connect = async (port: number, change: Partial<ConnectSettings> = {}): Promise<Connection> => {
    const deps: ConnectDeps = { dial, facts, signal: AbortSignal.timeout(60_000) };
    if (services) deps.resolveService = async () => services;
    const connection = await engine.connect(
      {
        engine: 'mongodb',
        host: '127.0.0.1',
        port,
        database: 'shop',
        user: '',
        password: '',
        tls: { mode: 'disable' },
        ...settings,
        ...change,
      },
      deps,
    );
    opened.push(connection);
    return connection;
  };
  return { connect, dials, engine };
}

const find = JSON.stringify({ find: 'orders', filter: {} });
const insert = JSON.stringify({ insert: 'orders', documents: [{}] });

describe('a replica set', () => {
  it('is followed from any member to the primary, and to no forbidden address', async () => {
    const others = [`${forbidden}:27017`, 'metadata.test:27017', '10.0.0.1:27017'];
    const [primary, secondary] = (await startSet(others)) as [Member, Member];
    const names = { 'metadata.test': [forbidden] };
    const { connect, dials } = createReaching({ settings: { replicaSet: 'rs' }, names });
    const connection = await connect(secondary.rogue.port);
    expect((await ask(connection, find)).data).toEqual([{ from: 0 }]);
    await ask(connection, insert, { kind: 'standalone' });
    expect([primary.asked, secondary.asked]).toEqual([['find', 'insert'], []]);
    const ports = [primary.rogue.port, secondary.rogue.port].map((port) => `127.0.0.1:${port}`);
    expect(new Set(dials)).toEqual(new Set(ports));
  });

  it('is read where the read preference says, and written at the primary', async () => {
    const [primary, secondary] = (await startSet()) as [Member, Member];
    const settings = { replicaSet: 'rs', readPreference: 'secondary' } as const;
    const connection = await createReaching({ settings }).connect(primary.rogue.port);
    expect((await ask(connection, find)).data).toEqual([{ from: 1 }]);
    await ask(connection, insert, { kind: 'standalone' });
    expect([primary.asked, secondary.asked]).toEqual([['insert'], ['find']]);
  });

  it('is not looked for if one host is given without its name', async () => {
    const [primary, secondary] = (await startSet()) as [Member, Member];
    const { connect, dials } = createReaching();
    const connection = await connect(secondary.rogue.port);
    expect((await ask(connection, find)).data).toEqual([{ from: 1 }]);
    expect(dials.some((at) => at.endsWith(`:${primary.rogue.port}`))).toBe(false);
  });

  it('is found by another of its hosts when the first is down', async () => {
    const [, secondary] = (await startSet()) as [Member, Member];
    const settings = { replicaSet: 'rs', hosts: [{ host: '127.0.0.1', port: secondary.rogue.port }] };
    const connection = await createReaching({ settings }).connect(1);
    expect((await ask(connection, find)).data).toEqual([{ from: 0 }]);
  });

  it('costs one monitor a member, however many connections there are', async () => {
    const [primary, secondary] = (await startSet()) as [Member, Member];
    const { connect } = createReaching({ settings: { replicaSet: 'rs' } });
    const { port } = primary.rogue;
    const connections = [await connect(port), ...(await Promise.all([1, 2, 3, 4].map(() => connect(port))))];
    await Promise.all(connections.map((connection) => ask(connection, find)));
    expect(primary.rogue.connections()).toBeLessThanOrEqual(connections.length + 1);
    expect(secondary.rogue.connections()).toBe(1);
    for (const connection of connections) connection.close();
    await expect.poll(() => primary.rogue.connections() + secondary.rogue.connections()).toBe(0);
  });
});

interface Member {
  rogue: Rogue;
  asked: string[];
}

describe('a name', () => {
  it('is resolved for each dial, and refused if it resolves to a forbidden address', async () => {
    const [primary] = (await startSet()) as [Member];
    const names = { 'db.test': ['127.0.0.1', '127.0.0.1', forbidden] };
    const { connect, dials } = createReaching({ settings: { host: 'db.test' }, names });
    const connection = await connect(primary.rogue.port);
    const other = await connect(primary.rogue.port);
    // One socket is there, so one of the two has to be dialled.
    const asked = await Promise.allSettled([ask(connection, find), ask(other, find)]);
    expect(asked.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(dials.some((at) => at.startsWith(forbidden))).toBe(false);
  });

  it('of a service is followed to its servers', async () => {
    const [primary] = (await startSet()) as [Member];
    const { port } = primary.rogue;
    const services = { servers: [{ host: 'a.db.test', port }], texts: ['replicaSet=rs'] };
    const settings = { host: 'shop.db.test', srv: true };
    const names = { 'a.db.test': ['127.0.0.1'] };
    const connection = await createReaching({ settings, services, names }).connect(27_017);
    expect((await ask(connection, find)).data).toEqual([{ from: 0 }]);
  });

  it.each<[string, Services]>([
    ['servers of another domain', { servers: [{ host: 'a.other.test', port: 1 }], texts: [] }],
    ['no servers', { servers: [], texts: [] }],
    [
      'settings that may not come so',
      { servers: [{ host: 'a.db.test', port: 1 }], texts: ['authMechanism=PLAIN'] },
    ],
    ['what is no host', { servers: [{ host: 'x@y,z.db.test', port: 1 }], texts: [] }],
  ])('of a service that stands for %s is refused', async (_name, services) => {
    const { connect, dials } = createReaching({ settings: { host: 'shop.db.test', srv: true }, services });
    await expect(connect(27_017)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(dials).toEqual([]);
  });
});

describe('the SOCKS proxy', () => {
  it('is no source, and admits no client without its password', async () => {
    const [primary] = (await startSet()) as [Member];
    const { connect, engine, dials } = createReaching();
    await connect(primary.rogue.port);
    const port = await portOf(engine);
    facts = {};
    await expect(connect(port)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(dials.some((at) => at.endsWith(`:${port}`))).toBe(false);
    const socket = openSocket({ host: '127.0.0.1', port });
    const answered: Buffer[] = [];
    socket.on('data', (bytes) => answered.push(bytes)).on('error', () => {});
    socket.write(Buffer.from([5, 1, 2, 1, 1, 0x61, 1, 0x61]));
    await new Promise((resolve) => socket.once('close', resolve));
    expect([...Buffer.concat(answered)]).toEqual([5, 2, 1, 1]);
  });
});

async function portOf({ owns }: ReturnType<typeof createMongodbEngine>): Promise<number> {
  for (let port = 1_024; port < 65_536; port++) if (owns?.('127.0.0.1', port)) return port;
  throw new Error('no proxy');
}

describe('a log-in', () => {
  it('by PLAIN needs TLS that is verified', async () => {
    const { connect } = createReaching({ settings: { user: 'u', password: 'p', authMechanism: 'PLAIN' } });
    await expect(connect(1, { tls: { mode: 'require' } })).rejects.toMatchObject({ code: 'SOURCE_TLS' });
  });

  it('by a mechanism that dials elsewhere is not there', async () => {
    const authMechanism = 'MONGODB-AWS' as 'PLAIN';
    const { connect, dials } = createReaching({ settings: { user: 'u', password: 'p', authMechanism } });
    await expect(connect(1)).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
    expect(dials).toEqual([]);
  });
});
