import { expect, test, vi } from 'vitest';
import { createResolve } from './dial-resolve.ts';

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
