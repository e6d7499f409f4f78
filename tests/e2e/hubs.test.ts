import { describe, expect, inject, it } from 'vitest';
import { api, idShape, timestamp } from '../support/hub.ts';

describe('POST /v1/hubs', () => {
  it('answers the new hub', async () => {
    const { status, body, headers } = await api.post('/v1/hubs', { label: '  Sales — Übersicht 📊 ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      hubId: expect.stringMatching(idShape('hub')),
      label: 'Sales — Übersicht 📊',
      archived: 0,
      createdAt: expect.stringMatching(timestamp),
      updatedAt: null,
    });
    expect(headers.get('etag')).toBe('"1"');
    expect(headers.get('x-request-id')).toBeTruthy();
  });
});

describe('GET /v1/hubs', () => {
  it('lists ten by default, twenty at most, in order of creation', async () => {
    const made: string[] = [];
    for (let i = 0; i < 22; i++)
      made.push((await api.ok(api.post('/v1/hubs', { label: `page ${i}` }))).hubId);

    const first = await api.get('/v1/hubs');
    expect(first.body).toHaveLength(10);
    const total = Number(first.headers.get('x-total-count'));
    expect(total).toBeGreaterThanOrEqual(22);
    expect(first.headers.get('link')).toContain('rel="next"');

    const most = await api.get('/v1/hubs?limit=1000');
    expect(most.body).toHaveLength(20);

    const listAll = async () => {
      const seen: string[] = [];
      for (let offset = 0; offset < total; offset += 7) {
        const page = await api.ok(api.get(`/v1/hubs?offset=${offset}&limit=7`));
        seen.push(...page.map((hub: { hubId: string }) => hub.hubId));
      }
      expect(new Set(seen).size).toBe(seen.length);
      return seen.filter((id) => made.includes(id));
    };
    // Other tests delete hubs of this account, which moves the pages that are read after it.
    await expect.poll(listAll).toEqual(made);
  });

  it('lowers a limit that is too high, however high', async () => {
    for (const limit of ['21', '9'.repeat(20), '9'.repeat(400)]) {
      const { status, body } = await api.get(`/v1/hubs?limit=${limit}`);
      expect([status, body.length]).toEqual([200, 20]);
    }
    expect(await api.ok(api.get(`/v1/hubs?offset=${'9'.repeat(20)}`))).toEqual([]);
  });

  it.each(['limit=-1', 'limit=x', 'offset=1.5', 'offset=', 'limit=1&limit=2'])(
    'refuses ?%s',
    async (query) => {
      const { status, body } = await api.get(`/v1/hubs?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        code: 'VALIDATION',
        errors: [{ pointer: expect.stringMatching(/^query\//) }],
      });
    },
  );
});

describe('PUT /v1/hubs/:hubId', () => {
  it('renames, answers an empty object, and moves updatedAt only when something changed', async () => {
    const hub = await api.ok(api.post('/v1/hubs', { label: 'before' }));
    expect(await api.ok(api.put(`/v1/hubs/${hub.hubId}`, { label: 'before' }))).toEqual({});
    expect((await api.ok(api.get(`/v1/hubs/${hub.hubId}`))).updatedAt).toBeNull();

    expect(await api.ok(api.put(`/v1/hubs/${hub.hubId}`, { label: 'after' }))).toEqual({});
    const after = await api.ok(api.get(`/v1/hubs/${hub.hubId}`));
    expect(after).toMatchObject({ label: 'after', updatedAt: expect.stringMatching(timestamp) });

    expect(await api.ok(api.put(`/v1/hubs/${hub.hubId}`, after))).toEqual({});
    expect(await api.ok(api.get(`/v1/hubs/${hub.hubId}`))).toEqual(after);
  });

  it('honours If-Match', async () => {
    const { body: hub, headers } = await api.post('/v1/hubs', { label: 'v1' });
    const path = `/v1/hubs/${hub.hubId}`;
    const etag = headers.get('etag') as string;
    expect((await api.put(path, { label: 'v2' }, { headers: { 'if-match': etag } })).status).toBe(200);
    const stale = await api.put(path, { label: 'v3' }, { headers: { 'if-match': etag } });
    expect(stale.status).toBe(412);
    expect(stale.body.code).toBe('VERSION_MISMATCH');
    expect((await api.ok(api.get(path))).label).toBe('v2');
  });

  it.skipIf(inject('hub').losesUpdates)('loses no update of many at once', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'start' }));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.put(`/v1/hubs/${hubId}`, { label: `label ${i}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await api.get(`/v1/hubs/${hubId}`)).headers.get('etag')).toBe('"21"');
  });
});

describe('GET /v1/hubs/:hubId/contents', () => {
  it('answers the root with its two categories', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'tree' }));
    const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
    const category = (nodeSubType: string, label: string) => ({
      hubId,
      nodeId: expect.stringMatching(idShape('hrt')),
      parentNodeId: hubId,
      nodeType: 'category',
      nodeSubType,
      label,
      children: [],
    });
    expect(tree).toEqual({
      hubId,
      nodeId: hubId,
      parentNodeId: null,
      nodeType: 'root',
      label: 'tree',
      children: [category('queries', 'Queries'), category('sources', 'Sources')],
    });
  });
});

describe('archiving', () => {
  it('takes a hub off the list and brings it back', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'old' }));
    const listed = async (query: string) => {
      const { headers } = await api.get(`/v1/hubs${query}`);
      const total = Number(headers.get('x-total-count'));
      const pages = await Promise.all(
        Array.from({ length: Math.ceil(total / 20) }, (_, i) =>
          api.ok(api.get(`/v1/hubs?limit=20&offset=${i * 20}${query.replace('?', '&')}`)),
        ),
      );
      return pages.flat().some((hub) => hub.hubId === hubId);
    };
    await api.ok(api.post(`/v1/hubs/${hubId}/archive`));
    expect([await listed(''), await listed('?archived=1')]).toEqual([false, true]);
    await api.ok(api.post(`/v1/hubs/${hubId}/unarchive`));
    expect([await listed(''), await listed('?archived=1')]).toEqual([true, false]);
  });
});

describe('DELETE /v1/hubs/:hubId', () => {
  it('refuses a hub that is not empty, unless asked to take everything', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'full' }));
    const folder = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'f' }));
    const refused = await api.delete(`/v1/hubs/${hubId}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'NOT_EMPTY']);
    expect((await api.get(`/v1/hubs/${hubId}`)).status).toBe(200);

    expect(await api.ok(api.delete(`/v1/hubs/${hubId}?recursive=true`))).toEqual({});
    expect((await api.get(`/v1/hubs/${hubId}`)).status).toBe(404);
    expect((await api.put(`/v1/folders/${folder.nodeId}`, { label: 'g' })).status).toBe(404);
  });

  it('deletes an empty one', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'empty' }));
    expect(await api.ok(api.delete(`/v1/hubs/${hubId}`))).toEqual({});
    expect((await api.get(`/v1/hubs/${hubId}/contents`)).status).toBe(404);
  });
});
