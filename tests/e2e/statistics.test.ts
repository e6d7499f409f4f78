import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';

const { replicas, otherKey } = inject('hub');
let hubId: string;
let sourceId: string;
/** Sees the queries of this file alone: other tests run more queries than a list has. */
let hubKey: string;

const store = async (label: string, more: object = {}): Promise<string> => {
  const body = { hubId, sourceId, label, query: 'SELECT id FROM sales WHERE id <= :n', ...more };
  return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
};
const execute = (queryId: string, n: unknown, key?: string) =>
  api.post('/v1/queries/execute', { queryId, context: { n } }, key === undefined ? {} : { key });
const stats = (queryId: string) => api.ok(api.get(`/v1/queries/${queryId}/stats`));
const ranked = async (search: string, key = hubKey) => {
  const { queries } = await api.ok(api.get(`/v1/stats?${search}`, { key }));
  return queries.filter((query: { hubId: string }) => query.hubId === hubId);
};
const labels = (queries: { label: string }[]) => queries.map(({ label }) => label);

beforeAll(async () => {
  hubId = (await api.ok(api.post('/v1/hubs', { label: 'counted' }))).hubId;
  sourceId = await createSource(hubId);
  const limited = { name: 'hub', scopes: ['queries:read'], limits: { hubIds: [hubId] } };
  hubKey = (await api.ok(api.post('/v1/keys', limited))).key;
});

describe('the statistics of a query', () => {
  it('are the exact sums over all executors, with percentiles', async () => {
    const queryId = await store('summed');
    const answers = await Promise.all(Array.from({ length: 60 }, () => execute(queryId, 3)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    for (let i = 0; i < 4; i++) expect((await execute(queryId, undefined)).body.code).toBe('CONTEXT_INVALID');
    const { lastHour, sinceStart, executors, missing } = await stats(queryId);
    expect(lastHour).toEqual(sinceStart);
    expect(lastHour).toMatchObject({
      count: 64,
      failed: 4,
      errors: [{ code: 'CONTEXT_INVALID', count: 4 }],
      cacheHits: 0,
      rows: answers.reduce((sum, { body }) => sum + body.data.length, 0),
      bytes: answers.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    });
    expect(missing).toEqual([]);
    const listed = await api.ok(api.get(`/v1/queries?hubId=${hubId}&stats=1&signature=1`));
    const { stats: few, signature } = listed.find((one: any) => one.config.query.queryId === queryId);
    expect(few.sinceStart).toEqual({ count: 64, failed: 4, totalMs: sinceStart.totalMs });
    expect(signature === null || signature.columns.length > 0).toBe(true);
    expect(executors).toHaveLength(replicas);
    for (const { since } of executors) expect(since).toMatch(timestamp);
    const { queueMs, databaseMs, totalMs } = lastHour;
    for (const { p50, p95, p99 } of [queueMs, databaseMs, totalMs]) {
      expect(p50).toBeGreaterThan(0);
      expect(p95).toBeGreaterThanOrEqual(p50);
      expect(p99).toBeGreaterThanOrEqual(p95);
    }
    expect(totalMs.p99).toBeGreaterThanOrEqual(databaseMs.p50);
  });

  it('count calls that the cache answers', async () => {
    const queryId = await store('cached', { cache: { maxAgeS: 600 } });
    const [first] = [await execute(queryId, 2), await execute(queryId, 2), await execute(queryId, 2)];
    expect((await stats(queryId)).sinceStart).toMatchObject({
      count: 3,
      failed: 0,
      cacheHits: 2,
      rows: 3 * first.body.data.length,
      bytes: 3 * first.text.length,
    });
  });

  it('are counted by version, and by windows of the last hour', async () => {
    const queryId = await store('changed');
    for (let i = 0; i < 3; i++) await execute(queryId, 2);
    const query = 'SELECT id, region FROM sales WHERE id <= :n';
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { query: { query } } }));
    await execute(queryId, 2);
    const { versions, windows } = await stats(queryId);
    expect(versions).toEqual(
      [3, 1].map((count, i) => ({
        version: i + 1,
        count,
        failed: 0,
        cacheHits: 0,
        databaseMs: expect.any(Object),
        totalMs: expect.any(Object),
      })),
    );
    // The calls may stand in two windows, and executors may not have begun a window at the same time.
    expect(windows.length).toBeGreaterThanOrEqual(12);
    expect(windows.reduce((sum: number, one: { count: number }) => sum + one.count, 0)).toBe(4);
    for (const { start, count, failed, totalMs } of windows) {
      expect(Date.parse(start) % 300_000).toBe(0);
      expect([failed, totalMs === null]).toEqual([0, count === 0]);
    }
  });

  it('are empty before the first call', async () => {
    const { sinceStart, windows, versions } = await stats(await store('unused'));
    expect([windows, versions]).toEqual([[], []]);
    expect(sinceStart).toMatchObject({
      count: 0,
      errors: [],
      queueMs: null,
      databaseMs: null,
      totalMs: null,
    });
  });

  it('are ranked by p99, errors or rows, in the last hour or since the start', async () => {
    const many = await store('many rows');
    const failing = await store('failing');
    for (let i = 0; i < 2; i++) await execute(many, 1_000);
    for (let i = 0; i < 3; i++) await execute(failing, undefined);
    for (const window of ['lastHour', 'sinceStart']) {
      const byRows = await ranked(`sort=rows&limit=100&window=${window}`);
      const rows = byRows.map((query: Record<string, { rows: number }>) => query[window]?.rows);
      expect(rows).toEqual(rows.toSorted((a: number, b: number) => b - a));
      expect(labels(byRows)).toContain('many rows');
      expect(labels(byRows)).not.toContain('unused');
      const failed = await ranked(`sort=errors&limit=100&window=${window}`);
      expect(failed.find(({ label }: { label: string }) => label === 'failing')).toMatchObject({
        queryId: failing,
        [window]: { count: 3, failed: 3, totalMs: null },
      });
      expect(labels(failed)).not.toContain('many rows');
    }
    const { queries, ...rest } = await api.ok(api.get('/v1/stats?limit=1'));
    expect(queries).toHaveLength(1);
    expect(rest).toMatchObject({ sort: 'p99', window: 'lastHour', missing: [] });
  });

  it('refuse unknown parameters and values', async () => {
    const queryId = await store('strict');
    for (const [path, word] of [
      ['/v1/stats?sort=slowest', 'p99, errors, rows'],
      ['/v1/stats?window=day', 'lastHour, sinceStart'],
      ['/v1/stats?limit=-1', 'whole number'],
      ['/v1/stats?hubId=x', 'sort, window, limit'],
      [`/v1/queries/${queryId}/stats?window=lastHour`, 'no parameters'],
      [`/v1/queries/${queryId}/usage?days=7`, 'no parameters'],
    ] as const) {
      const { status, body } = await api.get(path);
      expect([status, body.code]).toEqual([400, 'VALIDATION']);
      expect(body.detail).toContain(word);
    }
  });

  it('are of the queries that the key may read', async () => {
    const [one, two] = [await store('limited'), await store('out of limits')];
    for (const queryId of [one, two]) await execute(queryId, 1);
    const makeKey = async (scopes: string[], limits: object = {}) =>
      (await api.ok(api.post('/v1/keys', { name: 'stats', scopes, limits }))).key as string;
    const limited = await makeKey(['queries:read'], { queryIds: [one] });
    expect(labels(await ranked('limit=100', limited))).toEqual(['limited']);
    expect((await api.get(`/v1/queries/${two}/stats`, { key: limited })).status).toBe(403);
    const elsewhere = (await api.ok(api.post('/v1/hubs', { label: 'elsewhere' }))).hubId;
    const outside = await makeKey(['queries:read'], { hubIds: [elsewhere] });
    expect((await api.ok(api.get('/v1/stats', { key: outside }))).queries).toEqual([]);
    const executing = await makeKey(['queries:execute']);
    for (const path of ['/v1/stats', `/v1/queries/${one}/stats`, `/v1/queries/${one}/usage`])
      expect((await api.get(path, { key: executing })).status).toBe(403);
    expect(await ranked('limit=100', otherKey)).toEqual([]);
    for (const path of ['stats', 'usage'])
      expect((await api.get(`/v1/queries/${one}/${path}`, { key: otherKey })).status).toBe(404);
  });

  it('leave with the query', async () => {
    const queryId = await store('deleted');
    await execute(queryId, 1);
    expect(labels(await ranked('limit=100'))).toContain('deleted');
    await api.ok(api.delete(`/v1/queries/${queryId}`));
    expect(labels(await ranked('limit=100'))).not.toContain('deleted');
    expect((await api.get(`/v1/queries/${queryId}/stats`)).status).toBe(404);
  });
});

describe('the usage of a query', () => {
  it('is counted by key and day, with names for keys that may list keys', async () => {
    const queryId = await store('used');
    const { keyId, key } = await api.ok(api.post('/v1/keys', { name: 'shop', scopes: ['*'] }));
    for (let i = 0; i < 5; i++) await execute(queryId, 1, key);
    await execute(queryId, 1);
    await execute(queryId, undefined, key);
    const usage = (as?: string) =>
      api.ok(api.get(`/v1/queries/${queryId}/usage`, as === undefined ? {} : { key: as }));
    const used = await vi.waitFor(
      async () => {
        const answer = await usage();
        expect(answer).toMatchObject({ count: 7, failed: 1, totalKeys: 2 });
        return answer;
      },
      { timeout: 60_000, interval: 250 },
    );
    expect(Date.parse(used.to) - Date.parse(used.from)).toBe(29 * 86_400_000);
    const [first, second] = used.keys;
    expect(first).toMatchObject({ keyId, name: 'shop', count: 6, failed: 1 });
    expect(second).toMatchObject({ name: expect.any(String), count: 1, failed: 0 });
    // A test at midnight has two days.
    expect(first.days.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(6);
    const reader = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['queries:read'] }));
    expect((await usage(reader.key)).keys[0]).toEqual({ ...first, name: undefined });
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    expect((await usage()).keys[0]).toMatchObject({ keyId, name: null });
  });
});

describe('the usage of a query that no request executes by its own route', () => {
  it('counts the runs of watches, comparisons of rows, and texts to label', async () => {
    const queryId = await store('used besides', { query: "SELECT 'late' AS body" });
    const body = { hubId, queryId, label: 'w', schedule: { everyS: 86_400 }, when: 'always' };
    const { watchId } = await api.ok(api.post('/v1/watches', body));
    await api.ok(api.post(`/v1/watches/${watchId}/run`));
    const draft = { sourceId, query: "SELECT 'lost' AS body", compareTo: queryId };
    await api.ok(api.post('/v1/queries/check', draft));
    await api.ok(api.post('/v1/queries/check', { ...draft, diff: true }));
    const { id } = await api.ok(api.post('/v1/classifiers', {}));
    const examples = ['late', 'early'].map((context) => ({ label: context, context }));
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
    await api.ok(api.get(`/v1/classifiers/${id}/examples?sort=uncertain&text=body&queryId=${queryId}`));
    await expect
      .poll(async () => (await api.ok(api.get(`/v1/queries/${queryId}/usage`))).count, { timeout: 60_000 })
      .toBe(3);
    await api.ok(api.delete(`/v1/watches/${watchId}`));
  });
});

describe('the usage of a key', () => {
  it('is counted over all queries by day, for keys that may list keys', async () => {
    const { keyId, key } = await api.ok(api.post('/v1/keys', { name: 'all queries', scopes: ['*'] }));
    const [one, two] = [await store('first of a key'), await store('second of a key')];
    for (const queryId of [one, one, two]) await execute(queryId, 1, key);
    await execute(two, undefined, key);
    const path = `/v1/keys/${keyId}/usage`;
    const usage = await vi.waitFor(
      async () => {
        const answer = await api.ok(api.get(path));
        expect(answer).toMatchObject({ keyId, count: 4, failed: 1, users: 0 });
        return answer;
      },
      { timeout: 60_000, interval: 250 },
    );
    expect(usage).not.toHaveProperty('truncated');
    expect(Date.parse(usage.to) - Date.parse(usage.from)).toBe(29 * 86_400_000);
    // A test at midnight has two days.
    expect(usage.days.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(4);
    expect((await api.get(`${path}?days=7`)).body.detail).toContain('no parameters');
    const reader = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['queries:read'] }));
    expect((await api.get(path, { key: reader.key })).status).toBe(403);
    expect((await api.get(path, { key: otherKey })).status).toBe(404);
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    expect((await api.get(path)).status).toBe(404);
  });
});
