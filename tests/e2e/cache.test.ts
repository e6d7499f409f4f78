import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute, sourceBody } from '../support/hub.ts';

const clock: Record<string, string> = {
  postgres: "SELECT CAST(clock_timestamp() AS text) AS at, :n AS n, repeat('x', 2000) AS filler",
  mariadb: "SELECT CAST(now(6) AS CHAR) AS at, :n AS n, repeat('x', 2000) AS filler",
  mysql: "SELECT CAST(now(6) AS CHAR) AS at, :n AS n, repeat('x', 2000) AS filler",
};
const context = [{ key: 'n', type: 'integer', value: 1 }];

describe.each(engines.filter((engine) => engine in clock))('a query with a cache on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'cache' })));
    sourceId = await createSource(hubId, engine);
  });

  const store = async (body: object = {}): Promise<string> => {
    const query = { hubId, sourceId, label: 'q', query: clock[engine], context, cache: { maxAgeS: 600 } };
    return (await api.ok(api.post('/v1/queries', { ...query, ...body }))).config.query.queryId;
  };
  /** `fetch` adds `no-cache` to a request with a condition, unless it has this header. */
  const ordinary = { 'cache-control': 'max-age=0' };
  const read = (queryId: string, headers: Record<string, string> = {}, search = '') =>
    api.get(`/v1/queries/${queryId}/data${search}`, { headers: { ...ordinary, ...headers } });
  const hit = /^data-hub; hit; ttl=5\d\d$/;
  const status = ({ headers }: { headers: Headers }) => headers.get('cache-status');

  it('answers GET, HEAD and POST from the cache', async () => {
    const queryId = await store();
    const first = await read(queryId);
    expect([first.status, status(first)], first.text).toEqual([200, 'data-hub; fwd=miss; stored; ttl=600']);
    const second = await read(queryId);
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(status(second)).toMatch(hit);
    expect(second.headers.get('cache-control')).toBe('private, max-age=600');
    expect(Number(second.headers.get('age'))).toBeGreaterThanOrEqual(1);
    const vary = second.headers.get('vary')?.toLowerCase().split(', ');
    expect(vary).toEqual(
      expect.arrayContaining(['x-service-api-key', 'accept', 'origin', 'accept-encoding']),
    );
    const posted = await api.post('/v1/queries/execute', { queryId });
    expect([posted.text, posted.headers.get('cache-control')]).toEqual([first.text, 'no-store']);
    expect([status(posted), posted.headers.get('etag')]).toEqual([expect.stringMatching(hit), null]);
    const path = `/v1/queries/${queryId}/data`;
    const head = await api.call('HEAD', path, { headers: { 'accept-encoding': 'identity' } });
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
      200,
      '',
      String(Buffer.byteLength(first.text)),
    ]);
  });

  it('caches answers by value, format, options and pinned variables', async () => {
    const queryId = await store();
    const keyOf = async (n: number) =>
      (await api.ok(api.post('/v1/keys', { name: 'pinned', limits: { context: { n } } }))).key;
    const pinned = await keyOf(2);
    const answers = [
      await read(queryId),
      await read(queryId, {}, '?n=2'),
      await read(queryId, { accept: 'application/x-ndjson' }),
      await read(queryId, {}, '?options.numbers=string'),
      await read(queryId, {}, '?options.numbers=number'),
      await read(queryId, {}, '?options.maxRows=1'),
      await api.get(`/v1/queries/${queryId}/data`, { key: pinned }),
    ];
    for (const answer of answers) expect(status(answer)).toContain('fwd=miss');
    expect(answers.at(-1)?.body.data[0].n).toBe(2);
    expect(status(await read(queryId, {}, '?n=1'))).toContain('hit');
    const meta = [await read(queryId, {}, '?options.meta=1'), await read(queryId, {}, '?options.meta=1')];
    expect(meta.map(status)).toEqual(['data-hub; fwd=miss', 'data-hub; fwd=miss']);
  });

  it('answers 304 to its ETags, one for each coding', async () => {
    const queryId = await store();
    const tags: string[] = [];
    for (const coding of ['identity', 'gzip', 'br', 'zstd']) {
      const { headers } = await read(queryId, { 'accept-encoding': coding });
      expect(headers.get('content-encoding')).toBe(coding === 'identity' ? null : coding);
      tags.push(headers.get('etag') as string);
      const same = await read(queryId, {
        'accept-encoding': coding,
        'if-none-match': `"x", W/${tags.at(-1)}`,
      });
      expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', tags.at(-1)]);
      for (const name of ['cache-control', 'vary', 'age', 'cache-status'])
        expect(same.headers.get(name)).not.toBeNull();
      expect(same.headers.get('content-type')).toBeNull();
    }
    expect(new Set(tags).size).toBe(4);
    expect(
      (await read(queryId, { 'accept-encoding': 'identity', 'if-none-match': tags[1] as string })).status,
    ).toBe(200);
    expect((await read(queryId, { 'if-none-match': '*' })).status).toBe(304);
    expect((await read(queryId, { 'if-none-match': tags[0] as string }, '?n=2')).status).toBe(200);
    const head = await api.call('HEAD', `/v1/queries/${queryId}/data`, {
      headers: { ...ordinary, 'accept-encoding': 'gzip', 'if-none-match': tags[1] as string },
    });
    expect(head.status).toBe(304);
  });

  it('checks the key before the cache', async () => {
    const queryId = await store();
    const { headers } = await read(queryId);
    const etag = { 'if-none-match': headers.get('etag') as string };
    const path = `/v1/queries/${queryId}/data`;
    const { key: other } = await api.ok(
      api.post('/v1/keys', { name: 'x', limits: { queryIds: [await store()] } }),
    );
    const { key: reader } = await api.ok(api.post('/v1/keys', { name: 'y', scopes: ['queries:read'] }));
    for (const [key, expected] of [
      [other, 403],
      [reader, 403],
      [inject('hub').otherKey, 404],
      ['nonsense', 401],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        for (const condition of [etag, { 'if-none-match': '*' }])
          expect((await api.call(method, path, { key, headers: { ...ordinary, ...condition } })).status).toBe(
            expected,
          );
      }
    }
  });

  it('answers the condition of a plain fetch, which adds no-cache, with 304', async () => {
    const queryId = await store({ query: 'SELECT 1 AS n', cache: { maxAgeS: 60 } });
    const { url, key } = inject('hub');
    const plain = (headers: Record<string, string>) =>
      fetch(`${url}/v1/queries/${queryId}/data`, { headers: { 'x-service-api-key': key, ...headers } });
    await (await plain({})).text();
    const first = await plain({});
    const etag = first.headers.get('etag') as string;
    await first.text();
    expect((await plain({ 'if-none-match': etag })).status).toBe(304);
    const unstored = await plain({ 'if-none-match': etag, 'cache-control': 'no-store' });
    expect([unstored.status, unstored.headers.get('cache-status')]).toEqual([
      200,
      expect.stringContaining('fwd=request'),
    ]);
    await unstored.text();
  });

  it('bypasses the cache for no-cache, and HEAD runs nothing', async () => {
    const queryId = await store();
    const path = `/v1/queries/${queryId}/data`;
    const empty = await api.call('HEAD', path);
    for (const name of ['etag', 'content-length']) expect(empty.headers.get(name)).toBeNull();
    expect(status(empty)).toBe('data-hub; fwd=miss');
    const kept = await read(queryId);
    expect(status(kept)).toContain('stored');
    for (const answer of [
      await read(queryId, { 'cache-control': 'no-cache' }),
      await api.post('/v1/queries/execute', { queryId }, { headers: { 'cache-control': 'no-cache' } }),
    ]) {
      expect(status(answer)).toBe('data-hub; fwd=request');
      expect(answer.text).not.toBe(kept.text);
    }
    expect((await read(queryId)).text).toBe(kept.text);
  });

  it('applies a change of the query or of its policy at once', async () => {
    const queryId = await store();
    const kept = await read(queryId);
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { cache: { maxAgeS: 300, staleS: 60 } } }));
    const changed = await read(queryId);
    expect(changed.headers.get('cache-control')).toBe('private, max-age=300, stale-while-revalidate=60');
    expect(changed.text).not.toBe(kept.text);
    const { config } = await api.ok(api.get(`/v1/queries/${queryId}`));
    expect(config.cache).toEqual({ maxAgeS: 300, staleS: 60 });
    await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: 'other' } }));
    expect((await api.ok(api.get(`/v1/queries/${queryId}`))).config.cache).toEqual({
      maxAgeS: 300,
      staleS: 60,
    });
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { cache: null } }));
    const uncached = await read(queryId);
    for (const name of ['cache-status', 'etag', 'age']) expect(uncached.headers.get(name)).toBeNull();
    expect(uncached.headers.get('cache-control')).toBe('no-store');
    expect((await api.ok(api.get(`/v1/queries/${queryId}`))).config).not.toHaveProperty('cache');
  });

  it('applies a change of the source at once', async () => {
    const source = await createSource(hubId, engine);
    const queryId = await store({ sourceId: source });
    const kept = await read(queryId);
    expect((await read(queryId)).text).toBe(kept.text);
    await api.ok(api.put(`/v1/sources/${source}`, { connectionSettings: { statementTimeoutMs: 9_000 } }));
    const changed = await read(queryId);
    expect(status(changed)).toContain('fwd=miss');
    const { connectionSettings } = sourceBody(hubId, engine);
    const closed = { connectionSettings: { ...connectionSettings, port: 1 } };
    await api.ok(api.put(`/v1/sources/${source}`, closed));
    expect((await read(queryId)).status).toBe(502);
    await api.ok(api.delete(`/v1/sources/${source}`));
    expect((await read(queryId, { 'if-none-match': '*' })).status).toBe(409);
  });

  it('runs once for concurrent calls', async () => {
    const queries: Record<string, string> = {
      postgres: 'SELECT CAST(clock_timestamp() AS text) AS at FROM (SELECT pg_sleep(0.3)) AS s',
      mariadb: 'SELECT CAST(sysdate(6) AS CHAR) AS at, sleep(0.3) AS s',
      mysql: 'SELECT CAST(sysdate(6) AS CHAR) AS at, sleep(0.3) AS s',
    };
    const queryId = await store({ query: queries[engine], context: [] });
    const answers = await Promise.all(Array.from({ length: 50 }, () => read(queryId)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const counts = answers.map(status).filter((text) => text === 'data-hub; fwd=miss; stored; ttl=600');
    expect(counts).toHaveLength(1);
  });

  it('renews an answer while its validation has the same value, in the snapshot of the query', async () => {
    const table = `validated_${engine}_${Date.now()}`;
    const write = (command: string, query: string) => execute({ hubId, sourceId, command, query });
    await write('CREATE', `CREATE TABLE ${table} (v int)`);
    await write('INSERT', `INSERT INTO ${table} VALUES (1)`);
    const sleep = engine === 'postgres' ? 'pg_sleep(0.4) IS NULL' : 'sleep(0.4)';
    // A time depends on the settings of the session, as the query's own columns do.
    const validate = `SELECT max(v) AS v, CAST('2026-11-28' AS date) AS day, ${sleep} AS s FROM ${table}`;
    const at = (clock[engine] as string).replace(/^SELECT/, '').split(' AS at')[0];
    const queryId = await store({
      query: `SELECT count(*) AS n, ${at} AS at, CAST('2026-11-28' AS date) AS day FROM ${table}`,
      context: [],
      cache: { maxAgeS: 0, validate },
    });
    const reading = read(queryId);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await write('INSERT', `INSERT INTO ${table} VALUES (2)`);
    const first = await reading;
    expect(status(first)).toContain('fwd=miss');
    // The row was added after the value was read, so the answer must not have it.
    expect(first.body.data[0].n).toBe(1);
    const second = await read(queryId);
    expect([status(second)?.includes('fwd=miss'), second.body.data[0].n]).toEqual([true, 2]);
    for (let turn = 0; turn < 2; turn++) {
      const renewed = await read(queryId);
      expect(renewed.text).toBe(second.text);
      expect(status(renewed)).toMatch(/^data-hub; fwd=stale; fwd-status=304; ttl=/);
      const same = await read(queryId, { 'if-none-match': renewed.headers.get('etag') as string });
      expect(same.status).toBe(304);
    }
    await write('DROP', `DROP TABLE ${table}`);
    expect((await read(queryId)).status).toBe(422);
  });

  it('tells NULL from the null of JSON', async () => {
    const table = `validated_json_${engine}_${Date.now()}`;
    const write = (command: string, query: string) => execute({ hubId, sourceId, command, query });
    await write('CREATE', `CREATE TABLE ${table} (j json, other json)`);
    await write('INSERT', `INSERT INTO ${table} VALUES ('null', NULL)`);
    const queryId = await store({
      query: `SELECT j IS NULL AS gone FROM ${table}`,
      context: [],
      cache: { maxAgeS: 0, validate: `SELECT j, other FROM ${table}` },
    });
    const [first, same] = [await read(queryId), await read(queryId)];
    expect([same.text, status(same)?.includes('fwd-status=304')]).toEqual([first.text, true]);
    await write('UPDATE', `UPDATE ${table} SET j = NULL`);
    const changed = await read(queryId);
    expect([status(changed)?.includes('fwd=miss'), changed.text === first.text]).toEqual([true, false]);
    await write('DROP', `DROP TABLE ${table}`);
  });

  it('runs the query if its validation fails', async () => {
    const queryId = await store({ cache: { maxAgeS: 0, validate: 'SELECT v FROM no_such_table_at_all' } });
    const [one, two] = [await read(queryId), await read(queryId)];
    for (const answer of [one, two])
      expect([answer.status, status(answer)?.includes('fwd=miss')]).toEqual([200, true]);
    expect(one.text).not.toBe(two.text);
  });

  it('writes nothing by a validation, and takes no answer of many rows for a value', async () => {
    const write = engine === 'postgres' ? 'SELECT write_row(77)' : 'SELECT write_row(77), write_scratch()';
    const many = 'SELECT id FROM sales';
    for (const validate of [write, many]) {
      const queryId = await store({ cache: { maxAgeS: 0, validate } });
      const [one, two] = [await read(queryId), await read(queryId)];
      for (const answer of [one, two])
        expect([validate, answer.status, status(answer)?.includes('fwd=miss')]).toEqual([
          validate,
          200,
          true,
        ]);
      expect(one.text).not.toBe(two.text);
    }
    const query = 'SELECT count(*) AS n FROM scratch WHERE id IN (77, 99)';
    expect((await execute({ hubId, sourceId, query })).data).toEqual([{ n: 0 }]);
  });

  it('streams an answer that is too large to cache', async () => {
    const query =
      engine === 'postgres'
        ? "SELECT repeat('x', 1000000) AS x FROM generate_series(1, 12)"
        : "SELECT repeat('x', 1000000) AS x FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3) a, (SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) b";
    const queryId = await store({ query, context: [] });
    for (let turn = 0; turn < 2; turn++) {
      const { status: code, text, headers } = await read(queryId, { 'accept-encoding': 'identity' });
      expect([code, headers.get('etag'), headers.get('cache-status')]).toEqual([
        200,
        null,
        'data-hub; fwd=miss',
      ]);
      expect(text.length).toBeGreaterThan(12_000_000);
    }
  });

  it('caches no failure', async () => {
    const queryId = await store({ query: 'SELECT * FROM no_such_table_yet', context: [] });
    for (let turn = 0; turn < 2; turn++) {
      const failed = await read(queryId);
      expect([failed.status, failed.headers.get('cache-control'), failed.headers.get('etag')]).toEqual([
        422,
        'no-store',
        null,
      ]);
    }
  });

  it.each([
    [{ cache: { maxAgeS: 86_401 } }, '/cache/maxAgeS'],
    [{ cache: { staleS: 1 } }, '/cache/maxAgeS'],
    [{ cache: { maxAgeS: 1, validate: 'DELETE FROM t' } }, '/cache/validate'],
    [{ cache: { maxAgeS: 1, validate: 'SELECT max(id) FROM t WHERE :w IS NULL' } }, '/cache/validate'],
    [{ cache: { maxAgeS: 1 }, command: 'DELETE', query: 'DELETE FROM t' }, '/cache'],
  ])('refuses %j', async (body, pointer) => {
    const sent = { hubId, sourceId, label: 'q', query: 'SELECT 1', ...body };
    const refused = await api.post('/v1/queries', sent);
    const { errors, detail } = refused.body;
    expect([refused.status, errors?.[0]?.pointer, /[^.]\.$/.test(detail)]).toEqual([400, pointer, true]);
    const queryId = await store({ query: 'SELECT 1', context: [] });
    const { cache, ...config } = body as { cache: object; query?: string; command?: string };
    const changed = await api.put(`/v1/queries/${queryId}`, {
      config: {
        cache,
        ...(config.command ? { command: config.command, query: { query: config.query } } : {}),
      },
    });
    expect([changed.status, changed.body.errors?.[0]?.pointer]).toEqual([400, `/config${pointer}`]);
  });

  it('refuses a validation with a variable that the query only declares, and names it', async () => {
    const { status, body } = await api.post('/v1/queries', {
      ...{ hubId, sourceId, label: 'q', query: 'SELECT :a AS a' },
      context: ['a', 'w'].map((key) => ({ key, type: 'integer', value: 1 })),
      cache: { maxAgeS: 1, validate: 'SELECT 1 WHERE :a = :w' },
    });
    expect([status, body.errors]).toEqual([
      400,
      [
        {
          pointer: '/cache/validate',
          detail: 'must use only variables that the query uses, but uses :w',
        },
      ],
    ]);
  });

  it('can be set when a query is created', async () => {
    const { config } = await api.ok(
      api.post('/v1/queries', {
        hubId,
        sourceId,
        label: 'q',
        query: 'SELECT 1',
        cache: { maxAgeS: 5, validate: 'SELECT 1' },
      }),
    );
    expect(config.cache).toEqual({ maxAgeS: 5, validate: 'SELECT 1' });
  });
});
