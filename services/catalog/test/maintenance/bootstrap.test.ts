import { hashApiKey } from '@datahub/service-kit/api-key';
import { createIdFactory } from '@datahub/service-kit/id';
import { expect, it } from 'vitest';
import { bootstrap } from '../../src/maintenance/bootstrap.ts';
import { openCatalogStore } from '../../src/store.ts';

it('adds a given key once, so that a start brings back none that was revoked', async () => {
  const store = await openCatalogStore('sqlite::memory:');
  const createId = createIdFactory({ namespace: 'dh' });
  const start = (apiKey: string) => bootstrap(store, { apiKey, nowMs: Date.now(), createId });
  const [first, second] = ['first-'.padEnd(32, 'x'), 'second-'.padEnd(32, 'x')] as [string, string];
  const find = (apiKey: string) => store.keys.getUnique('hash', hashApiKey(apiKey));
  const revoke = async (apiKey: string) => {
    const key = await find(apiKey);
    expect(key).not.toBeNull();
    await store.keys.delete(key?.accountId ?? '', key?.id ?? '');
  };

  const { accountId } = await start(first);
  expect(await start(first)).toEqual({ accountId });
  expect(await start(second)).toEqual({ accountId, givenKey: 'added' });
  await revoke(first);
  // Also by a replica that is not restarted with the second one yet.
  expect(await start(first)).toEqual({ accountId, givenKey: 'ended' });
  expect(await find(first)).toBeNull();

  // A store of an older hub, which remembered none.
  const account = await store.accounts.get(accountId, accountId);
  const { givenKeys: _, ...older } = account ?? expect.fail();
  await store.accounts.replace({ ...older, version: older.version + 1 });
  await start(second);
  await revoke(second);
  expect(await start(second)).toEqual({ accountId, givenKey: 'ended' });
  await store.close();
});
