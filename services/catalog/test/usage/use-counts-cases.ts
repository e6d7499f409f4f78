/** Tests of the counts of days, for every store. */

import { createCallContext } from '@datahub/service-kit/call/call';
import { DistinctSketch, sketchPlaceOf } from '@datahub/service-kit/distinct-sketch';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { AuditDoc, HubDoc, KeyDoc, QueryDoc } from '../../src/documents.ts';
import { joinUses, removeExpired } from '../../src/maintenance/expiry-sweep.ts';
import { createUsageCalls } from '../../src/rpc/usage.ts';
import type { CatalogStore } from '../../src/store.ts';
import { addUse, dayMs, hourlyUse, hourMs } from '../../src/usage/use-counts.ts';
import { leaf, principalOf } from '../catalog-fixture.ts';

const start = Date.parse('2026-11-01T00:00:00Z');
const open = new AbortController().signal;

/** The account `a` with the query `q` and the key `k1`, at a time of its own. */
async function openUses(store: CatalogStore) {
  const hub = { id: 'h', accountId: 'a', version: 1, deleting: 0 } as HubDoc;
  await store.hubs.insert(hub);
  await store.queries.insert(leaf(hub, 'q') as QueryDoc);
  const key = { id: 'k1', accountId: 'a', version: 1, hash: 'x', name: 'shop', scopes: [], limits: {} };
  await store.keys.insert(key as unknown as KeyDoc);
  let now = start;
  const catalogOf = (of = store) => ({ store: of, namespace: 'hub', nowMs: () => now }) as Catalog;
  /** Ten executions, one of them failed, by three users, in the hour. */
  const use = (at: number, { resourceId = 'q', keyId = 'k1' } = {}) => {
    now = at;
    const sketch = new DistinctSketch();
    for (let i = 0; i < 3; i++) sketch.add(sketchPlaceOf(`user ${(at / hourMs) % 5} ${i}`));
    const what = { accountId: 'a', keyId, action: 'query.execute', resourceId, requestId: '' };
    const counted = { ...what, count: 10, failed: 1, users: sketch.toBytes() };
    return addUse(catalogOf(), hourlyUse(catalogOf(), counted));
  };
  return {
    store,
    use,
    setNow: (at: number) => {
      now = at;
    },
    useAllDay: async (day: number, what = {}) => {
      for (let hour = 0; hour < 24; hour++) await use(start + day * dayMs + hour * hourMs, what);
    },
    join: (of = store) => joinUses(of, catalogOf(of), open),
    entries: () => store.audit.find({ accountId: 'a', limit: 1_000 }),
    usage: async () => {
      const calls = createUsageCalls(catalogOf(), { usageKeptMs: 90 * dayMs });
      const ctx = createCallContext({ timeoutMs: 30_000, principal: principalOf('a') });
      const ofQuery = await calls.getQueryUsage({ queryId: 'q' }, ctx);
      return { ofQuery, ofKey: await calls.getKeyUsage({ keyId: 'k1' }, ctx) };
    },
    sweep: (auditDays: number, usageDays: number) => {
      const kept = { auditKeptMs: auditDays * dayMs, usageKeptMs: usageDays * dayMs };
      const others = { namespace: 'hub', runsKeptMs: dayMs, eventsKeptMs: dayMs, queryRunsKeptMs: dayMs };
      return removeExpired(store, { ...kept, ...others, nowMs: () => now }, open);
    },
  };
}

type Uses = Awaited<ReturnType<typeof openUses>>;

export function describeUseCounts(name: string, openStore: () => Promise<CatalogStore>): void {
  describe(`counts of uses in ${name}`, () => {
    let uses: Uses;
    beforeEach(async () => {
      uses = await openUses(await openStore());
    });
    afterEach(() => uses.store.close());

    it('are joined two days after their day, and say the same as before', () => joinsADay(uses));
    it('are neither doubled nor lost if the process is killed at any write', () => survivesKills(uses));
    it('are joined once by two processes, and take an hour that comes late', () => joinsOnce(uses));
    it('are kept as long as is set, apart from changes', () => keepsApart(uses));
  });
}

async function joinsADay({ use, useAllDay, setNow, join, entries, usage }: Uses): Promise<void> {
  await useAllDay(0);
  await useAllDay(0, { resourceId: 'other' });
  await use(start + 5 * hourMs, { keyId: 'k2' });
  await use(start + dayMs);
  setNow(start + 3 * dayMs - 1);
  await join();
  expect(await entries()).toHaveLength(50);
  setNow(start + 3 * dayMs);
  const before = await usage();
  expect(before.ofQuery).toMatchObject({ count: 260, failed: 26, users: 15 });
  expect(before.ofKey).toMatchObject({ count: 490, failed: 49 });
  await join();
  const ofKey = (await entries()).filter(({ keyId, resourceId }) => keyId === 'k1' && resourceId === 'q');
  expect(ofKey).toEqual([
    expect.objectContaining({ at: start, count: 240, failed: 24, action: 'query.execute' }),
    expect.objectContaining({ at: start + dayMs, count: 10 }),
  ]);
  expect(await entries()).toHaveLength(4);
  expect(await usage()).toEqual(before);
}

async function survivesKills({ store, useAllDay, setNow, join, entries, usage }: Uses): Promise<void> {
  await useAllDay(0);
  setNow(start + 3 * dayMs);
  const before = await usage();
  for (let writes = 0; writes < 26; writes++) {
    await join(killedAfter(store, writes)).catch(() => {});
    expect(await usage()).toEqual(before);
  }
  await join();
  expect(await entries()).toHaveLength(1);
  expect(await usage()).toEqual(before);
}

async function joinsOnce({ store, use, useAllDay, setNow, join, entries }: Uses): Promise<void> {
  await useAllDay(0);
  setNow(start + 3 * dayMs);
  await Promise.all([join(), join()]);
  await join();
  expect(await entries()).toEqual([expect.objectContaining({ count: 240 })]);
  await useAllDay(1);
  await store.audit.delete('a', (await entries()).at(-1)?.id ?? '');
  setNow(start + 4 * dayMs);
  await join();
  // The clock of a process was set back.
  await use(start + dayMs + 23 * hourMs);
  setNow(start + 4 * dayMs);
  await join();
  expect((await entries()).map(({ count }) => count)).toEqual([240, 240]);
}

async function keepsApart({ store, useAllDay, setNow, join, entries, sweep }: Uses): Promise<void> {
  await useAllDay(0);
  const change: AuditDoc = {
    ...{ id: 'e1', accountId: 'a', version: 1, at: start, keyId: 'k1', action: 'hub.create' },
    ...{ resourceId: 'h', requestId: 'r', count: 1, failed: 0 },
  };
  await store.audit.insert(change);
  setNow(start + 10 * dayMs);
  await join();
  await sweep(10, 10);
  expect(await entries()).toHaveLength(2);
  await sweep(10, 9);
  expect(await entries()).toEqual([change]);
  await useAllDay(9);
  setNow(start + 12 * dayMs);
  await sweep(1, 12);
  expect(await entries()).toHaveLength(24);
}

/** The store of a process that is killed after so many writes to the audit. */
function killedAfter(store: CatalogStore, writes: number): CatalogStore {
  let left = writes;
  const write =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (left-- <= 0) throw new Error('killed');
      return call(...args);
    };
  const { audit } = store;
  const killed = { insert: write(audit.insert), replace: write(audit.replace), delete: write(audit.delete) };
  return { ...store, audit: { ...audit, ...killed } };
}
