import { createCallContext } from '@datahub/service-kit/call/call';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { createFixedId } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { HubDoc, KeyDoc, QueryDoc } from '../../src/documents.ts';
import { createUsageCalls } from '../../src/rpc/usage.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';
import { leaf, principalOf } from '../catalog-fixture.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const nowMs = Date.parse('2026-11-23T10:30:00Z');

describe('the usage of a query', () => {
  let store: CatalogStore;
  let seed = 0;
  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
    const hub = { id: 'h', accountId: 'a', version: 1, deleting: 0 } as HubDoc;
    await store.hubs.insert(hub);
    await store.queries.insert(leaf(hub, 'q') as QueryDoc);
    await store.keys.insert({ id: 'k1', accountId: 'a', version: 1, hash: 'x', name: 'shop' } as KeyDoc);
  });
  afterEach(() => store.close());

  const count = (keyId: string, agoMs: number, more: object = {}) => {
    const at = nowMs - (nowMs % hourMs) - agoMs;
    const random = Buffer.alloc(10);
    random.writeUInt32BE(++seed);
    return store.audit.insert({
      id: createFixedId({ namespace: 'hub', kind: 'evt', atMs: at }, random),
      accountId: 'a',
      version: 1,
      at,
      keyId,
      action: 'query.execute',
      resourceId: 'q',
      requestId: '',
      count: 10,
      failed: 1,
      ...more,
    });
  };
  const usage = (
    options: { usageKeptMs?: number; entriesMax?: number } = {},
    principal = principalOf('a'),
  ) => {
    const catalog = { store, namespace: 'hub', nowMs: () => nowMs } as Catalog;
    const calls = createUsageCalls(catalog, { usageKeptMs: 90 * dayMs, ...options });
    return calls.getQueryUsage({ queryId: 'q' }, createCallContext({ timeoutMs: 60_000, principal }));
  };

  it('is the sum by key and day of the last 30 days', async () => {
    await count('k1', 0);
    await count('k1', hourMs);
    await count('k1', 29 * dayMs);
    // The 24th of October: one hour before the first day.
    await count('k1', 29 * dayMs + 11 * hourMs);
    await count('k2', 11 * hourMs, { count: 500, failed: 0 });
    await count('k1', 0, { action: 'query.update' });
    await count('k1', 0, { resourceId: 'other' });
    await count('k1', 0, { accountId: 'b' });
    expect(await usage()).toEqual({
      from: '2026-10-25',
      to: '2026-11-23',
      count: 530,
      failed: 3,
      users: 0,
      totalKeys: 2,
      keys: [
        {
          keyId: 'k2',
          name: undefined,
          count: 500,
          failed: 0,
          users: 0,
          days: [{ day: '2026-11-22', count: 500, failed: 0 }],
        },
        {
          keyId: 'k1',
          name: 'shop',
          count: 30,
          failed: 3,
          users: 0,
          days: [
            { day: '2026-10-25', count: 10, failed: 1 },
            { day: '2026-11-23', count: 20, failed: 2 },
          ],
        },
      ],
    });
  });

  it('estimates the signed-in users of each key and of all keys, over the days that it has', async () => {
    const users = (from: number, to: number) => {
      const sketch = new DistinctSketch();
      for (let i = from; i < to; i++) sketch.add(sketchPlaceOf(`user ${i}`));
      return { users: sketch.toBytes().toString('base64') };
    };
    await count('k1', 0, users(0, 3));
    await count('k1', hourMs, users(2, 5));
    await count('k1', 9 * dayMs, users(5, 7));
    await count('k2', 0, users(0, 2));
    await count('k3', 0);
    const { keys, users: all } = await usage();
    expect([all, Object.fromEntries(keys.map((key) => [key.keyId, key.users]))]).toEqual([
      7,
      { k1: 7, k2: 2, k3: 0 },
    ]);
    expect(await usage({ usageKeptMs: 5 * dayMs })).toMatchObject({ users: 5 });
  });

  it('has fewer days, all of them whole, if entries are kept for less time or are too many', async () => {
    for (let day = 0; day < 30; day++) for (let i = 0; i < 100; i++) await count(`k${i % 3}`, day * dayMs);
    expect(await usage({ usageKeptMs: 7 * dayMs })).toMatchObject({ from: '2026-11-17', count: 7_000 });
    // 1,500 entries are all of 15 days, and the batch that ends there has no more.
    expect(await usage({ entriesMax: 1_200 })).toMatchObject({ from: '2026-11-10', count: 14_000 });
    expect(await usage({ entriesMax: 1 })).toMatchObject({ from: '2026-11-20', count: 4_000 });
    expect(await usage()).toMatchObject({ from: '2026-10-25', count: 30_000 });
    const { keys } = await usage({ entriesMax: 1 });
    expect(keys.flatMap(({ days }) => days).every(({ day }) => day >= '2026-11-20')).toBe(true);
  });

  it('names keys only to keys that may list them, and is of a query that the key may use', async () => {
    await count('k1', 0);
    const reader = { ...principalOf('a'), scopes: ['queries:read'] };
    expect((await usage({}, reader)).keys[0]).not.toHaveProperty('name');
    await expect(usage({}, principalOf('b'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(usage({}, principalOf('a', { queryIds: ['other'] }))).rejects.toMatchObject({
      code: 'SCOPE_DENIED',
    });
  });
});
