/** Tests of the usage of a key, for every store. */

import { createCallContext } from '@datahub/service-kit/call/call';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { createFixedId } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { KeyDoc } from '../../src/documents.ts';
import { createUsageCalls } from '../../src/rpc/usage.ts';
import type { CatalogStore } from '../../src/store.ts';
import { principalOf } from '../catalog-fixture.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const nowMs = Date.parse('2026-11-23T10:30:00Z');

/** A sketch of the users with numbers from `from` to before `to`. */
function usersOf(from: number, to: number): { users: string } {
  const sketch = new DistinctSketch();
  for (let i = from; i < to; i++) sketch.add(sketchPlaceOf(`user ${i}`));
  return { users: sketch.toBytes().toString('base64') };
}

/** Writes entries of the key `k1` of the account `a`, and reads usage. */
function openUsage(store: CatalogStore) {
  let seed = 0;
  return {
    store,
    count: (resourceId: string, agoMs: number, more: object = {}) => {
      const at = nowMs - (nowMs % hourMs) - agoMs;
      const random = Buffer.alloc(10);
      random.writeUInt32BE(++seed);
      const id = createFixedId({ namespace: 'hub', kind: 'evt', atMs: at }, random);
      const entry = { id, accountId: 'a', version: 1, at, keyId: 'k1', action: 'query.execute', resourceId };
      return store.audit.insert({ ...entry, requestId: '', count: 10, failed: 1, ...more });
    },
    usage: (options: Bounds = {}, keyId = 'k1', accountId = 'a') => {
      const catalog = { store, namespace: 'hub', nowMs: () => nowMs } as Catalog;
      const calls = createUsageCalls(catalog, { usageKeptMs: 90 * dayMs, ...options });
      const principal = principalOf(accountId);
      return calls.getKeyUsage({ keyId }, createCallContext({ timeoutMs: 30_000, principal }));
    },
  };
}

type Bounds = Partial<Parameters<typeof createUsageCalls>[1]>;

export function describeKeyUsage(name: string, open: () => Promise<CatalogStore>): void {
  describe(`the usage of a key in ${name}`, () => {
    let store: CatalogStore;
    let count: ReturnType<typeof openUsage>['count'];
    let usage: ReturnType<typeof openUsage>['usage'];
    beforeEach(async () => {
      ({ store, count, usage } = openUsage(await open()));
      await store.keys.insert({
        ...{ id: 'k1', accountId: 'a', version: 1, hash: 'x', name: 'shop' },
        ...{ scopes: [], limits: {}, expiresAt: null },
      } as unknown as KeyDoc);
    });
    afterEach(() => store.close());

    it('is the sum over all queries by day of the last 30 days, with the users of each day and of all', async () => {
      await count('q1', 0, usersOf(0, 3));
      await count('q2', hourMs, usersOf(2, 5));
      await count('q1', 9 * dayMs, usersOf(4, 7));
      await count('q3', 29 * dayMs);
      // The 24th of October: one hour before the first day.
      await count('q1', 29 * dayMs + 11 * hourMs, usersOf(10, 20));
      await count('q1', 0, { action: 'query.update' });
      await count('q1', 0, { keyId: 'k2', ...usersOf(20, 30) });
      await count('q1', 0, { accountId: 'b' });
      expect(await usage()).toEqual({
        from: '2026-10-25',
        to: '2026-11-23',
        count: 40,
        failed: 4,
        users: 7,
        days: [
          { day: '2026-10-25', count: 10, failed: 1, users: 0 },
          { day: '2026-11-14', count: 10, failed: 1, users: 3 },
          { day: '2026-11-23', count: 20, failed: 2, users: 5 },
        ],
        truncated: false,
      });
    });

    it('has only whole days, but for too many entries of today', async () => {
      // A store refuses calls that wait for a connection for 5 s.
      for (let begin = 0; begin < 1_600; begin += 100)
        await Promise.all(
          Array.from({ length: 100 }, (_, i) => count(`q${begin + i}`, begin < 600 ? 0 : dayMs)),
        );
      expect(await usage()).toMatchObject({ count: 16_000, truncated: false });
      // The first batch has 500 entries, the second one 1,000: 600 are of today.
      const today = { from: '2026-11-23', count: 6_000, truncated: false };
      expect(await usage({ entriesMax: 1_200 })).toMatchObject(today);
      expect(await usage({ entriesMax: 400 })).toMatchObject(today);
      const last = { from: '2026-11-23', count: 5_000, truncated: true };
      expect(await usage({ todayEntriesMax: 400 })).toMatchObject(last);
    });

    it('is empty for a key without executions, and of keys of the account only', async () => {
      await count('q1', 0, { keyId: 'k2' });
      expect(await usage()).toMatchObject({ count: 0, failed: 0, users: 0, days: [] });
      await expect(usage({}, 'k2')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(usage({}, 'k1', 'b')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}
