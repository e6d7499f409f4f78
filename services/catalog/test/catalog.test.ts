import type { CompanionWrite } from '@datahub/document-store';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { createIdFactory } from '@datahub/service-kit/id';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Catalog,
  findParent,
  insertInHub,
  loadFolder,
  loadHub,
  loadQuery,
  loadSource,
  makeContext,
  remove,
  update,
} from '../src/catalog.ts';
import type { FolderDoc, HubDoc, QueryDoc, SourceDoc } from '../src/documents.ts';
import { makeFolder } from '../src/folder.ts';
import { makeHub, patchHub } from '../src/hub.ts';
import { openCatalogStore } from '../src/store.ts';
import { clockOf, leaf, principalOf } from './catalog-fixture.ts';

const createId = createIdFactory({ namespace: 'dh' });
const ours = principalOf('ours');
const theirs = principalOf('theirs');

/** An audit entry with an id of its own. */
const entry = (): CompanionWrite => {
  const doc = { id: createId('evt', 1), accountId: 'ours', version: 1, at: 1, action: 'hub.update' };
  return { collection: 'audit', doc };
};
const refused = (code: string, message: string) => expect.objectContaining({ code, message });

describe('the catalog', () => {
  let catalog: Catalog;
  let hub: HubDoc;
  let folder: FolderDoc;
  let query: QueryDoc;
  let source: SourceDoc;

  const make = (accountId = 'ours') => ({ accountId, nowMs: 1, createId });
  const addHub = async (accountId = 'ours', change: Partial<HubDoc> = {}) => {
    const made = { ...makeHub({ label: 'h' }, make(accountId)), ...change };
    await catalog.store.hubs.insert(made);
    return made;
  };
  const addFolder = async (of: HubDoc, change: Partial<FolderDoc> = {}) => {
    const parent = { nodeId: of.queriesNodeId, nodeSubType: 'queries' as const };
    const made = { ...makeFolder({ label: 'f', hub: of, parent }, make(of.accountId)), ...change };
    await catalog.store.folders.insert(made);
    return made;
  };

  beforeEach(async () => {
    const store = await openCatalogStore('sqlite::memory:');
    catalog = { store, createId, nowMs: () => 42, eventClock: clockOf(() => 42) } as unknown as Catalog;
    hub = await addHub();
    folder = await addFolder(hub);
    query = { ...leaf(hub, 'dh.q.1'), sourceId: 's' } as QueryDoc;
    source = leaf(hub, 'dh.src.1') as SourceDoc;
    await catalog.store.queries.insert(query);
    await catalog.store.sources.insert(source);
  });
  afterEach(() => catalog.store.close());

  it('makes things for the caller’s account alone', () => {
    const ctx = createCallContext({ timeoutMs: 60_000, principal: ours });
    expect(makeContext(catalog, ctx)).toEqual({ accountId: 'ours', nowMs: 42, createId, principal: ours });
    const nobody = createCallContext({ timeoutMs: 60_000 });
    expect(() => makeContext(catalog, nobody)).toThrow(expect.objectContaining({ code: 'KEY_MISSING' }));
  });

  const loads = {
    hub: (principal: Principal, id = hub.id) => loadHub(catalog, principal, id),
    folder: (principal: Principal, id = folder.id) => loadFolder(catalog, principal, id),
    source: (principal: Principal, id = source.id) => loadSource(catalog, principal, id),
    query: (principal: Principal, id = query.id) => loadQuery(catalog, principal, id),
  };

  describe.each(Object.entries(loads))('finds a %s', (what, load) => {
    const gone = refused('NOT_FOUND', `There is no such ${what}.`);

    it('of the caller’s account alone: a foreign one is as an unknown one', async () => {
      expect(await load(ours)).toEqual({ hub, folder, source, query }[what]);
      const unknown = await load(ours, 'dh.x.unknown').catch((err) => err);
      await expect(load(theirs)).rejects.toEqual(unknown);
      await expect(load(theirs)).rejects.toEqual(gone);
    });

    it('not in a hub that is being deleted, or is no more', async () => {
      await catalog.store.hubs.replace({ ...hub, deleting: 1, version: 2 });
      await expect(load(ours)).rejects.toEqual(gone);
      await catalog.store.hubs.delete('ours', hub.id);
      await expect(load(ours)).rejects.toEqual(gone);
    });

    it('only in the hubs that the key is limited to', async () => {
      const elsewhere = principalOf('ours', { hubIds: ['dh.hub.other'] });
      await expect(load(elsewhere)).rejects.toEqual(
        refused('SCOPE_DENIED', 'This key may not use this hub.'),
      );
      expect(await load(principalOf('ours', { hubIds: ['dh.hub.other', hub.id] }))).toBeDefined();
      expect(await load({ ...ours, limits: undefined })).toBeDefined();
    });
  });

  it('finds a query only if it is one that the key is limited to', async () => {
    await expect(loads.query(principalOf('ours', { queryIds: ['dh.q.2'] }))).rejects.toEqual(
      refused('SCOPE_DENIED', 'This key may not use this query.'),
    );
    expect(await loads.query(principalOf('ours', { queryIds: ['dh.q.2', query.id] }))).toEqual(query);
    expect(await loads.source(principalOf('ours', { queryIds: ['dh.q.2'] }))).toEqual(source);
  });

  describe('finds the parent of a new node', () => {
    const find = (nodeId: string | undefined, nodeSubType: 'queries' | 'sources' = 'queries', of = hub) =>
      findParent(catalog, of, { nodeId, nodeSubType });

    it('in the category, or in a folder of the hub', async () => {
      const queries = { nodeId: hub.queriesNodeId, nodeSubType: 'queries' };
      const sources = { nodeId: hub.sourcesNodeId, nodeSubType: 'sources' };
      expect(await find(undefined)).toEqual(queries);
      expect(await find(hub.queriesNodeId)).toEqual(queries);
      expect(await find(undefined, 'sources')).toEqual(sources);
      expect(await find(hub.sourcesNodeId, 'sources')).toEqual(sources);
      expect(await find(folder.id)).toEqual({ nodeId: folder.id, nodeSubType: 'queries' });
    });

    it('in no other hub, account, or folder that is going', async () => {
      const other = await addHub();
      const foreign = await addFolder(await addHub('theirs'));
      const going = await addFolder(hub, { deleting: 1 });
      const elsewhere = await addFolder(other);
      for (const id of [foreign.id, going.id, elsewhere.id, other.queriesNodeId, 'dh.hrt.unknown', '']) {
        await expect(find(id)).rejects.toEqual(refused('NOT_FOUND', 'There is no such parent node.'));
      }
    });

    it('only where nodes of its kind hang', async () => {
      const detail = 'is a node for queries, not for sources';
      for (const id of [hub.queriesNodeId, folder.id]) {
        await expect(find(id, 'sources')).rejects.toEqual(
          expect.objectContaining({
            code: 'VALIDATION',
            message: `parentNodeId ${detail}.`,
            errors: [{ path: ['parentNodeId'], detail }],
          }),
        );
      }
    });
  });

  describe('puts a node into a hub', () => {
    const insert = async (change: Partial<QueryDoc>) => {
      const doc = { ...query, id: 'dh.q.new', ...change } as QueryDoc;
      const [made, unmade] = [entry(), entry()];
      Object.assign(entries, { made: made.doc, unmade: unmade.doc });
      await insertInHub(catalog, { collection: catalog.store.queries, doc, made, unmade });
    };
    const entries: Record<string, unknown> = {};
    const audited = () => catalog.store.audit.find({ accountId: 'ours', limit: 10 });
    const inserted = () => catalog.store.queries.get('ours', 'dh.q.new');

    it('that is there, in its category or a folder', async () => {
      await insert({});
      expect(await inserted()).not.toBeNull();
      expect(await audited()).toEqual([entries.made]);
      await insert({ id: 'dh.q.2', parentNodeId: folder.id });
      expect(await catalog.store.queries.get('ours', 'dh.q.2')).not.toBeNull();
    });

    it('and takes it back if the hub is deleted meanwhile', async () => {
      await catalog.store.hubs.replace({ ...hub, deleting: 1, version: 2 });
      await expect(insert({})).rejects.toEqual(refused('NOT_FOUND', 'There is no such hub.'));
      expect(await inserted()).toBeNull();
      expect(new Set(await audited())).toEqual(new Set([entries.made, entries.unmade]));
      await catalog.store.hubs.delete('ours', hub.id);
      await expect(insert({})).rejects.toEqual(refused('NOT_FOUND', 'There is no such hub.'));
      expect(await inserted()).toBeNull();
    });

    it('and takes it back if the folder is deleted meanwhile', async () => {
      const going = await addFolder(hub, { deleting: 1 });
      await expect(insert({ parentNodeId: going.id })).rejects.toEqual(
        refused('NOT_FOUND', 'There is no such parent node.'),
      );
      expect(await inserted()).toBeNull();
    });
  });

  it('says that the outcome is unknown if the hub cannot be looked for after the node is in it', async () => {
    const insert = (fails: () => never) => {
      const { queries, hubs } = catalog.store;
      const failing = { ...catalog, store: { ...catalog.store, hubs: { ...hubs, get: fails } } } as Catalog;
      const doc = { ...query, id: createId('q', 1) };
      return insertInHub(failing, { collection: queries, doc, made: entry(), unmade: entry() });
    };
    for (const cause of [
      new HubError('UNAVAILABLE', 'away'),
      Object.assign(new Error(), { code: 'NOT_FOUND' }),
    ])
      await expect(
        insert(() => {
          throw cause;
        }),
      ).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', cause });
  });

  describe('changes a thing', () => {
    const rename = (
      label: string,
      { load = () => loads.hub(ours), expectedVersion = undefined as number | undefined } = {},
    ) =>
      update(catalog, {
        collection: catalog.store.hubs,
        load,
        change: (doc) => patchHub(doc, { label }),
        expected: { expectedVersion },
        entry: entry(),
      });

    it('by one version, and notes when', async () => {
      const changed = await rename('new');
      expect(changed).toEqual({ ...hub, label: 'new', version: 2, updatedAt: 42 });
      expect(await loads.hub(ours)).toEqual(changed);
    });

    it('not at all if nothing changes', async () => {
      expect(await rename('h')).toEqual(hub);
      expect(await loads.hub(ours)).toEqual(hub);
    });

    it('only at the version that the caller knows', async () => {
      const mismatch = refused(
        'VERSION_MISMATCH',
        'The resource has changed since you read it. Read it again, then repeat the change.',
      );
      await expect(rename('new', { expectedVersion: 2 })).rejects.toEqual(mismatch);
      expect(await rename('new', { expectedVersion: 1 })).toMatchObject({ version: 2 });
      expect(() => requireVersion(hub, { expectedVersion: 2 })).toThrow(mismatch);
      expect(() => requireVersion(hub, { expectedVersion: 0, moreVersions: [2, 3] })).toThrow(mismatch);
      requireVersion(hub, { expectedVersion: 1 });
      requireVersion(hub, { expectedVersion: 3, moreVersions: [2, 1] });
      requireVersion(hub, {});
    });

    it('one after the other if several come at once, and gives up if they never end', async () => {
      await Promise.all(['a', 'b', 'c', 'd'].map((label) => rename(label)));
      expect((await loads.hub(ours)).version).toBe(5);
      let loaded = 0;
      const stale = async () => {
        loaded++;
        return hub;
      };
      await expect(rename('late', { load: stale })).rejects.toEqual(
        expect.objectContaining({
          code: 'UNAVAILABLE',
          message: 'Too many concurrent changes to the same document. Try again.',
          retryable: true,
        }),
      );
      expect(loaded).toBe(50);
    });
  });

  describe('deletes a thing', () => {
    const drop = (expected?: Expected, load = () => loads.hub(ours)) =>
      remove({ collection: catalog.store.hubs, load, entry: entry(), ...(expected && { expected }) });

    it('at any version if the caller names none', async () => {
      // Also where it was changed since it was looked at.
      await update(catalog, {
        collection: catalog.store.hubs,
        load: () => loads.hub(ours),
        change: (doc) => patchHub(doc, { label: 'changed' }),
        entry: entry(),
      });
      await drop(undefined, async () => hub);
      await expect(loads.hub(ours)).rejects.toEqual(refused('NOT_FOUND', 'There is no such hub.'));
    });

    it('only at a version that the caller knows, and never what was changed in between', async () => {
      await expect(drop({ expectedVersion: 2 })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' });
      let looked = 0;
      const changing = async () => {
        const found = await loads.hub(ours);
        if (looked++ === 0) await catalog.store.hubs.replace({ ...found, version: 2 });
        return found;
      };
      await expect(drop({ expectedVersion: 1 }, changing)).rejects.toMatchObject({
        code: 'VERSION_MISMATCH',
      });
      expect(looked).toBe(2);
      await drop({ expectedVersion: 1, moreVersions: [2] });
      await expect(loads.hub(ours)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('gives up if others keep changing it', async () => {
      let loaded = 0;
      const stale = async () => {
        loaded++;
        return { ...hub, version: 7 };
      };
      await expect(drop({ expectedVersion: 7 }, stale)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        retryable: true,
      });
      expect(loaded).toBe(50);
      expect(await loads.hub(ours)).toEqual(hub);
    });
  });
});
