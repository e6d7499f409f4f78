import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BoardDoc } from '../../src/documents.ts';
import type { DestinationDoc } from '../../src/events/documents.ts';
import { sweepLeftovers } from '../../src/maintenance/deletion-sweep.ts';
import { meet, openCatalogWithHub } from '../catalog-fixture.ts';

type Opened = Awaited<ReturnType<typeof openCatalogWithHub>>;

let opened: Opened;
beforeEach(async () => {
  opened = await openCatalogWithHub();
});
afterEach(() => opened.store.close());

/** What the start of another process on the same store does. */
const startOther = () => sweepLeftovers(opened.store);
const actions = async () =>
  (await opened.store.audit.find({ accountId: 'a', limit: 100 })).map(({ action }) => action).toSorted();

describe('the deletion of a hub that must be empty', () => {
  beforeEach(async () => {
    await opened.store.sources.delete('a', 's');
  });
  const deleteHub = (of: Opened = opened) =>
    of.calls.deleteHub({ hubId: of.hub.id, recursive: false, moreVersions: [] }, of.ctx());
  const storedHub = () => opened.store.hubs.get('a', opened.hub.id);
  const notEmpty = { code: 'NOT_EMPTY' };

  it('loses nothing that is created before the tombstone, also if another process starts', async () => {
    let folder = '';
    const { replace } = opened.store.hubs;
    opened.store.hubs.replace = async (...args) => {
      opened.store.hubs.replace = replace;
      folder = await opened.createFolder('made meanwhile');
      const isWritten = await replace.apply(opened.store.hubs, args);
      await startOther();
      return isWritten;
    };
    await expect(deleteHub()).rejects.toMatchObject(notEmpty);
    expect(await opened.store.folders.get('a', folder)).toMatchObject({ label: 'made meanwhile' });
    expect(await storedHub()).toEqual({ ...opened.hub, version: 3 });
    expect(await actions()).toEqual(['folder.create']);
  });

  it('is refused while it has a board, or a destination of no other hub', async () => {
    const { store, hub } = opened;
    const one = { accountId: 'a', version: 1 };
    await store.boards.insert({ ...one, id: 'b', hubId: hub.id } as BoardDoc);
    await expect(deleteHub()).rejects.toMatchObject(notEmpty);
    await store.boards.delete('a', 'b');
    const destination = { ...one, id: 'd', hubIds: [hub.id] } as DestinationDoc;
    await store.destinations.insert(destination);
    await expect(deleteHub()).rejects.toMatchObject(notEmpty);
    await store.destinations.replace({ ...destination, version: 2, hubIds: [hub.id, 'other'] });
    await deleteHub();
    expect(await store.destinations.get('a', 'd')).toMatchObject({ hubIds: ['other'] });
  });

  it('is done once if another process starts meanwhile', async () => {
    meet(opened.store.hubs, 'replace', { when: 'after', other: startOther });
    await deleteHub();
    expect(await storedHub()).toBeNull();
    expect(await actions()).toEqual(['hub.delete']);
  });

  it('deletes nothing of a hub that another process has restored since', async () => {
    // The hub looks empty to the deletion. Then another process sees a folder, which it restores the hub for.
    const count = opened.store.queries.count.bind(opened.store.queries);
    let looks = 0;
    opened.store.queries.count = async (filter) => {
      const found = await count(filter);
      if (++looks !== 2) return found;
      const tombstone = (await storedHub()) as NonNullable<Awaited<ReturnType<typeof storedHub>>>;
      const { deleted: _, deletedPath: path, ...hub } = tombstone;
      await opened.store.hubs.replace({ ...hub, path: path as string, deleting: 0, version: 3 });
      await opened.createFolder('made since');
      return found;
    };
    await expect(deleteHub()).rejects.toMatchObject(notEmpty);
    expect(await opened.store.folders.count({ accountId: 'a' })).toBe(1);
    expect(await storedHub()).toEqual({ ...opened.hub, version: 3 });
  });

  it('is finished by the next start after a crash', async () => {
    const crashed = new HubError('UNAVAILABLE', 'away');
    const crash = () => {
      meet(opened.store.hubs, 'replace', {
        when: 'after',
        other: async () => {
          const { count } = opened.store.folders;
          opened.store.folders.count = () => {
            opened.store.folders.count = count;
            return Promise.reject(crashed);
          };
        },
      });
      return expect(deleteHub()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: crashed });
    };
    await crash();
    expect(await storedHub()).toMatchObject({ deleting: 1 });
    const folder = await addFolder();
    await startOther();
    expect(await storedHub()).toEqual({ ...opened.hub, version: 3 });
    expect(await actions()).toEqual([]);
    await opened.store.folders.delete('a', folder.id);
    await crash();
    await startOther();
    expect(await storedHub()).toBeNull();
    expect(await actions()).toEqual(['hub.delete']);
  });

  /** As one that was created before the tombstone. */
  async function addFolder() {
    const { hub } = opened;
    const made = {
      id: 'f',
      accountId: 'a',
      version: 1,
      label: 'f',
      deleting: 0,
      createdAt: 1,
      updatedAt: null,
    };
    const place = { hubId: hub.id, parentNodeId: hub.queriesNodeId, nodeSubType: 'queries' as const };
    await opened.store.folders.insert({ ...made, ...place });
    return { ...made, ...place };
  }

  it('restores the hub without its path if another hub has taken it', async () => {
    const other = async () => {
      await addFolder();
      await opened.calls.createHub({ label: 'other', path: 'shop' }, opened.ctx());
    };
    meet(opened.store.hubs, 'replace', { when: 'after', other });
    await expect(deleteHub()).rejects.toMatchObject(notEmpty);
    const { path: _, ...unnamed } = opened.hub;
    expect(await storedHub()).toEqual({ ...unnamed, version: 3 });
  });
});

describe('the deletion of a folder', () => {
  const deleteFolder = (nodeId: string) =>
    opened.calls.deleteFolder({ nodeId, moreVersions: [] }, opened.ctx());

  it('deletes nothing that is put into the folder after another process has started', async () => {
    const folder = await opened.createFolder('F');
    const other = async () => {
      await startOther();
      await opened.createQuery(folder);
    };
    meet(opened.store.folders, 'delete', { when: 'before', other });
    await expect(deleteFolder(folder)).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(await opened.store.folders.get('a', folder)).toMatchObject({ label: 'F', deleting: 0 });
  });

  it('is done if another process starts meanwhile and the folder stays empty', async () => {
    const folder = await opened.createFolder('F');
    meet(opened.store.folders, 'delete', { when: 'before', other: startOther });
    await deleteFolder(folder);
    expect(await opened.store.folders.get('a', folder)).toBeNull();
    expect(await actions()).toEqual(['folder.create', 'folder.delete']);
  });

  it('by two callers succeeds for one', async () => {
    for (let n = 0; n < 10; n++) {
      const folder = await opened.createFolder('F');
      const results = await Promise.allSettled([deleteFolder(folder), deleteFolder(folder)]);
      const codes = results.map((one) => (one.status === 'rejected' ? one.reason.code : 'deleted'));
      expect(codes.toSorted()).toEqual(['NOT_FOUND', 'deleted']);
    }
  });

  it('takes its mark away if it is refused, also if the folder was renamed meanwhile', async () => {
    const folder = await opened.createFolder('F');
    const other = async () => {
      await opened.calls.updateFolder({ nodeId: folder, label: 'G', moreVersions: [] }, opened.ctx());
      await opened.store.queries.insert({ ...(await aQuery()), parentNodeId: folder });
    };
    meet(opened.store.folders, 'replace', { when: 'after', other });
    await expect(deleteFolder(folder)).rejects.toMatchObject({ code: 'NOT_EMPTY' });
    expect(await opened.store.folders.get('a', folder)).toMatchObject({ label: 'G', deleting: 0 });
    await opened.createQuery(folder);
  });

  /** As one that was created before the mark. */
  async function aQuery() {
    const { query } = await opened.createQuery();
    const doc = await opened.store.queries.get('a', query?.queryId as string);
    return { ...(doc as NonNullable<typeof doc>), id: 'q' };
  }
});
