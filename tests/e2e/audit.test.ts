import { describe, expect, inject, it, vi } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';
import { read } from '../support/streaming.ts';

const entriesOf = async (search: string) => api.ok(api.get(`/v1/audit?${search}`));

describe('the audit', () => {
  it('has an entry for each change, newest first, with who and on which request', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'audited' }));
    await api.ok(api.put(`/v1/hubs/${hubId}`, { label: 'renamed secretly' }));
    const { keyId, key } = await api.ok(api.post('/v1/keys', { name: 'auditor', scopes: ['*'] }));
    const removed = await api.call('DELETE', `/v1/hubs/${hubId}`, { key });
    const entries = await entriesOf(`resourceId=${hubId}`);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'hub.delete',
      'hub.update',
      'hub.create',
    ]);
    expect(entries[0]).toEqual({
      entryId: expect.any(String),
      at: expect.stringMatching(timestamp),
      keyId,
      action: 'hub.delete',
      resourceId: hubId,
      requestId: removed.headers.get('x-request-id'),
      count: 1,
      failed: 0,
    });
    expect(JSON.stringify(entries)).not.toContain('secretly');
    expect((await entriesOf(`resourceId=${keyId}`))[0]).toMatchObject({ action: 'key.create' });
  });

  it('names every kind of change', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'kinds' }));
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'a folder' }));
    const sourceId = await createSource(hubId);
    const query = { hubId, sourceId, label: 'kinds', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const { keyId } = await api.ok(api.post('/v1/keys', { name: 'kinds' }));
    const things = { folder: nodeId, source: sourceId, query: queryId };
    for (const [kind, id] of Object.entries(things)) {
      const path = kind === 'query' ? 'queries' : `${kind}s`;
      await api.ok(
        api.put(`/v1/${path}/${id}`, kind === 'query' ? { meta: { label: 'b' } } : { label: 'b' }),
      );
    }
    for (const [kind, id] of Object.entries(things).reverse()) {
      await api.ok(api.call('DELETE', `/v1/${kind === 'query' ? 'queries' : `${kind}s`}/${id}`));
    }
    await api.ok(api.post(`/v1/keys/${keyId}/rotate`, {}));
    await api.ok(api.call('DELETE', `/v1/keys/${keyId}`));
    for (const [kind, id] of Object.entries(things)) {
      const actions = (await entriesOf(`resourceId=${id}`)).map(({ action }: { action: string }) => action);
      expect(actions).toEqual([`${kind}.delete`, `${kind}.update`, `${kind}.create`]);
    }
    const ofKey = (await entriesOf(`resourceId=${keyId}`)).map(({ action }: { action: string }) => action);
    expect(ofKey).toEqual(['key.revoke', 'key.rotate', 'key.create']);
  });

  it('counts executions by query and key, and those that failed', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'counted' }));
    const query = {
      hubId,
      sourceId: await createSource(hubId),
      label: 'counted',
      query: 'SELECT 1/:by AS one',
    };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const { keyId, key } = await api.ok(api.post('/v1/keys', { name: 'counted', scopes: ['*'] }));
    const execute = (by: unknown) => api.post('/v1/queries/execute', { queryId, context: { by } }, { key });
    for (let i = 0; i < 7; i++) await execute(1);
    await execute('no number at all');
    await api.post('/v1/queries/execute', { queryId, context: { by: 1 } }, { key: 'not-a-key' });
    const failed = (await execute('no number at all')).status >= 400 ? 2 : 0;
    await vi.waitFor(
      async () => {
        const entries = await entriesOf(`resourceId=${queryId}&keyId=${keyId}&action=query.execute`);
        const sum = (name: 'count' | 'failed') =>
          entries.reduce(
            (total: number, entry: Record<string, number>) => total + (entry[name] as number),
            0,
          );
        expect([sum('count'), sum('failed')]).toEqual([9, failed]);
        expect(entries.length).toBeLessThanOrEqual(2);
      },
      { timeout: 60_000, interval: 250 },
    );
  });

  it('counts executions whose caller did not wait for the end of the answer', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'left' }));
    const factors = Array.from({ length: 12 }, (_, i) => `sales s${i}`).join(', ');
    const query = {
      hubId,
      sourceId: await createSource(hubId),
      label: 'left',
      query: `SELECT s0.id, REPEAT('x', 200) AS filler FROM ${factors}`,
    };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const reader = read(inject('hub'), { queryId });
    await reader.begun;
    reader.leave();
    await vi.waitFor(
      async () => {
        expect(await entriesOf(`resourceId=${queryId}&action=query.execute`)).toMatchObject([
          { count: 1, failed: 1 },
        ]);
      },
      { timeout: 60_000, interval: 250 },
    );
  });

  it('counts what classifiers are asked', async () => {
    const { id } = await api.ok(api.post('/v1/classifiers', { name: 'counted' }));
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { label: 'a', context: 'words' }));
    await api.ok(api.call('DELETE', `/v1/classifiers/${id}`));
    await vi.waitFor(
      async () => {
        const entries = await entriesOf(`resourceId=${id}`);
        expect(entries.map(({ action }: { action: string }) => action).sort()).toEqual([
          'classifier.create',
          'classifier.delete',
          'classifier.train',
        ]);
      },
      { timeout: 60_000, interval: 250 },
    );
  });

  it('is paged, for administrators of keys alone, and cannot be written', async () => {
    const page = await api.get('/v1/audit?limit=2');
    expect(page.body).toHaveLength(2);
    expect(Number(page.headers.get('x-total-count'))).toBeGreaterThan(2);
    const { key } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['hubs:read'] }));
    expect((await api.get('/v1/audit', { key })).status).toBe(403);
    const [{ at }] = page.body;
    expect((await entriesOf(`day=${at.slice(0, 10)}`)).length).toBeGreaterThan(2);
    expect(await entriesOf('day=2020-02-29')).toEqual([]);
    for (const day of ['2026-02-29', '2026-2-1', 'today'])
      expect((await api.get(`/v1/audit?day=${day}`)).body.errors).toEqual([
        { pointer: 'query/day', detail: 'must be a day, as in 2026-11-28' },
      ]);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await api.call(method, '/v1/audit', method === 'DELETE' ? {} : { body: {} })).status).toBe(405);
    }
  });
});
