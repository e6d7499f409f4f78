import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

const isPostgres = engines.includes('postgres');

let hubId: string;
let counting: string;
let slow: string;
let writing: string;
const keys: string[] = [];

const ofQuery = (saved: any): string => saved.config.query.queryId;

beforeAll(async () => {
  if (!isPostgres) return;
  hubId = (await api.ok(api.post('/v1/hubs', { label: 'several' }))).hubId;
  const sourceId = await createSource(hubId, 'postgres');
  const create = async (query: string, more: object = {}) =>
    ofQuery(await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more })));
  const context = [{ key: 'n', type: 'decimal', value: 1 }];
  counting = await create('SELECT CAST(:n AS numeric) AS n', { context, path: 'counting' });
  slow = await create('SELECT pg_sleep(1.5), 7 AS n');
  writing = await create("INSERT INTO sales (region) VALUES ('x')", { command: 'INSERT' });
});

afterAll(async () => {
  await Promise.all(keys.map((keyId) => api.delete(`/v1/keys/${keyId}`)));
});

async function makeKey(more: object) {
  const { keyId, key } = await api.ok(
    api.post('/v1/keys', { name: 'several', scopes: ['queries:execute'], ...more }),
  );
  keys.push(keyId);
  return { keyId, key } as { keyId: string; key: string };
}

const ask = (executions: object[], options = {}) => api.post('/v1/queries/data', { executions }, options);

const lines = { headers: { accept: 'application/x-ndjson' } };

/** What `GET /v1/queries/:queryId/data` answers, as far as two answers agree. */
const alone = async (queryId: string, search = '', key?: string) => {
  const { status, body } = await api.get(
    `/v1/queries/${queryId}/data${search}`,
    key === undefined ? {} : { key },
  );
  const { instance: _, requestId: __, ...rest } = body;
  return { status, body: rest };
};
const withoutRequest = ({ status, body: { instance: _, requestId: __, ...body } }: any) => ({ status, body });

describe.runIf(isPostgres)('several executions in one call (needs PostgreSQL)', () => {
  it('answer in their order as each would alone, with all digits, and one that fails fails alone', async () => {
    const digits = '123456789012345678901.50';
    const raw = `{"executions":[{"queryId":"${counting}","values":{"n":${digits}}},{"queryId":"none"},
      {"hubId":"${hubId}","path":"counting","values":{"n":"2"},"options":{"meta":true,"numbers":"string"}},
      {"queryId":"${writing}"},{"queryId":"${counting}","values":{"other":1}},
      {"queryId":"${counting}","options":{"maxRows":0}},{"queryId":"${counting}","options":{"version":9}}]}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await api.post('/v1/queries/data', undefined, { raw, headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.text).toContain(`{"data":[{"n":"${digits}"}]}`);
    const { executions } = answer.body;
    expect(executions.map(({ index }: any) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(executions.map(({ status }: any) => status)).toEqual([200, 404, 200, 405, 400, 200, 409]);
    const [, missing, named, write, unknown, none, changed] = executions;
    expect(withoutRequest(missing)).toEqual(await alone('none'));
    expect(withoutRequest(write)).toEqual(await alone(writing));
    expect(named.body.data).toEqual([{ n: '2' }]);
    expect(named.body.meta.columns).toEqual([{ name: 'n', type: 'numeric' }]);
    expect(unknown.body.errors[0].pointer).toBe('/executions/4/values/other');
    expect(none).toMatchObject({ limit: 'request', body: { data: [], truncated: true } });
    expect(changed.body).toMatchObject({ code: 'VERSION_CHANGED', version: 1 });
  });

  it('take a list as it is written, whatever its length', async () => {
    const sourceId = await createSource(hubId, 'postgres');
    const create = async (query: string, context: object[]) =>
      ofQuery(await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'lists', query, context })));
    const among = await create('SELECT g FROM generate_series(1, 9) AS g WHERE g IN (:ids)', [
      { key: 'ids', type: 'bigint[]', value: [1, 2, 3] },
    ]);
    const document = await create('SELECT CAST(:j AS jsonb) AS j', [{ key: 'j', type: 'json', value: 0 }]);
    const single = await create('SELECT :n + 1 AS n', [{ key: 'n', type: 'integer', value: 0 }]);
    const of = async (queryId: string, values: object) =>
      (await api.ok(ask([{ queryId, values }]))).executions[0];
    for (const ids of [[], [4], [4, '5']])
      expect((await of(among, { ids })).body.data).toEqual(ids.map((id) => ({ g: Number(id) })));
    for (const j of [[], [1], ['1'], [1, '2']])
      expect((await of(document, { j })).body.data).toEqual([{ j }]);
    for (const n of [[], [4], [4, 5]]) expect((await of(single, { n })).status).toBe(400);
  });

  it('come as lines as soon as each is complete', async () => {
    const executions = [{ queryId: slow }, { queryId: counting }, { queryId: 'none' }];
    const response = await fetch(`${inject('hub').url}/v1/queries/data`, {
      method: 'POST',
      headers: {
        ...lines.headers,
        'content-type': 'application/json',
        'x-service-api-key': inject('hub').key,
      },
      body: JSON.stringify({ executions }),
    });
    expect(response.headers.get('content-type')).toContain('application/x-ndjson');
    const arrived: { index: number; at: number }[] = [];
    let rest = '';
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) arrived.push({ index: JSON.parse(line).index, at: performance.now() });
    }
    expect(rest).toBe('');
    const [first, second, last] = arrived;
    expect([first?.index, second?.index].sort()).toEqual([1, 2]);
    expect(last?.index).toBe(0);
    expect((last?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThan(500);
    const whole = await api.ok(ask(executions));
    expect(whole.executions.map(({ index }: any) => index)).toEqual([0, 1, 2]);
  });

  it('are executed with the limits of the key, and each counts against its rate', async () => {
    const { key } = await makeKey({ limits: { queryIds: [counting], context: { n: 5 }, ratePerMinute: 4 } });
    const asked = [counting, slow, counting, counting, counting].map((queryId) => ({ queryId }));
    const { executions } = await api.ok(ask(asked, { key }));
    expect(executions.map(({ status }: any) => status)).toEqual([200, 403, 200, 200, 429]);
    expect(executions[0].body.data).toEqual([{ n: 5 }]);
    expect(executions[4].body.code).toBe('RATE_LIMITED');
    expect(Number(executions[4].headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask(asked, { key })).status).toBe(429);
  });

  it('use the cache of their queries', async () => {
    const sourceId = (await api.ok(api.get(`/v1/queries/${counting}`))).config.source.sourceId;
    const body = { hubId, sourceId, label: 'q', query: 'SELECT random() AS r', cache: { maxAgeS: 60 } };
    const queryId = ofQuery(await api.ok(api.post('/v1/queries', body)));
    const read = async (headers = {}) => (await api.ok(ask([{ queryId }], { headers }))).executions[0];
    const first = await read();
    const second = await read();
    expect(second.body).toEqual(first.body);
    expect(second.headers['cache-status']).toContain('data-hub; hit');
    expect(Number(second.headers.age)).toBeGreaterThanOrEqual(0);
    expect((await read({ 'cache-control': 'no-cache' })).body).not.toEqual(first.body);
  });

  it('are counted and kept as runs one by one', async () => {
    const { keyId, key } = await makeKey({});
    const failing = ofQuery(
      await api.ok(
        api.post('/v1/queries', {
          hubId,
          sourceId: (await api.ok(api.get(`/v1/queries/${counting}`))).config.source.sourceId,
          label: 'q',
          query: 'SELECT 1 / (random() * 0) AS x',
        }),
      ),
    );
    await api.ok(
      ask([{ queryId: counting }, { queryId: counting }, { queryId: failing }, { queryId: 'none' }], { key }),
    );
    // What names no query is not counted.
    const used = async () => {
      const { count, failed } = await api.ok(api.get(`/v1/keys/${keyId}/usage`));
      return [count, failed];
    };
    await expect.poll(used, { timeout: 20_000 }).toEqual([3, 1]);
    const runs = async () => {
      const kept = await api.ok(api.get(`/v1/queries/${failing}/runs`));
      return kept.map(({ outcome }: any) => outcome);
    };
    await expect.poll(runs, { timeout: 20_000 }).toEqual(['failed']);
  });

  it('run six at once, and none after the client has left', async () => {
    const sourceId = await createSource(hubId, 'postgres');
    const save = async (query: string, source: string) =>
      ofQuery(await api.ok(api.post('/v1/queries', { hubId, sourceId: source, label: 'q', query })));
    const sleeping = await save("SELECT pg_sleep(30), 'several-sleep' AS mark", sourceId);
    const watching = await save(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%several-sleep%' AND state = 'active' AND pid <> pg_backend_pid()",
      await createSource(hubId, 'postgres'),
    );
    const running = async () => (await api.ok(api.get(`/v1/queries/${watching}/data`))).data[0].n;
    const client = new AbortController();
    const left = fetch(`${inject('hub').url}/v1/queries/data`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-api-key': inject('hub').key },
      body: JSON.stringify({ executions: Array(20).fill({ queryId: sleeping }) }),
      signal: client.signal,
    }).catch(() => undefined);
    await expect.poll(running, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await running()).toBeLessThanOrEqual(6);
    client.abort();
    await left;
    await expect.poll(running, { timeout: 20_000 }).toBe(0);
    const runs = await api.ok(api.get(`/v1/queries/${sleeping}/runs`));
    expect(runs.length).toBeLessThanOrEqual(6);
  });

  it.each([
    ['none', { executions: [] }, '/executions'],
    ['too many', { executions: Array(51).fill({ queryId: 'x' }) }, '/executions'],
    ['no name', { executions: [{}] }, '/executions/0'],
    ['two names', { executions: [{ queryId: 'x', hubId: 'x', path: 'x' }] }, '/executions/0'],
    ['a path without its hub', { executions: [{ path: 'x' }] }, '/executions/0'],
    [
      'a value that no address can say',
      { executions: [{ queryId: 'x', values: { a: {} } }] },
      '/executions/0/values/a',
    ],
  ])('with %s are refused', async (_, body, pointer) => {
    const answer = await api.post('/v1/queries/data', body);
    expect([answer.status, answer.body.errors?.[0]?.pointer]).toEqual([400, pointer]);
  });

  it('come in JSON or NDJSON', async () => {
    const accept = (type: string) => ask([{ queryId: counting }], { headers: { accept: type } });
    expect((await accept('text/csv')).status).toBe(406);
    expect((await accept('text/csv, application/json;q=0.5')).status).toBe(200);
  });
});
