/** Tests of the names of queries and hubs, for every store: paths, names of tools, and what else makes no version. */

import { createQuota } from '@datahub/document-store/quota';
import type { CreateQueryRequest, UpdateQueryRequest } from '@datahub/proto/catalog/v1/catalog';
import { createCallContext } from '@datahub/service-kit/call/call';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../src/catalog.ts';
import type { SourceDoc } from '../src/documents.ts';
import { createLeftovers } from '../src/maintenance/leftovers.ts';
import { createHubCalls } from '../src/rpc/hubs.ts';
import { createInternalCalls } from '../src/rpc/internal.ts';
import { createQueryCalls } from '../src/rpc/queries.ts';
import { createQueryVersionCalls } from '../src/rpc/query-versions.ts';
import type { CatalogStore } from '../src/store.ts';
import { clockOf, leaf, principalOf } from './catalog-fixture.ts';

const createId = createIdFactory({ namespace: 'dh' });
const refused = (code: string, message: string) => expect.objectContaining({ code, message });
const ctx = (principal = principalOf('a')) => createCallContext({ timeoutMs: 60_000, principal });

async function openCatalog(open: () => Promise<CatalogStore>) {
  const store = await open();
  const published: string[] = [];
  const catalog = {
    store,
    createId,
    nowMs: () => 42,
    eventClock: clockOf(() => 42),
    namespace: 'dh',
    quota: createQuota(0),
    leftovers: createLeftovers(() => {}),
    checkStatement: () => [],
    changes: { publish: async (ids: string[]) => published.push(...ids) },
  } as unknown as Catalog;
  const calls = {
    ...createHubCalls(catalog),
    ...createQueryCalls(catalog),
    ...createQueryVersionCalls(catalog),
    ...createInternalCalls(catalog, { leaseMs: 1_000, queryRunsMax: 1_000 }),
  };
  const createHub = async (path?: string): Promise<{ hubId: string; sourceId: string }> => {
    const { hub } = await calls.createHub({ label: 'h', path }, ctx());
    const hubId = hub?.hubId as string;
    const doc = await store.hubs.get('a', hubId);
    const source = { ...leaf(doc as never, createId('src', 1)), engine: 'postgres', tls: {} } as SourceDoc;
    const sealed = { sealed: '', mask: '' };
    await store.sources.insert({ ...source, user: sealed, password: sealed, settingsVersion: 1 });
    return { hubId, sourceId: source.id };
  };
  const create = async (
    hub: { hubId: string; sourceId: string },
    more: Partial<CreateQueryRequest>,
  ): Promise<string> => {
    const request = { ...hub, label: 'q', query: 'SELECT 1', notNull: [], ...more };
    return (await calls.createQuery(request, ctx())).query?.queryId as string;
  };
  const change = async (queryId: string, more: Partial<UpdateQueryRequest>) =>
    (await calls.updateQuery({ queryId, moreVersions: [], ...more }, ctx())).query;
  const find = async (hub: string, path: string, principal = principalOf('a')) =>
    (await calls.findQuery({ hub, path }, ctx(principal))).queryId;
  return { store, calls, published, createHub, create, change, find };
}

type Opened = Awaited<ReturnType<typeof openCatalog>>;
const gone = refused('NOT_FOUND', 'There is no such query.');

export function describeNames(name: string, open: () => Promise<CatalogStore>): void {
  describe(`names in ${name}`, () => {
    let opened: Opened;
    beforeEach(async () => {
      opened = await openCatalog(open);
    });
    afterEach(() => opened.store.close());
    describeUniqueness(() => opened);
    describeDeletions(() => opened);
    describeChanges(() => opened);
  });
}

function describeUniqueness(opened: () => Opened): void {
  let hub: Opened;
  beforeEach(() => {
    hub = opened();
  });

  it('find a query by the id or the path of its hub', async () => {
    const shop = await hub.createHub('shop');
    const queryId = await hub.create(shop, { path: 'reports/by-region' });
    expect(await hub.find('shop', 'reports/by-region')).toBe(queryId);
    expect(await hub.find(shop.hubId, 'reports/by-region')).toBe(queryId);
    const resolved = await hub.calls.resolveQuery({ queryId }, ctx());
    expect(resolved.query).toMatchObject({ path: 'reports/by-region', hubPath: 'shop' });
    for (const [of, path] of [
      ['shop', 'reports'],
      ['other', 'reports/by-region'],
      ['dh.hub.other', 'reports/by-region'],
    ] as const)
      await expect(hub.find(of, path)).rejects.toEqual(gone);
    await expect(hub.find('shop', 'reports/by-region', principalOf('b'))).rejects.toEqual(gone);
    const limited = principalOf('a', { queryIds: ['dh.q.other'] });
    await expect(hub.find('shop', 'reports/by-region', limited)).rejects.toEqual(
      refused('SCOPE_DENIED', 'This key may not use this query.'),
    );
  });

  it('are unique: a path of a query in its hub, a path of a hub and a name of a tool in the account', async () => {
    const [shop, other] = [await hub.createHub('shop'), await hub.createHub()];
    const tool = { name: 'sales', description: 'd' };
    const queryId = await hub.create(shop, { path: 'a', tool });
    const taken = refused('PATH_TAKEN', `Another query of the hub ${shop.hubId} has the path a.`);
    await expect(hub.create(shop, { path: 'a' })).rejects.toEqual(taken);
    const named = refused('TOOL_NAME_TAKEN', 'Another query of the account is a tool with the name sales.');
    await expect(hub.create(other, { path: 'a', tool })).rejects.toEqual(named);
    const second = await hub.create(shop, { path: 'b' });
    await expect(hub.change(second, { path: 'a' })).rejects.toEqual(taken);
    await expect(hub.change(second, { tool: { tool } })).rejects.toEqual(named);
    expect((await hub.change(queryId, { path: 'a' }))?.version).toBe(1);
    await hub.create(other, { path: 'a' });
    const hubTaken = refused('PATH_TAKEN', 'Another hub of the account has the path shop.');
    await expect(hub.createHub('shop')).rejects.toEqual(hubTaken);
    const rename = hub.calls.updateHub({ hubId: other.hubId, path: 'shop', moreVersions: [] }, ctx());
    await expect(rename).rejects.toEqual(hubTaken);
  });
}

function describeDeletions(opened: () => Opened): void {
  let hub: Opened;
  beforeEach(() => {
    hub = opened();
  });

  it('are free again once removed, or once the query or hub is deleted', async () => {
    const shop = await hub.createHub('shop');
    const tool = { name: 'sales', description: 'd' };
    const first = await hub.create(shop, { path: 'a', tool });
    expect(await hub.change(first, { path: '', tool: {} })).toMatchObject({ path: undefined, version: 2 });
    const second = await hub.create(shop, { path: 'a', tool });
    expect(await hub.find('shop', 'a')).toBe(second);
    await hub.calls.deleteQuery({ queryId: second, moreVersions: [] }, ctx());
    await expect(hub.find('shop', 'a')).rejects.toEqual(gone);
    await hub.create(shop, { path: 'a', tool });
    await hub.calls.deleteHub({ hubId: shop.hubId, recursive: true, moreVersions: [] }, ctx());
    await expect(hub.find('shop', 'a')).rejects.toEqual(gone);
    const again = await hub.createHub('shop');
    const third = await hub.create(again, { path: 'a', tool });
    expect(await hub.find('shop', 'a')).toBe(third);
    await expect(
      hub.calls.deleteHub({ hubId: again.hubId, recursive: false, moreVersions: [] }, ctx()),
    ).rejects.toEqual(expect.objectContaining({ code: 'NOT_EMPTY' }));
    expect(await hub.find('shop', 'a')).toBe(third);
  });
}

function describeChanges(opened: () => Opened): void {
  let hub: Opened;
  beforeEach(() => {
    hub = opened();
  });

  it('are published when they change, so that executors read them anew', async () => {
    const shop = await hub.createHub('shop');
    const queryId = await hub.create(shop, { path: 'a' });
    hub.published.length = 0;
    await hub.change(queryId, { path: 'b' });
    await hub.calls.updateHub({ hubId: shop.hubId, path: 'store', moreVersions: [] }, ctx());
    await hub.calls.updateHub({ hubId: shop.hubId, label: 'x', moreVersions: [] }, ctx());
    expect(hub.published).toEqual([queryId, shop.hubId]);
    const resolved = await hub.calls.resolveQuery({ queryId }, ctx());
    expect(resolved.query).toMatchObject({ path: 'b', hubPath: 'store' });
  });

  it('make no version, and restoring a version leaves them', async () => {
    const shop = await hub.createHub();
    const queryId = await hub.create(shop, { path: 'a' });
    const tool = { tool: { description: 'd' } };
    await hub.change(queryId, { path: 'b', tool, presentationJson: '{"pinned":true}' });
    const list = async () =>
      (await hub.calls.listQueryVersions({ queryId, page: undefined }, ctx())).versions ?? [];
    expect((await list()).map(({ number }) => number)).toEqual([1]);
    await hub.change(queryId, { query: 'SELECT 2' });
    const versions = await list();
    expect(versions.map(({ number }) => number)).toEqual([3, 1]);
    await hub.change(queryId, { path: 'c' });
    await hub.create(shop, { path: 'b' });
    const { query } = await hub.calls.restoreQuery({ queryId, number: 1, moreVersions: [] }, ctx());
    expect(query).toMatchObject({
      query: 'SELECT 1',
      path: 'c',
      tool: { description: 'd' },
      presentationJson: '{"pinned":true}',
    });
    expect((await hub.change(queryId, { tool: {}, presentationJson: '' }))?.tool).toBeUndefined();
  });

  it('names every fault of a name', async () => {
    const shop = await hub.createHub();
    const faulty = hub.create(shop, {
      path: 'Reports//x',
      tool: { name: 'a b', description: '' },
      presentationJson: '[]',
      context: { variables: [{ key: 'pin', secret: true, valueJson: '1' }] },
    });
    const err = await faulty.catch((reason) => reason);
    expect(err.code).toBe('VALIDATION');
    const places = err.errors.map(({ path }: { path: string[] }) => path.join('.'));
    expect(places.toSorted()).toEqual([
      'context.0.value',
      'path',
      'presentation',
      'tool.description',
      'tool.name',
    ]);
    const large = hub.create(shop, {
      presentationJson: JSON.stringify({ chart: { x: 'é'.repeat(5_000) } }),
    });
    await expect(large).rejects.toThrow('8192 bytes');
    for (const path of ['a/b', 'Shop', '.', 'x'.repeat(201)])
      await expect(hub.createHub(path)).rejects.toThrow('path must have 1 to 200 characters');
  });
}
