import { setTimeout as sleep } from 'node:timers/promises';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import { createAuditCalls } from '../../src/rpc/audit.ts';
import { type CatalogStore, openCatalogStore } from '../../src/store.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const uses = Array.from({ length: 100 }, (_, i) => ({
  action: 'query.execute',
  resourceId: `q${i}`,
  count: 2,
  failed: 1,
  users: Buffer.alloc(0) as Buffer,
}));

describe('counts of use', () => {
  let store: CatalogStore;
  /** What the store does before it looks for an entry. */
  let before: () => Promise<void>;
  let atOnce: number;
  let atOnceMost: number;
  let nowMs: () => number;
  beforeEach(async () => {
    store = await openCatalogStore('sqlite::memory:');
    before = async () => {};
    atOnce = 0;
    atOnceMost = 0;
    nowMs = () => 7_200_000;
  });
  afterEach(() => store.close());

  const record = async (timeoutMs: number, recorded = uses, ageMs?: number): Promise<number[]> => {
    const get = async (accountId: string, id: string) => {
      atOnceMost = Math.max(atOnceMost, ++atOnce);
      await before().finally(() => atOnce--);
      return store.audit.get(accountId, id);
    };
    const audit = { ...store.audit, get };
    const catalog = { store: { ...store, audit }, namespace: 'hub', nowMs } as Catalog;
    const ctx = createCallContext({ timeoutMs, principal });
    return (await createAuditCalls(catalog).recordUse({ uses: recorded, ageMs }, ctx)).left ?? [];
  };
  const kept = async () =>
    (await store.audit.find({ accountId: 'a', limit: 1_000 })).map(({ resourceId }) => resourceId).sort();
  const without = (left: number[]) =>
    uses.flatMap(({ resourceId }, place) => (left.includes(place) ? [] : [resourceId])).sort();

  it('are added up within the hour, few at once', async () => {
    await record(5_000);
    expect(await record(5_000)).toEqual([]);
    const entries = await store.audit.find({ accountId: 'a', limit: 1_000 });
    expect(entries.map(({ count, failed }) => [count, failed])).toEqual(uses.map(() => [4, 2]));
    expect(atOnceMost).toBeLessThanOrEqual(8);
  });

  it('are those of one hour, also when it begins', async () => {
    let now = 7_199_998;
    nowMs = () => ++now;
    for (let i = 0; i < 2; i++) await record(5_000, uses.slice(0, 1));
    const entries = await store.audit.find({ accountId: 'a', limit: 10 });
    expect(entries.map(({ at, count }) => [at, count])).toEqual([
      [3_600_000, 2],
      [7_200_000, 2],
    ]);
  });

  it('belong to the hour in which they were made, at most a day ago', async () => {
    for (const ageMs of [5_000, 0, 2 * 86_400_000]) {
      nowMs = () => 90 * 3_600_000 + 2_000;
      await record(5_000, uses.slice(0, 1), ageMs);
    }
    const entries = await store.audit.find({ accountId: 'a', limit: 10 });
    expect(entries.map(({ at }) => at / 3_600_000)).toEqual([66, 89, 90]);
  });

  it('merge the signed-in users of several gateways into one sketch', async () => {
    const [use] = uses as [(typeof uses)[0]];
    const sketchOf = (...names: string[]) => {
      const sketch = new DistinctSketch();
      for (const name of names) sketch.add(sketchPlaceOf(name));
      return sketch.toBytes();
    };
    for (const users of [sketchOf('a', 'b'), Buffer.alloc(0), sketchOf('b', 'c')])
      await record(5_000, [{ ...use, users }]);
    const [entry] = await store.audit.find({ accountId: 'a', limit: 1 });
    expect(entry?.users).toBe(sketchOf('a', 'b', 'c').toString('base64'));
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    const catalog = { store } as unknown as Catalog;
    const { entries } = await createAuditCalls(catalog).listAudit(
      { page: { offset: 0, limit: 10 } } as never,
      ctx,
    );
    expect(JSON.stringify(entries)).not.toContain('users');
  });

  it('are listed by day, with how many there are', async () => {
    const days = [
      '2026-11-27T23:59:59.999Z',
      '2026-11-28T00:00:00Z',
      '2026-11-28T23:59:59.999Z',
      '2026-11-29',
    ];
    const hours = days.map((at) => Date.parse(at));
    for (const at of hours) {
      nowMs = () => at;
      await record(5_000, uses.slice(0, 2));
    }
    const catalog = { store, namespace: 'hub' } as unknown as Catalog;
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    const list = async (wanted: object) => {
      const page = { offset: 0, limit: 3 };
      const { entries, total } = await createAuditCalls(catalog).listAudit({ page, ...wanted } as never, ctx);
      return [entries.map(({ at }) => at?.toISOString().slice(0, 13)), total];
    };
    const [morning, evening] = ['2026-11-28T00', '2026-11-28T23'];
    expect(await list({ day: '2026-11-28' })).toEqual([[evening, evening, morning], 4]);
    expect(await list({ day: '2026-11-28', resourceId: 'q1' })).toEqual([[evening, morning], 2]);
    for (const day of ['2026-11-26', '1969-12-31', '0000-01-01'])
      expect(await list({ day })).toEqual([[], 0]);
    for (const day of ['', 'today', '2026-13-01', '-000001-01-01', '+275760-09-13'])
      await expect(list({ day })).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  it('that a slow store has no time for are reported, and the others are kept', async () => {
    before = () => sleep(50);
    const left = await record(2_200);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(uses.length);
    expect(await kept()).toEqual(without(left));
  });

  it('that the store refuses are reported, and the others are kept', async () => {
    let turn = 0;
    before = async () => {
      if (turn++ % 3 === 0) throw new HubError('UNAVAILABLE', 'away');
    };
    const left = await record(5_000);
    expect(left).toHaveLength(34);
    expect(await kept()).toEqual(without(left));
  });

  it('fail as the store does if none is kept', async () => {
    before = () => Promise.reject(new HubError('UNAVAILABLE', 'away'));
    await expect(record(5_000)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await kept()).toEqual([]);
  });
});
