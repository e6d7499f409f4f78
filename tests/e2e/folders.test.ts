import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, idShape } from '../support/hub.ts';

describe('folders', () => {
  let hubId: string;
  let sourceId: string;
  let queriesNodeId: string;
  let sourcesNodeId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'folders' })));
    sourceId = await createSource(hubId);
    const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
    [queriesNodeId, sourcesNodeId] = tree.children.map((node: { nodeId: string }) => node.nodeId);
  });

  const createFolder = (label: string, parentNodeId?: string) =>
    api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label, ...(parentNodeId ? { parentNodeId } : {}) }));

  const createQuery = async (parentNodeId: string) =>
    (
      await api.ok(
        api.post('/v1/queries', {
          hubId,
          label: 'in a folder',
          sourceId,
          query: 'SELECT 1 AS one',
          parentNodeId,
        }),
      )
    ).config.query.queryId as string;

  it('hold queries and other folders', async () => {
    const outer = await createFolder('outer');
    expect(outer).toEqual({
      hubId,
      nodeId: expect.stringMatching(idShape('hrt')),
      parentNodeId: queriesNodeId,
      nodeType: 'folder',
      nodeSubType: 'queries',
      label: 'outer',
    });
    const inner = await createFolder('inner', outer.nodeId);
    const queryId = await createQuery(inner.nodeId);
    const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
    const outerNode = tree.children[0].children.find(
      (node: { nodeId: string }) => node.nodeId === outer.nodeId,
    );
    expect(outerNode.children).toMatchObject([
      {
        nodeId: inner.nodeId,
        parentNodeId: outer.nodeId,
        nodeSubType: 'queries',
        children: [{ nodeId: queryId }],
      },
    ]);
  });

  it('are renamed and moved, but never into themselves', async () => {
    const a = await createFolder('a');
    const b = await createFolder('b', a.nodeId);
    const circle = await api.put(`/v1/folders/${a.nodeId}`, { parentNodeId: b.nodeId });
    expect([circle.status, circle.body.code]).toEqual([409, 'CONFLICT']);
    const moved = await api.ok(
      api.put(`/v1/folders/${b.nodeId}`, { label: 'b2', parentNodeId: queriesNodeId }),
    );
    expect(moved).toMatchObject({ label: 'b2', parentNodeId: queriesNodeId });
  });

  it('are deleted only when empty', async () => {
    const folder = await createFolder('to go');
    const queryId = await createQuery(folder.nodeId);
    const refused = await api.delete(`/v1/folders/${folder.nodeId}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'NOT_EMPTY']);
    expect(
      await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { parentNodeId: queriesNodeId } })),
    ).toEqual({});
    expect(await api.ok(api.delete(`/v1/folders/${folder.nodeId}`))).toEqual({});
    expect((await api.delete(`/v1/folders/${folder.nodeId}`)).status).toBe(404);
  });

  it('take only what belongs below them', async () => {
    const wrong = await api.post('/v1/queries', {
      hubId,
      label: 'misplaced',
      sourceId,
      query: 'SELECT 1',
      parentNodeId: sourcesNodeId,
    });
    expect(wrong.status).toBe(400);
    expect(wrong.body.errors).toMatchObject([{ pointer: '/parentNodeId' }]);
  });

  it('are never lost under concurrent creating and deleting', async () => {
    for (let round = 0; round < 5; round++) {
      const folder = await createFolder(`race ${round}`);
      const [created, deleted] = await Promise.all([
        api.post('/v1/queries', {
          hubId,
          label: 'racer',
          sourceId,
          query: 'SELECT 1',
          parentNodeId: folder.nodeId,
        }),
        api.delete(`/v1/folders/${folder.nodeId}`),
      ]);
      const tree = JSON.stringify(await api.ok(api.get(`/v1/hubs/${hubId}/contents`)));
      expect(tree.includes(folder.nodeId)).toBe(deleted.status !== 200);
      if (created.status === 200) {
        expect(deleted.status).toBe(409);
        expect(tree).toContain(created.body.config.query.queryId);
        // Both may step back from each other, but then the folder is still there.
      } else expect(created.status).toBe(404);
    }
  });

  it('stand below one another as far as a tree can be read', { timeout: 120_000 }, async () => {
    const deepest = [(await createFolder('level 1')).nodeId];
    for (let level = 2; level <= 64; level++) {
      deepest.push((await createFolder(`level ${level}`, deepest.at(-1))).nodeId);
    }
    const below = { label: 'level 65', parentNodeId: deepest.at(-1) };
    const refused = await api.post(`/v1/hubs/${hubId}/folders`, below);
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT']);
    const pair = [await createFolder('two'), undefined];
    pair[1] = await createFolder('levels', pair[0].nodeId);
    const move = (to: string | undefined) =>
      api.put(`/v1/folders/${pair[0].nodeId}`, { parentNodeId: to }).then(({ status }) => status);
    expect(await move(deepest.at(-2))).toBe(409);
    expect(await move(deepest.at(-3))).toBe(200);
    expect((await api.get(`/v1/hubs/${hubId}/contents`)).status).toBe(200);
  });
});
