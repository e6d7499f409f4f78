import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, expect, it, vi } from 'vitest';
import { operate } from '../../src/rpc/operator.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';

let store: CatalogStore;
afterEach(() => store.close());

/** As the command line does while the hub does not run. */
it('lists no part of the keys as if it were all', async () => {
  store = await openCatalogStore('sqlite::memory:');
  const parts = { store, createId: createIdFactory({ namespace: 'dh' }), nowMs: Date.now, namespace: 'dh' };
  const run = (action: 'create' | 'list') =>
    operate(parts, { action, keyId: '', name: 'k', scopes: ['*'], newAccount: false });
  await run('create');
  expect(await run('list')).toHaveLength(1);
  vi.spyOn(store.keys, 'count').mockResolvedValue(2);
  await expect(run('list')).rejects.toThrow('The account has 2 keys, and at most 1 are listed here.');
});

it('rotates and revokes keys in the store', async () => {
  store = await openCatalogStore('sqlite::memory:');
  const parts = { store, createId: createIdFactory({ namespace: 'dh' }), nowMs: Date.now, namespace: 'dh' };
  const run = async (action: 'create' | 'rotate' | 'revoke', keyId = '') =>
    (await operate(parts, { action, keyId, name: 'k', scopes: ['*'], newAccount: false })) as {
      accountId: string;
      keyId: string;
      key: string;
    };
  const first = await run('create');
  const second = await run('rotate', first.keyId);
  expect(second.key).toMatch(/^dhk_/);
  expect(await run('revoke', second.keyId)).toEqual({});
  expect(await store.keys.count({ accountId: first.accountId })).toBe(1);
});
