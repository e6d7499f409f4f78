import type { Node } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { meet, openCatalogWithHub } from '../catalog-fixture.ts';

let opened: Awaited<ReturnType<typeof openCatalogWithHub>>;
beforeEach(async () => {
  opened = await openCatalogWithHub();
});
afterEach(() => opened.store.close());

const move = (nodeId: string, parentNodeId: string) =>
  opened.calls.updateFolder({ nodeId, parentNodeId, moreVersions: [] }, opened.ctx());
const circle = { code: 'CONFLICT', message: 'A folder cannot be moved into itself or below itself.' };
/** The queries of the hub as nested labels. */
const tree = async () => {
  const { root } = await opened.calls.getHubContents({ hubId: opened.hub.id }, opened.ctx());
  const textOf = ({ label, children }: Node): string =>
    children.length === 0 ? label : `${label}(${children.map(textOf).join(' ')})`;
  return textOf(root?.children[0] as Node);
};

describe('two folders that are moved into each other at the same time', () => {
  it('never both succeed, and stay in the tree', async () => {
    for (let pair = 0; pair < 10; pair++) {
      const [a, b] = [await opened.createFolder(`a${pair}`), await opened.createFolder(`b${pair}`)];
      const results = await Promise.allSettled([move(a, b), move(b, a)]);
      const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(refused.length).toBeGreaterThan(0);
      for (const reason of refused) expect(reason).toMatchObject(circle);
      expect(await tree()).toMatch(
        refused.length === 2
          ? new RegExp(`a${pair} b${pair}`)
          : new RegExp(`a${pair}\\(b${pair}\\)|b${pair}\\(a${pair}\\)`),
      );
    }
  });

  it('stay apart if one is moved between the check and the write of the other', async () => {
    const [a, b] = [await opened.createFolder('A'), await opened.createFolder('B')];
    meet(opened.store.folders, 'replace', { when: 'before', other: () => move(b, a) });
    await expect(move(a, b)).rejects.toMatchObject(circle);
    expect(await tree()).toBe('Queries(A(B))');
  });

  it('are moved to the root if the old place is below the folder meanwhile', async () => {
    const [old, b] = [await opened.createFolder('old'), await opened.createFolder('B')];
    const a = await opened.createFolder('A', old);
    const other = async () => {
      await move(b, a);
      await opened.store.folders
        .get('a', old)
        .then((doc) =>
          opened.store.folders.replace({ ...(doc as NonNullable<typeof doc>), parentNodeId: b, version: 2 }),
        );
    };
    meet(opened.store.folders, 'replace', { when: 'before', other });
    await expect(move(a, b)).rejects.toMatchObject(circle);
    expect(await tree()).toBe('Queries(A(B(old)))');
  });

  it('are moved apart later if the store fails after the write', async () => {
    const [a, b] = [await opened.createFolder('A'), await opened.createFolder('B')];
    const { find } = opened.store.folders;
    const other = async () => {
      await move(b, a);
      opened.store.folders.find = async () => {
        throw new HubError('UNAVAILABLE', 'away');
      };
    };
    meet(opened.store.folders, 'replace', { when: 'before', other });
    await expect(move(a, b)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    opened.store.folders.find = find;
    await opened.catalog.leftovers.retry();
    expect(await tree()).toBe('Queries(A(B))');
  });

  it('are shown at the root after a crash between the write and its check, with all that is in them', async () => {
    const [a, b] = [await opened.createFolder('A'), await opened.createFolder('B')];
    await opened.createFolder('in A', a);
    await opened.createQuery(b);
    const doc = await opened.store.folders.get('a', a);
    await move(b, a);
    await opened.store.folders.replace({ ...(doc as NonNullable<typeof doc>), parentNodeId: b, version: 2 });
    expect(await tree()).toBe('Queries(A(B(q) in A))');
    await move(a, opened.hub.queriesNodeId);
    expect(await tree()).toBe('Queries(A(B(q) in A))');
  });
});

it('a folder that is moved into one that is deleted meanwhile is moved back', async () => {
  const [a, b] = [await opened.createFolder('A'), await opened.createFolder('B')];
  const other = () => opened.calls.deleteFolder({ nodeId: b, moreVersions: [] }, opened.ctx());
  meet(opened.store.folders, 'replace', { when: 'before', other });
  await expect(move(a, b)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await opened.store.folders.get('a', a)).toMatchObject({ parentNodeId: opened.hub.queriesNodeId });
  expect(await tree()).toBe('Queries(A)');
});
