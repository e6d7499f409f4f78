/** Tests of the versions of queries, for every store: what is stored after crashes, deletions and an upgrade. */

import { createQuota } from '@datahub/document-store/quota';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../src/catalog.ts';
import type { QueryDoc, SourceDoc } from '../src/documents.ts';
import { makeHub } from '../src/hub.ts';
import { sweepHub, sweepLeftovers } from '../src/maintenance/deletion-sweep.ts';
import { createLeftovers } from '../src/maintenance/leftovers.ts';
import { createQueryCalls } from '../src/rpc/queries.ts';
import { createQueryVersionCalls } from '../src/rpc/query-versions.ts';
import type { CatalogStore } from '../src/store.ts';
import { clockOf, leaf } from './catalog-fixture.ts';

const accountId = 'a';
const principal = { accountId, keyId: 'k', scopes: ['*'], limits: undefined };
const ctx = () => createCallContext({ timeoutMs: 60_000, principal });
const createId = createIdFactory({ namespace: 'dh' });

/** A catalog of one hub with a source. */
async function openHub(open: () => Promise<CatalogStore>) {
  const store = await open();
  const doc = makeHub({ label: 'h' }, { accountId, nowMs: 1, createId });
  await store.hubs.insert(doc);
  const source = { ...leaf(doc, createId('src', 1)), engine: 'postgres' } as SourceDoc;
  await store.sources.insert(source);
  const sourceId = source.id;
  const replace: CatalogStore['queries']['replace'] = async (...write) => {
    await hub.beforeReplace();
    return store.queries.replace(...write);
  };
  const catalog = {
    store: { ...store, queries: { ...store.queries, replace } },
    createId,
    nowMs: () => 42,
    eventClock: clockOf(() => 42),
    namespace: 'dh',
    quota: createQuota(0),
    leftovers: createLeftovers(() => {}),
    checkStatement: () => [],
    changes: { publish: async () => {} },
  } as unknown as Catalog;
  const calls = { ...createQueryCalls(catalog), ...createQueryVersionCalls(catalog) };
  const hub = {
    store,
    doc,
    sourceId,
    calls,
    /** Runs before each write of a changed query. */
    beforeReplace: async () => {},
    async create(): Promise<string> {
      const query = { hubId: doc.id, label: 'q', sourceId, query: 'SELECT 1', notNull: [] };
      return (await calls.createQuery(query, ctx())).query?.queryId as string;
    },
    setText: (queryId: string, query: string) =>
      calls.updateQuery({ queryId, query, moreVersions: [] }, ctx()),
    restore: (queryId: string, number: number) =>
      calls.restoreQuery({ queryId, number, moreVersions: [] }, ctx()),
    async versionsOf(queryId: string): Promise<[number, string][]> {
      const { versions = [] } = await calls.listQueryVersions({ queryId, page: undefined }, ctx());
      return versions.map(({ number = 0, query }) => [number, query?.query ?? '']);
    },
    /** The number of stored versions besides the present ones. */
    copies: async () => (await store.queryVersions.find({ accountId, limit: 1_000 })).length,
  };
  return hub;
}

export function describeQueryVersions(name: string, open: () => Promise<CatalogStore>): void {
  describe(`the versions of queries in ${name}`, () => {
    let hub: Awaited<ReturnType<typeof openHub>>;
    beforeEach(async () => {
      hub = await openHub(open);
    });
    afterEach(() => hub.store.close());
    describeChanges(() => hub);
    describeDeletions(() => hub);
    describeOtherHubs(() => hub);
  });
}

type Current = () => Awaited<ReturnType<typeof openHub>>;

function describeChanges(current: Current): void {
  it('are neither lost nor doubled by a crash between the two writes of a change', async () => {
    const hub = current();
    const queryId = await hub.create();
    hub.beforeReplace = async () => {
      throw new HubError('UNAVAILABLE', 'killed');
    };
    await expect(hub.setText(queryId, 'SELECT 2')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await hub.copies()).toBe(1);
    expect(await hub.versionsOf(queryId)).toEqual([[1, 'SELECT 1']]);
    hub.beforeReplace = async () => {};
    await hub.setText(queryId, 'SELECT 3');
    expect(await hub.versionsOf(queryId)).toEqual([
      [2, 'SELECT 3'],
      [1, 'SELECT 1'],
    ]);
  });

  it('are whole after parallel changes and restores', async () => {
    const hub = current();
    const queryId = await hub.create();
    const texts = Array.from({ length: 8 }, (_, i) => `SELECT ${i + 2}`);
    await Promise.all(texts.map((text) => hub.setText(queryId, text)));
    await Promise.all([hub.restore(queryId, 1), hub.setText(queryId, 'SELECT 0')]);
    const versions = await hub.versionsOf(queryId);
    expect(versions.map(([number]) => number)).toEqual(Array.from({ length: 11 }, (_, i) => 11 - i));
    const all = ['SELECT 1', 'SELECT 1', 'SELECT 0', ...texts];
    expect(versions.map(([, text]) => text).sort()).toEqual(all.sort());
  });

  it('are bounded in bytes, and the last one is always kept', async () => {
    const hub = current();
    const queryId = await hub.create();
    const text = (n: number) => `SELECT ${n} -- ${'x'.repeat(262_000)}`;
    for (let n = 2; n <= 7; n++) await hub.setText(queryId, text(n));
    // Three copies of 262 kB are below a MiB, four are not.
    expect((await hub.versionsOf(queryId)).map(([number]) => number)).toEqual([7, 6, 5, 4]);
    expect(await hub.copies()).toBe(3);
    await expect(hub.restore(queryId, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const validate = 'é'.repeat(262_144);
    const cache = { policy: { maxAgeS: 1, validate } };
    await hub.calls.updateQuery({ queryId, query: 'é'.repeat(262_144), cache, moreVersions: [] }, ctx());
    await hub.setText(queryId, 'SELECT 9');
    expect((await hub.versionsOf(queryId)).map(([number]) => number)).toEqual([9, 8]);
  });
}

function describeDeletions(current: Current): void {
  it('leave nothing behind if the query is deleted during a change', async () => {
    const hub = current();
    const queryId = await hub.create();
    await hub.setText(queryId, 'SELECT 2');
    hub.beforeReplace = async () => {
      await hub.calls.deleteQuery({ queryId, moreVersions: [] }, ctx()).catch(() => {});
      // As if the copy had been written after the deletion.
      const query = { id: queryId } as QueryDoc;
      const late = { id: `${queryId}/0000000002`, accountId, version: 1, hubId: hub.doc.id, query, bytes: 1 };
      await hub.store.queryVersions.insert(late);
    };
    await expect(hub.setText(queryId, 'SELECT 3')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await hub.copies()).toBe(0);
  });

  it('go with their query and hub, and with the next start after a crash', async () => {
    const hub = current();
    const [kept, deleted, lost] = [await hub.create(), await hub.create(), await hub.create()];
    for (const queryId of [kept, deleted, lost]) {
      await hub.setText(queryId, 'SELECT 2');
      await hub.setText(queryId, 'SELECT 3');
    }
    await hub.calls.deleteQuery({ queryId: deleted, moreVersions: [] }, ctx());
    expect(await hub.copies()).toBe(4);
    // The process was killed before it deleted the versions.
    await hub.store.queries.delete(accountId, lost);
    await sweepLeftovers(hub.store);
    expect(await hub.copies()).toBe(2);
    expect((await hub.versionsOf(kept)).map(([number]) => number)).toEqual([3, 2, 1]);
    await sweepHub(hub.store, hub.doc);
    expect(await hub.copies()).toBe(0);
  });
}

function describeOtherHubs(current: Current): void {
  it('of a query that an older hub wrote are its present state, with its number', async () => {
    const hub = current();
    const old = {
      ...leaf(hub.doc, createId('q', 1)),
      ...{
        version: 4,
        updatedAt: 7,
        sourceId: hub.sourceId,
        engine: 'postgres',
        command: 'SELECT',
        query: 'SELECT 1',
      },
      context: [],
    } as QueryDoc;
    await hub.store.queries.insert(old);
    const { versions } = await hub.calls.listQueryVersions({ queryId: old.id, page: undefined }, ctx());
    expect(versions).toMatchObject([{ number: 4, at: new Date(7), keyId: '', query: { query: 'SELECT 1' } }]);
    await hub.calls.updateQuery(
      { queryId: old.id, parentNodeId: hub.doc.queriesNodeId, moreVersions: [] },
      ctx(),
    );
    await hub.setText(old.id, 'SELECT 2');
    // During an upgrade, an older hub may change the query once more.
    const present = (await hub.store.queries.get(accountId, old.id)) as QueryDoc;
    await hub.store.queries.replace({ ...present, version: present.version + 1, query: 'SELECT 3' });
    expect(await hub.versionsOf(old.id)).toEqual([
      [6, 'SELECT 3'],
      [4, 'SELECT 1'],
    ]);
    await hub.restore(old.id, 4);
    expect(await hub.versionsOf(old.id)).toEqual([
      [7, 'SELECT 1'],
      [6, 'SELECT 3'],
      [4, 'SELECT 1'],
    ]);
  });

  it('that are newer than the query, as in a copy from two moments, are replaced', async () => {
    const hub = current();
    const queryId = await hub.create();
    const first = (await hub.store.queries.get(accountId, queryId)) as QueryDoc;
    for (const n of [2, 3, 4]) await hub.setText(queryId, `SELECT ${n}`);
    await hub.store.queries.delete(accountId, queryId);
    await hub.store.queries.insert(first);
    expect(await hub.versionsOf(queryId)).toEqual([[1, 'SELECT 1']]);
    await expect(hub.restore(queryId, 2)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await hub.setText(queryId, 'SELECT 5');
    await hub.setText(queryId, 'SELECT 6');
    expect(await hub.versionsOf(queryId)).toEqual([
      [3, 'SELECT 6'],
      [2, 'SELECT 5'],
      [1, 'SELECT 1'],
    ]);
  });
}
