import { gzip } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLocalNames } from '../../src/network/host-names.ts';
import { createNameServerQuery, createResolve } from '../../src/network/resolver.ts';
import { startNameServer } from './name-server.ts';

const asker = (accountId = 'account', signal = new AbortController().signal) => ({ accountId, signal });
const noFiles = createLocalNames({ hosts: '/nowhere', resolvConf: '/nowhere' });
const unknown = async () => [];
const never = () => new Promise<never>(() => {});

test('the system is asked only for names that the name servers do not know', async () => {
  const querySystem = vi.fn(async () => ['10.0.0.1']);
  const queryNameServers = async (name: string) => (name === 'db.example' ? ['8.8.8.8'] : []);
  const resolve = createResolve({ localNames: noFiles, queryNameServers, querySystem });
  expect(await resolve('db.example', asker())).toEqual(['8.8.8.8']);
  expect(querySystem).not.toHaveBeenCalled();
  expect(await resolve('printer.local', asker())).toEqual(['10.0.0.1']);
  expect(querySystem).toHaveBeenCalledWith('printer.local');
});

test('the system is not asked for a name for which no name server answers', async () => {
  const querySystem = vi.fn(never);
  const queryNameServers = async () => Promise.reject(new Error('silence'));
  const resolve = createResolve({ localNames: noFiles, queryNameServers, querySystem });
  await expect(resolve('db.example', asker())).rejects.toThrow('silence');
  expect(querySystem).not.toHaveBeenCalled();
});

test('addresses in odd forms are the system’s, and no name server hears of them', async () => {
  const queryNameServers = vi.fn(unknown);
  const resolve = createResolve({
    localNames: noFiles,
    queryNameServers,
    querySystem: async () => ['127.0.0.1'],
  });
  for (const host of ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1']) {
    expect(await resolve(host, asker())).toEqual(['127.0.0.1']);
  }
  expect(queryNameServers).not.toHaveBeenCalled();
  for (const host of ['3com.example', '0x.example']) await resolve(host, asker());
  expect(queryNameServers).toHaveBeenCalledTimes(2);
});

test('what the hosts file knows goes first, and what is searched is asked for in its order', async () => {
  const localNames = {
    addressesOf: (host: string) => (host === 'db' ? ['10.0.0.7'] : []),
    fullNamesOf: (host: string) => [`${host}.a.example`, `${host}.b.example`, host],
  };
  const asked: string[] = [];
  const queryNameServers = async (name: string) => {
    asked.push(name);
    return name === 'cache.b.example' ? ['10.0.0.8'] : [];
  };
  const resolve = createResolve({ localNames, queryNameServers, querySystem: never });
  expect(await resolve('db', asker())).toEqual(['10.0.0.7']);
  expect(asked).toEqual([]);
  expect(await resolve('cache', asker())).toEqual(['10.0.0.8']);
  expect(asked).toEqual(['cache.a.example', 'cache.b.example']);
});

test('names of one account that hang in the system leave a thread to the others', async () => {
  const onThreads: string[] = [];
  const querySystem = (host: string) => {
    onThreads.push(host);
    return host.startsWith('slow') ? never() : Promise.resolve(['10.0.0.1']);
  };
  const resolve = createResolve({ localNames: noFiles, queryNameServers: unknown, querySystem });
  const leaving = new AbortController();
  const slow = Array.from({ length: 200 }, (_, i) => resolve(`slow${i}.x`, asker('one', leaving.signal)));
  for (const one of slow) one.catch(() => {});
  for (let i = 0; i < 20; i++) expect(await resolve('db', asker('two'))).toEqual(['10.0.0.1']);
  expect(onThreads.filter((host) => host.startsWith('slow'))).toEqual(['slow0.x']);
  // Those that still wait end with their caller; the thread is taken until the system lets it go.
  leaving.abort(new Error('gone'));
  await expect(slow[1]).rejects.toThrow('gone');
  const next = resolve('db', asker('one'));
  expect(await Promise.race([next, resolve('db', asker('two')).then(() => 'later')])).toBe('later');
});

test('a failed look-up gives its place back', async () => {
  const querySystem = async () => Promise.reject(new Error('ENOTFOUND'));
  const resolve = createResolve({ localNames: noFiles, queryNameServers: unknown, querySystem });
  for (let i = 0; i < 5; i++) await expect(resolve('a.x', asker())).rejects.toThrow('ENOTFOUND');
});

test('the real ones know this machine', async () => {
  expect(await createResolve()('localhost', asker())).toContain('127.0.0.1');
  expect(await createResolve()('127.1', asker())).toEqual(['127.0.0.1']);
});

async function startServer(records: Parameters<typeof startNameServer>[0]) {
  const { asked, at, close } = await startNameServer(records);
  onTestFinished(close);
  return { asked, ask: createNameServerQuery([at]) };
}

const documentation = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

test('the network is asked for the addresses of both families', async () => {
  const { asked, ask } = await startServer({
    'both.example A': [
      [8, 8, 8, 8],
      [8, 8, 4, 4],
    ],
    'both.example AAAA': [[...documentation, 1]],
    'four.example A': [[127, 0, 0, 1]],
    'six.example AAAA': [[...documentation, 2]],
  });
  expect(await ask('both.example', asker().signal)).toEqual(['8.8.8.8', '8.8.4.4', '2001:db8::1']);
  expect(asked.toSorted()).toEqual(['both.example A', 'both.example AAAA']);
  expect(await ask('four.example', asker().signal)).toEqual(['127.0.0.1']);
  expect(await ask('six.example', asker().signal)).toEqual(['2001:db8::2']);
});

test('of a name with many addresses, only some are dialled', async () => {
  const many = (bytes: number[]) => Array.from({ length: 60 }, (_, i) => [...bytes, i]);
  const { ask } = await startServer({
    'many.example A': many([8, 8, 8]),
    'many.example AAAA': many(documentation),
  });
  const addresses = await ask('many.example', asker().signal);
  expect(addresses.filter((address) => address.includes('.'))).toHaveLength(16);
  expect(addresses).toHaveLength(32);
});

test('a name that the name servers do not know has no address', async () => {
  const { ask } = await startServer({});
  expect(await ask('gone.example', asker().signal)).toEqual([]);
  const nobodyThere = createNameServerQuery(['127.0.0.1:9']);
  expect(await nobodyThere('gone.example', asker().signal)).toEqual([]);
});

test('a name for which no answer comes is given up after a few seconds, or when its caller leaves', async () => {
  const { ask, asked } = await startServer({
    'half.example A': [[8, 8, 8, 8]],
    'half.example AAAA': 'ignored',
  });
  const ended: string[] = [];
  // One family is enough.
  const half = ask('half.example', asker().signal);
  const leaving = new AbortController();
  const waited = ask('slow.example', asker().signal).finally(() => ended.push('waited'));
  const left = ask('slow.example', leaving.signal).finally(() => ended.push('left'));
  leaving.abort();
  await expect(left).rejects.toThrow('did not respond');
  await expect(waited).rejects.toThrow('did not respond');
  expect(ended).toEqual(['left', 'waited']);
  expect(await half).toEqual(['8.8.8.8']);
  await expect(ask('late.example', leaving.signal)).rejects.toThrow('aborted');
  expect(asked.some((question) => question.startsWith('late'))).toBe(false);
});

test('200 slow names of one account are not seen by another, with compression on', async () => {
  const { ask } = await startServer({ 'fast.example A': [[8, 8, 8, 8]] });
  const compressed = Buffer.alloc(1_000_000, 'a row of an answer, ');
  const compress = () => new Promise((done) => gzip(compressed, done));
  const isSlow = (host: string) => host.startsWith('slow');
  const querySystem = (host: string) => (isSlow(host) ? never() : compress().then(() => ['10.0.0.1']));
  // A slow name never gets an answer: what waits for one of them waits forever.
  const queryNameServers: typeof ask = (host, signal) => (isSlow(host) ? never() : ask(host, signal));
  const resolve = createResolve({ localNames: noFiles, queryNameServers, querySystem });
  const leaving = new AbortController();
  const names = Array.from({ length: 200 }, (_, i) => `slow${i}.${i % 2 === 0 ? 'example' : '0x'}`);
  const slow = names.map((host) => resolve(host, asker('one', leaving.signal)));
  for (const one of slow) one.catch(() => {});
  for (const host of ['fast.example', 'unknown.example'])
    for (let i = 0; i < 200; i++) expect(await resolve(host, asker('other'))).toHaveLength(1);
  leaving.abort(new Error('gone'));
});
