import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource } from '../support/hub.ts';

/** Changes and deletes every resource that has an ETag with all forms of If-Match. */
describe('If-Match', () => {
  let hubId: string;
  let sourceId: string;
  beforeAll(async () => {
    hubId = (await api.ok(api.post('/v1/hubs', { label: 'conditions' }))).hubId;
    sourceId = await createSource(hubId);
  });
  const label = { label: 'new' };

  const kinds: [string, () => Promise<string>, object][] = [
    ['a hub', async () => `/v1/hubs/${(await api.post('/v1/hubs', { label: 'h' })).body.hubId}`, label],
    [
      'a folder',
      async () => `/v1/folders/${(await api.post(`/v1/hubs/${hubId}/folders`, { label: 'f' })).body.nodeId}`,
      label,
    ],
    ['a source', async () => `/v1/sources/${await createSource(hubId)}`, label],
    [
      'a query',
      async () => {
        const { body } = await api.post('/v1/queries', { hubId, sourceId, label: 'q', query: 'SELECT 1' });
        return `/v1/queries/${body.config.query.queryId}`;
      },
      { meta: label },
    ],
    [
      'a classifier',
      async () => `/v1/classifiers/${(await api.post('/v1/classifiers', {})).body.id}`,
      { name: 'new' },
    ],
  ];

  it.each(kinds)('of %s accepts a list and *, but no weak ETag', async (_name, make, change) => {
    const path = await make();
    const at = (tags: string) => ({ headers: { 'if-match': tags } });
    const statusOf = async (tags: string) => (await api.put(path, change, at(tags))).status;
    for (const never of ['W/"1"', 'W/"1", "9"', '"x"', '"9", "8"', '1', '"1", *']) {
      expect(await statusOf(never), never).toBe(412);
    }
    expect(await statusOf('"9", "1"')).toBe(200);
    expect(await statusOf('*')).toBe(200);
    const refused = await api.delete(path, at('W/"2", "1"'));
    expect([refused.status, refused.body.code]).toEqual([412, 'VERSION_MISMATCH']);
    expect((await api.delete(path, at('"1", "2"'))).status).toBe(200);
    for (const tags of ['*', '"1"', '"x"']) expect(await statusOf(tags), tags).toBe(404);
  });
});
