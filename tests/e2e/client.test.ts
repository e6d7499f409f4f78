import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, ProblemError, type Query } from '../../packages/client/dist/index.js';
import { api, createSource, engines, sourceBody } from '../support/hub.ts';
import { scaled } from '../support/scale.ts';

const client = createClient(inject('hub'));
const engine = engines[0] as string;
const isPostgres = engine === 'postgres';

let hubId: string;
let sourceId: string;

beforeAll(async () => {
  ({ hubId } = await client.call('POST /v1/hubs', { body: { label: 'client' } }));
  sourceId = await createSource(hubId);
});

const store = async (query: string, change: object = {}) =>
  (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...change }))).config.query
    .queryId as string;

describe('@datahub/client', () => {
  it('executes, reads over GET and streams the same rows', async () => {
    const queryId = await store('SELECT id, region FROM sales WHERE id IN (:ids) ORDER BY id', {
      context: [{ key: 'ids', type: 'integer[]' }],
    });
    const query: Query<{ ids: number[] }, { id: number; region: string }> = { queryId, reads: true };
    const { data } = await client.execute(query, { ids: [1, 2] });
    expect(data.map(({ id }) => id)).toEqual([1, 2]);
    expect((await client.data(query, { ids: [1, 2] })).data).toEqual(data);
    const rows = client.rows(query, { ids: [1, 2] }, { maxRows: 1 });
    const seen: unknown[] = [];
    for await (const row of rows) seen.push(row);
    expect([seen, rows.truncated]).toEqual([data.slice(0, 1), true]);
  });

  it('calls the other routes, with the headers of an answer', async () => {
    let etag = '';
    const onResponse = ({ headers }: Response) => {
      etag = headers.get('etag') ?? '';
    };
    const hub = await client.call('GET /v1/hubs/{hubId}', { path: { hubId }, onResponse });
    expect(hub).toMatchObject({ hubId, label: 'client' });
    const rename = { path: { hubId }, body: { label: 'client 2' } };
    await client.call('PUT /v1/hubs/{hubId}', { ...rename, ifMatch: etag });
    const again = client.call('PUT /v1/hubs/{hubId}', { ...rename, ifMatch: etag });
    await expect(again).rejects.toMatchObject({ status: 412, code: 'VERSION_MISMATCH' });
  });

  it('runs a write with an Idempotency-Key once, also if it is repeated', async () => {
    const insert = await store('INSERT INTO scratch (id, label) VALUES (:id, :label)', { command: 'INSERT' });
    const run = () => client.execute(insert, { id: 7_001, label: 'once' }, { idempotencyKey: `k-${insert}` });
    expect(await run()).toEqual(await run());
    const count = await store('SELECT count(*) AS n FROM scratch WHERE id = 7001');
    expect((await client.execute(count)).data).toEqual([{ n: 1 }]);
  });

  it('throws an error if the rows are interrupted', async () => {
    const text = isPostgres
      ? 'SELECT n, 1 / (n - 30000) AS x, repeat($$x$$, 100) AS text FROM generate_series(1, 40000) n'
      : "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, IF(n = 800, (SELECT 1 UNION SELECT 2), 1) AS x, repeat('x', 2000) AS text FROM s";
    const failing = await store(text);
    let rows = 0;
    const loop = async () => {
      for await (const _row of client.rows(failing)) rows++;
    };
    const err = await loop().catch((err) => err);
    expect(err).toBeInstanceOf(ProblemError);
    expect(err.code).toBe('CUT_SHORT');
    expect(rows).toBeGreaterThan(0);
  });
});

it.runIf(isPostgres)(
  'the client reads a million rows in a heap that is too small to store them',
  async () => {
    const count = scaled(200_000, 1_000_000);
    const body = sourceBody(hubId);
    Object.assign(body.connectionSettings, { statementTimeoutMs: 55_000 });
    const patient = await client.call('POST /v1/sources', { body: { ...body, engine: 'postgres' } });
    const queryId = await store('SELECT n AS id, repeat($$x$$, 60) AS text FROM generate_series(1, :n) n', {
      context: [{ key: 'n', type: 'integer' }],
      sourceId: patient.sourceId,
    });
    const program = fileURLToPath(new URL('../../packages/client/test/read-rows.mjs', import.meta.url));
    const { url, key } = inject('hub');
    // The rows need at least 12 MB as text, and twice as much as objects. If the client stored them, the heap would
    // overflow.
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=16', program], {
      env: { ...process.env, HUB_URL: url, HUB_KEY: key, QUERY_ID: queryId, COUNT: String(count) },
    });
    expect(JSON.parse(stdout)).toMatchObject({ rows: count, lastId: count });
  },
  scaled(30_000, 300_000),
);
