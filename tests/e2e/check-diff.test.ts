import { request } from 'node:http';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { processList } from '../support/databases.ts';
import { api, createSource, database, engines, execute as executeStored } from '../support/hub.ts';
import { createRandom } from '../support/random.ts';

interface Pair {
  before: string;
  after: string;
}

describe.each(engines)('the rows of two queries on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} diffs` })));
    sourceId = await createSource(hubId, engine);
  });

  const store = async (query: string, more: object = {}) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more }))).config.query
      .queryId as string;
  const run = (query: string, command?: string) =>
    executeStored({ hubId, sourceId, query, ...(command === undefined ? {} : { command }) });
  const check = async ({ before, after }: Pair, more: object = {}, key?: string) => {
    const compareTo = await store(before);
    const body = { sourceId, query: after, compareTo, diff: true, ...more };
    return api.post('/v1/queries/check', body, key === undefined ? {} : { key });
  };
  const diff = async (pair: Pair, more: object = {}) => (await api.ok(check(pair, more))).diff;

  it('counts what changed, with samples', async () => {
    const found = await diff({
      before: 'SELECT id, region, amount FROM sales',
      after:
        "SELECT id, CASE WHEN id = 2 THEN 'x' ELSE region END AS region, amount FROM sales WHERE id < 3 UNION ALL SELECT 9, 'new', 1.5",
    });
    const counts = { added: 1, removed: 1, changed: 1, unchanged: 1 };
    expect(found).toEqual({
      ...counts,
      samples: [
        {
          kind: 'changed',
          before: { id: 2, region: 'south', amount: 10.5 },
          after: { id: 2, region: 'x', amount: 10.5 },
        },
        { kind: 'removed', before: { id: 3, region: "o'hara", amount: 0.01 } },
        { kind: 'added', after: { id: 9, region: 'new', amount: 1.5 } },
      ].map((sample) => expect.objectContaining({ kind: sample.kind })),
    });
    expect(found.samples[0].after).toMatchObject({ id: 2, region: 'x' });
    expect(found.samples[1].before).toMatchObject({ id: 3, region: "o'hara" });
  });

  it('agrees with EXCEPT ALL on generated pairs', { timeout: 60_000 }, async () => {
    const next = createRandom(7);
    const random = (below: number) => Math.floor(next() * below);
    const table = () =>
      Array.from({ length: 1 + random(12) }, () => {
        const note = ['NULL', "'a'", "'b'", "'a\"b'"][random(4)];
        return `SELECT ${random(5)} AS k, ${note} AS note`;
      }).join(' UNION ALL ');
    const minus = (a: string, b: string) =>
      `(SELECT count(*) FROM (SELECT * FROM (${a}) a EXCEPT ALL SELECT * FROM (${b}) b) t)`;
    const agree = async ({ before, after }: Pair) => {
      const { added, removed, changed, unchanged } = await diff({ before, after });
      const counts = `SELECT ${minus(after, before)} AS more, ${minus(before, after)} AS less, (SELECT count(*) FROM (${after}) t) AS total`;
      const { more, less, total } = (await run(counts)).data[0];
      expect([added + changed, removed + changed, unchanged]).toEqual([more, less, total - more]);
    };
    const pairs = Array.from({ length: 30 }, () => ({ before: table(), after: table() }));
    for (let i = 0; i < pairs.length; i += 6) await Promise.all(pairs.slice(i, i + 6).map(agree));
  });

  // Only PostgreSQL keeps JSON as it was written.
  if (engine === 'postgres')
    it('takes equal JSON values for the same, however they are written', async () => {
      const text = `'{"b": [1.0, {"d": "\\u0041", "c": null}], "a": 1}'`;
      const pair = {
        before: `SELECT 1 AS id, ${text}::json AS v`,
        after: `SELECT 1 AS id, ${text}::jsonb AS v`,
      };
      expect(await diff(pair)).toMatchObject({ changed: 0, unchanged: 1 });
      expect(await diff({ ...pair, after: pair.after.replace('null', '0') })).toMatchObject({ changed: 1 });
    });

  it('passes values to both', async () => {
    const pair = {
      before: 'SELECT id FROM sales WHERE id = :id',
      after: 'SELECT id FROM sales WHERE id >= :id',
    };
    const context = [{ key: 'id', type: 'integer' }];
    expect(await diff(pair, { context, values: { id: 2 } })).toMatchObject({
      added: 1,
      removed: 0,
      unchanged: 1,
    });
    const { status, body } = await check(pair, { context, values: { id: 'x' } });
    expect([status, body.code, body.errors[0].pointer]).toEqual([422, 'CONTEXT_INVALID', '/values/id']);
  });

  it('reads one snapshot beside a writer', { timeout: 60_000 }, async () => {
    const table = `diff_${Math.random().toString(36).slice(2, 10)}`;
    await run(`CREATE TABLE ${table} (n int)`, 'CREATE');
    try {
      const insert = await store(`INSERT INTO ${table} VALUES (1)`, { command: 'INSERT' });
      let isDone = false;
      let written = 0;
      const writing = (async () => {
        while (!isDone) {
          await api.ok(api.post('/v1/queries/execute', { queryId: insert }));
          written++;
        }
      })();
      const text = `SELECT count(*) AS n FROM ${table}`;
      const pair = { before: text, after: `${text} WHERE n = 1` };
      for (let i = 0; i < 15; i++)
        expect(await diff(pair)).toMatchObject({ added: 0, removed: 0, changed: 0, unchanged: 1 });
      isDone = true;
      await writing;
      expect(written).toBeGreaterThan(0);
    } finally {
      await run(`DROP TABLE ${table}`, 'DROP');
    }
  });

  it('leaves nothing open after its client left', { timeout: 60_000 }, async () => {
    const mark = `left ${Math.random().toString(36).slice(2)}`;
    const sleep = engine === 'postgres' ? 'pg_sleep(20)' : 'SLEEP(20)';
    const compareTo = await store(`SELECT 1 AS n`);
    const own = engine === 'postgres';
    const countText = own
      ? `SELECT count(*) AS n FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%${mark}%' AND state <> 'idle'`
      : `SELECT count(*) AS n FROM ${processList(engine)} WHERE id <> connection_id() AND info LIKE '%${mark}%'`;
    const running = async () => (await run(countText)).data[0].n as number;
    const { url, key } = inject('hub');
    const call = request(`${url}/v1/queries/check`, {
      method: 'POST',
      headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
    });
    call.on('error', () => {});
    const query = `SELECT ${own ? `1 + length(${sleep}::text)` : sleep} AS n, '${mark}' AS mark`;
    call.end(JSON.stringify({ sourceId, query, compareTo, diff: true }));
    await expect.poll(running, { timeout: 60_000 }).toBe(1);
    call.destroy();
    await expect.poll(running, { timeout: 60_000 }).toBe(0);
    if (!own) return;
    const open = `SELECT count(*) AS n FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND usename = '${database(engine).user}' AND query LIKE '%${mark}%'`;
    expect((await run(open)).data).toEqual([{ n: 0 }]);
  });

  it('names what it cannot compare', async () => {
    const read = 'SELECT id FROM sales';
    const codeOf = async (pair: Pair, more: object = {}) => {
      const { status, body } = await check(pair, more);
      return [status, body.code];
    };
    const missing = await api.post('/v1/queries/check', { sourceId, query: read, diff: true });
    expect([missing.status, missing.body.errors[0].pointer]).toEqual([400, '/compareTo']);
    const other = await createSource(hubId, engine);
    expect(await codeOf({ before: read, after: read }, { sourceId: other })).toEqual([422, 'OPTION_REFUSED']);
    const numbers = 'WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 900)';
    const many = `${numbers} SELECT a.n FROM t a CROSS JOIN t b WHERE b.n <= 60`;
    expect(await codeOf({ before: read, after: many })).toEqual([422, 'LIMIT_EXCEEDED']);
    const broken = await api.ok(check({ before: read, after: 'SELECT nope FROM sales' }));
    expect([broken.signature, broken.diff]).toEqual([null, undefined]);
    const valued = await check({ before: read, after: 'SELECT id FROM sales WHERE id = :v' });
    expect([valued.body.code, valued.body.errors[0].pointer]).toEqual(['CONTEXT_INVALID', '/values/v']);
  });

  it('needs the scope to execute queries, because it answers rows', async () => {
    const pair = { before: 'SELECT id FROM sales', after: 'SELECT id FROM sales' };
    const keyWith = async (scopes: string[], limits: object = {}) =>
      (await api.ok(api.post('/v1/keys', { name: 'k', scopes, limits }))).key as string;
    expect((await check(pair, {}, await keyWith(['queries:write']))).status).toBe(403);
    const scopes = ['queries:write', 'queries:execute'];
    expect((await check(pair, {}, await keyWith(scopes))).body.diff).toMatchObject({ unchanged: 3 });
    const limited = await check(pair, {}, await keyWith(scopes, { maxRows: 2 }));
    expect([limited.status, limited.body.code]).toEqual([422, 'LIMIT_EXCEEDED']);
    const strict = await keyWith(scopes, { strict: true });
    const valued = { before: 'SELECT id FROM sales WHERE id = :v', after: pair.after };
    expect((await check(valued, { values: { v: 1 } }, strict)).body.diff).toMatchObject({ unchanged: 1 });
    const misspelt = await check(valued, { values: { v: 1, V: 1 } }, strict);
    expect([misspelt.status, misspelt.body.errors]).toEqual([
      422,
      [{ pointer: '/values/V', detail: 'is a variable of neither query' }],
    ]);
    const pinned = await check(pair, {}, await keyWith(scopes, { context: { id: 1 } }));
    expect(pinned.status).toBe(403);
  });
});
