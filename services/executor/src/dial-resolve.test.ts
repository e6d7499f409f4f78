import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createNetworkResolve, createResolve } from './dial-resolve.ts';

const unknown = async () => Promise.reject(new Error('ENOTFOUND'));

test('names go over the network, and to the system only where that does not know them', async () => {
  const bySystem = vi.fn(async () => ['10.0.0.1']);
  const overNetwork = vi.fn(async (host: string) => (host === 'db.example' ? ['8.8.8.8'] : unknown()));
  const resolve = createResolve({ overNetwork, bySystem });
  expect(await resolve('db.example')).toEqual(['8.8.8.8']);
  expect(bySystem).not.toHaveBeenCalled();
  expect(await resolve('db.namespace')).toEqual(['10.0.0.1']);
  expect(await resolve('127.1')).toEqual(['10.0.0.1']);
});

test('names without a dot are the system’s', async () => {
  const overNetwork = vi.fn(unknown);
  const resolve = createResolve({ overNetwork, bySystem: async () => ['10.0.0.1'] });
  expect(await resolve('db')).toEqual(['10.0.0.1']);
  expect(await resolve('db.')).toEqual(['10.0.0.1']);
  expect(overNetwork).not.toHaveBeenCalled();
});

test('names that hang hold up neither threads nor names the network knows', async () => {
  let onThreads = 0;
  const release: (() => void)[] = [];
  const bySystem = (host: string) => {
    onThreads++;
    return new Promise<string[]>((answer) => release.push(() => answer([host])));
  };
  const overNetwork = async (host: string) => (host === 'good.example' ? ['8.8.8.8'] : unknown());
  const resolve = createResolve({ overNetwork, bySystem, systemMax: 2 });
  const hanging = ['a.x', 'b.x', 'c.x', 'd.x'].map((host) => resolve(host));
  expect(await resolve('good.example')).toEqual(['8.8.8.8']);
  await vi.waitFor(() => expect(onThreads).toBe(2));
  for (let i = 0; i < 4; i++) {
    await vi.waitFor(() => expect(release.length).toBeGreaterThan(i));
    release[i]?.();
  }
  expect(await Promise.all(hanging)).toEqual([['a.x'], ['b.x'], ['c.x'], ['d.x']]);
});

test('a failed look-up gives its place back', async () => {
  const resolve = createResolve({ overNetwork: unknown, bySystem: unknown, systemMax: 1 });
  for (let i = 0; i < 3; i++) await expect(resolve('a.x')).rejects.toThrow('ENOTFOUND');
});

test('the real ones know this machine', async () => {
  expect(await createResolve()('localhost')).toContain('127.0.0.1');
});

const types = { 1: 'A', 28: 'AAAA' } as const;
const unknownName = 3;

/** A name server on UDP (RFC 1035) that knows these addresses, as bytes, and no others. */
async function startNameServer(records: Record<string, number[][]>) {
  const asked: string[] = [];
  const server = createSocket('udp4').on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const name = String(query.subarray(13, end)).replace(/[^a-z]/g, '.');
    const question = `${name} ${types[query.readUInt16BE(end + 1) as keyof typeof types]}`;
    asked.push(question);
    const answers = (records[question] ?? []).map((bytes) =>
      Buffer.from([0xc0, 12, ...query.subarray(end + 1, end + 5), 0, 0, 0, 60, 0, bytes.length, ...bytes]),
    );
    const status = answers.length > 0 ? 0 : unknownName;
    const header = Buffer.from([
      ...query.subarray(0, 2),
      0x81,
      0x80 + status,
      0,
      1,
      0,
      answers.length,
      0,
      0,
      0,
      0,
    ]);
    server.send(Buffer.concat([header, query.subarray(12, end + 5), ...answers]), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { asked, resolve: createNetworkResolve([`127.0.0.1:${server.address().port}`]) };
}

const documentation = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

test('the network is asked for the addresses of both families', async () => {
  const { asked, resolve } = await startNameServer({
    'both.example A': [
      [8, 8, 8, 8],
      [8, 8, 4, 4],
    ],
    'both.example AAAA': [[...documentation, 1]],
    'four.example A': [[127, 0, 0, 1]],
    'six.example AAAA': [[...documentation, 2]],
  });
  expect(await resolve('both.example')).toEqual(['8.8.8.8', '8.8.4.4', '2001:db8::1']);
  expect(asked.toSorted()).toEqual(['both.example A', 'both.example AAAA']);
  expect(await resolve('four.example')).toEqual(['127.0.0.1']);
  expect(await resolve('six.example')).toEqual(['2001:db8::2']);
});

test('a name that the network does not know is the system’s', async () => {
  const { resolve: overNetwork } = await startNameServer({});
  await expect(overNetwork('gone.example')).rejects.toThrow('The name is not known to the name servers.');
  const resolve = createResolve({ overNetwork, bySystem: async () => ['10.0.0.1'] });
  expect(await resolve('gone.example')).toEqual(['10.0.0.1']);
});
