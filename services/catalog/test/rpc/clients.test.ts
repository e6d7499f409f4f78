import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { createClientCalls } from '../../src/rpc/agents/clients.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';

const hourMs = 3_600_000;

let store: CatalogStore;
let now: number;
let register: (network: string) => Promise<unknown>;

beforeEach(async () => {
  now = 10 * hourMs;
  store = await openCatalogStore('sqlite::memory:');
  await store.accounts.insert({ id: 'a', accountId: 'dh.acct.a', version: 1, name: 'first' } as never);
  const catalog = { store, nowMs: () => now, createId: createIdFactory({ namespace: 'dh' }) };
  const calls = createClientCalls(catalog as unknown as Catalog);
  const ctx = () => createCallContext({ timeoutMs: 60_000 });
  register = (network) =>
    calls.registerClient({ name: 'Chat', redirectUris: ['http://127.0.0.1/cb'], network }, ctx());
});
afterEach(() => store.close());

const registerAll = async (count: number, networkOf: (i: number) => string) => {
  for (let i = 0; i < count; i++) await register(networkOf(i));
};

it('lets a network register 10 clients in an hour, and others go on', async () => {
  await registerAll(10, () => '192.0.2.1');
  now += hourMs / 4;
  await expect(register('192.0.2.1')).rejects.toMatchObject({
    ...{ code: 'RATE_LIMITED', message: 'At most 10 clients of your network can register in an hour.' },
    retryAfterMs: (hourMs * 3) / 4,
  });
  await register('192.0.2.2');
  now += (hourMs * 3) / 4;
  await register('192.0.2.1');
});

it('lets 60 clients in all register in an hour, also at once', async () => {
  const all = await Promise.allSettled(Array.from({ length: 68 }, (_, i) => register(`192.0.2.${i}`)));
  expect(all.filter(({ status }) => status === 'fulfilled').length).toBe(60);
  await expect(register('198.51.100.1')).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: 'At most 60 clients can register in an hour.',
  });
});

it('does not count what was registered before the clock was set back', async () => {
  now += 24 * hourMs;
  await registerAll(10, () => '192.0.2.1');
  now -= 24 * hourMs;
  await register('192.0.2.1');
});
