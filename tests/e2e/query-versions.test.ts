import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';

let hubId: string;
let sourceId: string;
let keyId: string;

beforeAll(async () => {
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'versions' })));
  sourceId = await createSource(hubId);
  ({ keyId } = await api.ok(api.get('/v1/keys/current')));
});

async function create(change: object = {}): Promise<string> {
  const body = { hubId, sourceId, label: 'first', query: 'SELECT 1 AS n', ...change };
  return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
}
const pathOf = (queryId: string) => `/v1/queries/${queryId}`;
const setText = (queryId: string, query: string) =>
  api.ok(api.put(pathOf(queryId), { config: { query: { query } } }));
const versionsOf = (queryId: string) => api.ok(api.get(`${pathOf(queryId)}/versions`));
const restore = (queryId: string, version: number, options = {}) =>
  api.post(`${pathOf(queryId)}/restore`, { version }, options);
const numbersOf = async (queryId: string) =>
  (await versionsOf(queryId)).map(({ number }: { number: number }) => number);

const full = {
  command: 'SELECT',
  context: [
    { key: 'n', value: 9007199254740991, type: 'bigint', enum: [1, 9007199254740991], description: 'd' },
  ],
  cache: { maxAgeS: 60, validate: 'SELECT 1' },
  notNull: ['n'],
};

describe('the versions of a query', () => {
  it('begin with the query as it was created', async () => {
    const queryId = await create({ query: 'SELECT :n AS n', ...full });
    const { engine } = (await api.ok(api.get(pathOf(queryId)))).meta;
    expect(await versionsOf(queryId)).toEqual([
      {
        number: 1,
        at: expect.stringMatching(timestamp),
        keyId,
        label: 'first',
        text: 'SELECT :n AS n',
        sourceId,
        engine,
        ...full,
      },
    ]);
  });

  it('are named with the query and in lists, if asked', async () => {
    const queryId = await create();
    await setText(queryId, 'SELECT 2 AS n');
    const [{ number, at }] = await versionsOf(queryId);
    const latest = { number, at, keyId };
    expect(await api.ok(api.get(`${pathOf(queryId)}?latest=1`))).toMatchObject({ latest });
    expect(await api.ok(api.get(pathOf(queryId)))).not.toHaveProperty('latest');
    const listed = await api.ok(api.get(`/v1/queries?hubId=${hubId}&latest=1`));
    expect(listed.find((one: any) => one.config.query.queryId === queryId)).toMatchObject({ latest });
  });

  it('are made by every change, and by nothing else', async () => {
    const queryId = await create();
    const path = pathOf(queryId);
    const other = await createSource(hubId);
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'f' }));
    const { key, keyId: second } = await api.ok(
      api.post('/v1/keys', { name: 'second', scopes: ['queries:read', 'queries:write'] }),
    );
    await api.ok(api.put(path, { meta: { label: 'second' } }, { key }));
    await api.ok(api.put(path, { meta: { parentNodeId: nodeId } }));
    await api.ok(api.put(path, {}));
    await api.ok(api.put(path, { meta: { label: 'second' } }));
    await setText(queryId, 'SELECT 2 AS n');
    await api.ok(api.put(path, { config: { context: full.context } }));
    await api.ok(api.put(path, { config: { cache: full.cache, notNull: ['n'] } }));
    await api.ok(api.put(path, { config: { source: { sourceId: other } } }));
    const versions = await versionsOf(queryId);
    expect(
      versions.map((one: any) => [
        one.number,
        one.keyId === second ? 'second' : 'first',
        one.label,
        one.text,
      ]),
    ).toEqual([
      [7, 'first', 'second', 'SELECT 2 AS n'],
      [6, 'first', 'second', 'SELECT 2 AS n'],
      [5, 'first', 'second', 'SELECT 2 AS n'],
      [4, 'first', 'second', 'SELECT 2 AS n'],
      [2, 'second', 'second', 'SELECT 1 AS n'],
      [1, 'first', 'first', 'SELECT 1 AS n'],
    ]);
    expect(versions[0]).toMatchObject({ sourceId: other, cache: full.cache, notNull: ['n'] });
    expect(versions[1]).toMatchObject({ sourceId, cache: full.cache, notNull: ['n'], context: full.context });
    expect(versions[2]).not.toHaveProperty('cache');
    expect((await api.get(path)).headers.get('etag')).toBe('"7"');
  });

  it('are paged like the other lists', async () => {
    const queryId = await create();
    for (const n of [2, 3, 4, 5]) await setText(queryId, `SELECT ${n} AS n`);
    const page = async (search: string) => {
      const { body, headers } = await api.get(`${pathOf(queryId)}/versions?${search}`);
      return [body.map(({ number }: any) => number), headers.get('x-total-count')];
    };
    expect(await page('')).toEqual([[5, 4, 3, 2, 1], '5']);
    expect(await page('limit=2')).toEqual([[5, 4], '5']);
    expect(await page('offset=1&limit=2')).toEqual([[4, 3], '5']);
    expect(await page('offset=4&limit=9')).toEqual([[1], '5']);
    expect(await page('offset=5')).toEqual([[], '5']);
    expect(await page('limit=0')).toEqual([[], '5']);
    const { headers } = await api.get(`${pathOf(queryId)}/versions?limit=2`);
    expect(headers.get('link')).toContain('<?limit=2&offset=2>; rel="next"');
    expect((await api.get(`${pathOf(queryId)}/versions?limit=x`)).status).toBe(400);
  });

  // With several catalogs each change waits for a lease of a second.
  it.skipIf(inject('hub').replicas > 1)('are the last 100', { timeout: 120_000 }, async () => {
    const queryId = await create();
    for (let n = 2; n <= 103; n++) await setText(queryId, `SELECT ${n} AS n`);
    expect(await numbersOf(queryId)).toEqual(Array.from({ length: 100 }, (_, i) => 103 - i));
    expect((await restore(queryId, 3)).status).toBe(404);
    expect((await restore(queryId, 4)).status).toBe(200);
  });

  it.skipIf(inject('hub').losesUpdates)('are all there after parallel changes, each once', async () => {
    const queryId = await create();
    const texts = Array.from({ length: 12 }, (_, i) => `SELECT ${i + 2} AS n`);
    await Promise.all(texts.map((text) => setText(queryId, text)));
    const versions = await versionsOf(queryId);
    expect(versions.map(({ number }: any) => number)).toEqual(Array.from({ length: 13 }, (_, i) => 13 - i));
    expect(versions.map(({ text }: any) => text).sort()).toEqual(['SELECT 1 AS n', ...texts].sort());
  });

  it('are deleted with the query, and with its hub', async () => {
    const queryId = await create();
    await setText(queryId, 'SELECT 2 AS n');
    await api.ok(api.delete(pathOf(queryId)));
    expect((await api.get(`${pathOf(queryId)}/versions`)).status).toBe(404);
    expect((await restore(queryId, 1)).status).toBe(404);
    const hub = (await api.ok(api.post('/v1/hubs', { label: 'short' }))).hubId;
    const inHub = await create({ hubId: hub, sourceId: await createSource(hub) });
    await setText(inHub, 'SELECT 2 AS n');
    await api.ok(api.delete(`/v1/hubs/${hub}?recursive=true`));
    expect((await api.get(`${pathOf(inHub)}/versions`)).status).toBe(404);
  });
});

describe('restoring a version', () => {
  it('makes the query what it was, as a new version, in force at once', async () => {
    const queryId = await create({ query: 'SELECT :n AS n', ...full });
    const path = pathOf(queryId);
    const was = await api.ok(api.get(path));
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'kept' }));
    await api.ok(
      api.put(path, {
        meta: { label: 'other', parentNodeId: nodeId },
        config: {
          query: { query: 'SELECT 2 AS m' },
          context: [],
          cache: null,
          notNull: null,
          source: { sourceId: await createSource(hubId) },
        },
      }),
    );
    expect((await api.ok(api.post('/v1/queries/execute', { queryId }))).data).toEqual([{ m: 2 }]);
    const answer = await restore(queryId, 1);
    expect([answer.status, answer.body, answer.headers.get('etag')]).toEqual([200, {}, '"3"']);
    // A version has no folder: the query stays where it is.
    expect(await api.ok(api.get(path))).toEqual({ ...was, meta: { ...was.meta, parentNodeId: nodeId } });
    const { data } = await api.ok(api.post('/v1/queries/execute', { queryId }));
    expect(data).toEqual([{ n: '9007199254740991' }]);
    const [present, second, first] = await versionsOf(queryId);
    expect(present).toEqual({ ...first, number: 3, at: present.at, restoredFrom: 1 });
    expect([second.number, second.restoredFrom, first.number]).toEqual([2, undefined, 1]);
    const entries = await api.ok(api.get(`/v1/audit?resourceId=${queryId}&action=query.restore`));
    expect(entries).toMatchObject([{ keyId, count: 1, failed: 0 }]);
  });

  it('that is the present one changes nothing', async () => {
    const queryId = await create();
    expect((await restore(queryId, 1)).headers.get('etag')).toBe('"1"');
    await setText(queryId, 'SELECT 2 AS n');
    await setText(queryId, 'SELECT 1 AS n');
    expect((await restore(queryId, 1)).headers.get('etag')).toBe('"3"');
    expect(await numbersOf(queryId)).toEqual([3, 2, 1]);
  });

  it('honours If-Match and Idempotency-Key', async () => {
    const queryId = await create();
    await setText(queryId, 'SELECT 2 AS n');
    const refused = await restore(queryId, 1, { headers: { 'if-match': '"1"' } });
    expect([refused.status, refused.body.code]).toEqual([412, 'VERSION_MISMATCH']);
    const headers = { 'if-match': '"2"', 'idempotency-key': `restore ${queryId}`.replaceAll(' ', '-') };
    expect((await restore(queryId, 1, { headers })).status).toBe(200);
    const again = await restore(queryId, 1, { headers });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(await numbersOf(queryId)).toEqual([3, 2, 1]);
  });

  it('answers with the signature if asked', async () => {
    const queryId = await create();
    await setText(queryId, "SELECT ':x' AS n");
    await setText(queryId, 'SELECT 2 AS n');
    const { body } = await api.post(`${pathOf(queryId)}/restore?signature=1`, { version: 2 });
    expect(body.warnings).toMatchObject([{ code: 'QUOTED_VARIABLE' }]);
  });

  it('needs a version that there is', async () => {
    const queryId = await create();
    for (const version of [2, 4_294_967_295]) {
      const { status, body } = await restore(queryId, version);
      expect([status, body.code, body.detail]).toEqual([
        404,
        'NOT_FOUND',
        'There is no such version of this query.',
      ]);
    }
    for (const body of [{}, { version: 0 }, { version: '1' }, { version: 1.5 }, { version: 1, label: 'x' }]) {
      expect((await api.post(`${pathOf(queryId)}/restore`, body)).status).toBe(400);
    }
  });

  it('fails if its source is gone, unless the query still has it', async () => {
    const gone = await createSource(hubId);
    const queryId = await create({ sourceId: gone });
    await api.ok(api.put(pathOf(queryId), { config: { source: { sourceId } } }));
    await api.ok(api.delete(`/v1/sources/${gone}`));
    const { status, body } = await restore(queryId, 1);
    expect([status, body.code]).toEqual([409, 'SOURCE_GONE']);
    expect(await numbersOf(queryId)).toEqual([2, 1]);
  });

  it('needs the scopes and limits of a change', async () => {
    const queryId = await create();
    await setText(queryId, 'SELECT 2 AS n');
    const other = (await api.ok(api.post('/v1/hubs', { label: 'other' }))).hubId;
    const otherQuery = await create();
    const scopes = ['queries:read', 'queries:write'];
    const statuses = async (body: object) => {
      const { key } = await api.ok(api.post('/v1/keys', { name: 'limited', scopes, ...body }));
      const listed = await api.get(`${pathOf(queryId)}/versions`, { key });
      const restored = await restore(queryId, 1, { key });
      return [listed.status, restored.status];
    };
    expect(await statuses({ scopes: ['queries:read'] })).toEqual([200, 403]);
    expect(await statuses({ scopes: ['queries:execute'] })).toEqual([403, 403]);
    expect(await statuses({ limits: { hubIds: [other] } })).toEqual([403, 403]);
    expect(await statuses({ limits: { queryIds: [otherQuery] } })).toEqual([403, 403]);
    // As in a change, the key could otherwise bring back a text without the variable that it pins.
    expect(await statuses({ limits: { queryIds: [queryId] } })).toEqual([200, 403]);
    expect(await statuses({ limits: { context: { n: 1 } } })).toEqual([200, 403]);
    expect(await numbersOf(queryId)).toEqual([2, 1]);
    expect(await statuses({ limits: { hubIds: [hubId] } })).toEqual([200, 200]);
  });
});

describe('options.version', () => {
  it('runs the query only in this version, whatever answers the call', async () => {
    const queryId = await create({ cache: { maxAgeS: 60 } });
    const execute = (version: unknown) => api.post('/v1/queries/execute', { queryId, options: { version } });
    const read = (version: unknown) => api.get(`${pathOf(queryId)}/data?options.version=${version}`);
    for (const run of [execute, read]) expect((await run(1)).body.data).toEqual([{ n: 1 }]);
    await setText(queryId, 'SELECT 2 AS n');
    for (const run of [execute, read]) {
      const { status, body } = await run(1);
      expect([status, body.code, body.version]).toEqual([409, 'VERSION_CHANGED', 2]);
      expect((await run(2)).body.data).toEqual([{ n: 2 }]);
      for (const wrong of [0, 1.5, 'x', 4_294_967_296]) expect((await run(wrong)).status).toBe(400);
    }
    expect((await api.call('HEAD', `${pathOf(queryId)}/data?options.version=1`)).status).toBe(409);
  });

  it('stays the same when the query moves', async () => {
    const queryId = await create({ cache: { maxAgeS: 60 } });
    const read = () => api.get(`${pathOf(queryId)}/data?options.version=1`);
    await read();
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'moved to' }));
    await api.ok(api.put(pathOf(queryId), { meta: { parentNodeId: nodeId } }));
    expect((await read()).body.data).toEqual([{ n: 1 }]);
  });
});
