import { beforeAll, describe, expect, it } from 'vitest';
import type { CallOptions } from '../support/api.ts';
import { api, createSource, engines, execute as executeStored } from '../support/hub.ts';

describe.each(engines)('a query that is tried on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} drafts` })));
    sourceId = await createSource(hubId, engine);
  });

  const attempt = (query: string, more: object = {}, options: CallOptions = {}) =>
    api.post('/v1/queries/try', { sourceId, query, ...more }, options);
  const store = async (query: string, more: object = {}) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more }))).config.query
      .queryId as string;
  const keyWith = async (scopes: string[], limits: object = {}) =>
    (await api.ok(api.post('/v1/keys', { name: 'k', scopes, limits }))).key as string;
  const isExecuted = async (query: string, context?: object) =>
    executeStored({ hubId, sourceId, query, context });

  const cases: [query: string, more: { context?: object[]; values?: object; notNull?: string[] }][] = [
    ['SELECT id, region, amount, note FROM sales ORDER BY id', {}],
    ['SELECT id FROM sales WHERE region = :region', { values: { region: "o'hara" } }],
    [
      'SELECT id FROM sales WHERE id IN (:ids) ORDER BY id',
      { context: [{ key: 'ids', type: 'bigint[]' }], values: { ids: [1, 3] } },
    ],
    ['SELECT id FROM sales WHERE id = :id', { context: [{ key: 'id', value: 2 }] }],
    ['SELECT id, note FROM sales WHERE id = 2', { notNull: ['note'] }],
    ['SELECT id FROM sales WHERE id < 0', {}],
  ];
  it.each(cases)('answers as execute does, in each format: %j', async (query, { values, ...more }) => {
    const queryId = await store(query, more);
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const headers = { accept };
      const options = { numbers: 'string' };
      const body = { queryId, options, ...(values === undefined ? {} : { context: values }) };
      const stored = await api.post('/v1/queries/execute', body, { headers });
      const tried = await attempt(query, { ...more, options, ...(values ? { values } : {}) }, { headers });
      expect([tried.status, tried.text]).toEqual([200, stored.text]);
      expect(tried.headers.get('content-type')).toBe(stored.headers.get('content-type'));
      expect(tried.headers.get('cache-status')).toBeNull();
    }
  });

  it('takes the options of an execution', async () => {
    const options = { maxRows: 2, meta: true };
    const { body } = await attempt('SELECT id FROM sales ORDER BY id', { options });
    expect(body).toMatchObject({ data: [{ id: 1 }, { id: 2 }], truncated: true, meta: { rowCount: 2 } });
    const strict = await attempt('SELECT 1 AS n', { values: { x: 1 }, options: { strict: true } });
    expect([strict.status, strict.body.errors[0].pointer]).toEqual([422, '/values/x']);
  });

  it('keeps the digits of values', async () => {
    const raw = `{"sourceId": "${sourceId}", "query": "SELECT id FROM sales WHERE amount = :a",
      "context": [{"key": "a", "type": "decimal"}], "values": {"a": 1234567890123456.78}}`;
    expect((await api.call('POST', '/v1/queries/try', { raw })).body.data).toEqual([{ id: 1 }]);
  });

  it.each([
    ['SELECT id,\n  nope FROM sales', { line: 2, column: 3 }],
    ['SELECT id FROM sales WHERE id IN (:ids) AND\n\n ) = 1', { line: 3, column: 2 }],
  ])('points into the text: %j', async (query, sql) => {
    const values = { ids: [1, 2, 3] };
    const run = { queryId: await store(query), context: values };
    const stored = await api.post('/v1/queries/execute', run);
    for (const options of [{}, { explain: true }]) {
      const tried = await attempt(query, { values, options });
      expect(tried.body).toMatchObject({ code: 'SQL_REJECTED', sql });
      expect(tried.body.sql).toEqual(stored.body.sql);
      expect(tried.body.detail).toBe(stored.body.detail);
    }
  });

  it('names the faults of the body', async () => {
    const type = await attempt('SELECT 1', { context: [{ key: 'x' }, { key: 'y', type: 'any' }] });
    expect([type.status, type.body.errors[0].pointer]).toEqual([400, '/context/1/type']);
    const context = [{ key: 'id', type: 'integer', required: true }];
    const value = await attempt('SELECT id FROM sales WHERE id = :id', { context, values: { id: 'x' } });
    expect([value.status, value.body.code]).toEqual([422, 'CONTEXT_INVALID']);
    expect(value.body.errors[0].pointer).toBe('/values/id');
    const missing = await api.post('/v1/queries/try', { sourceId: 'dh.src.none', query: 'SELECT 1' });
    expect([missing.status, missing.body.code]).toEqual([404, 'NOT_FOUND']);
    const analyze = await attempt('SELECT 1', { options: { analyze: true } });
    expect([analyze.status, analyze.body.errors[0].pointer]).toEqual([400, '/options/analyze']);
    expect((await attempt('SELECT 1', { queryId: 'q' })).status).toBe(400);
  });

  it('stores nothing, neither in the hub nor in the session', async () => {
    const before = (await api.ok(api.get(`/v1/queries?hubId=${hubId}`))).length;
    const text = `SELECT ${Math.floor(Math.random() * 1e9)} AS n`;
    for (let i = 0; i < 3; i++) expect((await attempt(text)).status).toBe(200);
    expect((await api.ok(api.get(`/v1/queries?hubId=${hubId}`))).length).toBe(before);
    if (engine !== 'postgres') return;
    const query = 'SELECT count(*) AS n FROM pg_prepared_statements WHERE statement = :text';
    const context = [{ key: 'text', type: 'string' }];
    const { body } = await attempt(query, { context, values: { text } });
    expect(body.data).toEqual([{ n: 0 }]);
  });

  it('rolls writes back, and runs them only so', async () => {
    const query = 'UPDATE sales SET note = :note WHERE id = 1';
    const draft = { command: 'UPDATE', values: { note: 'tried' } };
    const refused = await attempt(query, draft);
    expect([refused.status, refused.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const rolledBack = await attempt(query, { ...draft, options: { dryRun: true } });
    expect(rolledBack.body).toEqual({ data: [{ affectedRows: 1 }] });
    expect((await isExecuted('SELECT note FROM sales WHERE id = 1')).data).toEqual([{ note: null }]);
    for (const options of [{ explain: true }, { explain: true, analyze: true, dryRun: true }]) {
      const explained = await attempt(query, { ...draft, options });
      expect([explained.status, explained.body.code]).toEqual([422, 'OPTION_REFUSED']);
    }
  });

  it('answers the plan of a text that reads', async () => {
    const query = 'SELECT id FROM sales WHERE region = :region ORDER BY amount';
    const values = { region: 'north' };
    const { status, body } = await attempt(query, { values, options: { explain: true } });
    expect([status, Object.keys(body)]).toEqual([200, ['plan']]);
    expect(JSON.stringify(body.plan)).toContain('sales');
    expect(JSON.stringify(body.plan)).not.toMatch(/actual|r_rows/i);
    const csv = { headers: { accept: 'text/csv' } };
    const analyzed = await attempt(query, { values, options: { explain: true, analyze: true } }, csv);
    expect([analyzed.status, Object.keys(analyzed.body)]).toEqual([200, ['plan']]);
    const measured = { postgres: 'Actual Rows', mariadb: 'r_rows', mysql: 'actual time' }[engine as 'mysql'];
    expect(JSON.stringify(analyzed.body.plan)).toContain(measured);
    const show = { command: engine === 'postgres' ? 'EXPLAIN' : 'SHOW', options: { explain: true } };
    const text = engine === 'postgres' ? 'EXPLAIN SELECT 1' : 'SHOW TABLES';
    expect((await attempt(text, show)).body.code).toBe('OPTION_REFUSED');
  });

  it('needs the scopes to write and to execute queries', async () => {
    const statusOf = async (key: string, query = 'SELECT 1 AS n', more: object = {}) =>
      (await attempt(query, more, { key })).status;
    expect(await statusOf(await keyWith(['queries:write']))).toBe(403);
    expect(await statusOf(await keyWith(['queries:execute']))).toBe(403);
    const reading = await keyWith(['queries:write', 'queries:execute']);
    expect(await statusOf(reading)).toBe(200);
    const write = ['DELETE FROM sales', { command: 'DELETE', options: { dryRun: true } }] as const;
    expect(await statusOf(reading, ...write)).toBe(403);
    const writing = await keyWith(['queries:write', 'queries:execute', 'queries:execute:write']);
    expect(await statusOf(writing, ...write)).toBe(200);
  });

  it('is refused to keys that are limited to queries, to another hub, or pin variables', async () => {
    const scopes = ['queries:write', 'queries:execute'];
    const queryId = await store('SELECT 1 AS n');
    const other = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    for (const limits of [{ queryIds: [queryId] }, { context: { region: 'north' } }]) {
      const { status, body } = await attempt('SELECT 1 AS n', {}, { key: await keyWith(scopes, limits) });
      expect([status, body.code]).toEqual([403, 'SCOPE_DENIED']);
    }
    const hub = await attempt('SELECT 1 AS n', {}, { key: await keyWith(scopes, { hubIds: [other.hubId] }) });
    expect([403, 404]).toContain(hub.status);
    const key = await keyWith(scopes, { maxRows: 1 });
    const { body } = await attempt('SELECT id FROM sales ORDER BY id', {}, { key });
    expect(body).toEqual({ data: [{ id: 1 }], truncated: true });
  });

  it('is counted in the audit and in statistics under its source, without its text', async () => {
    const own = await createSource(hubId, engine);
    for (const query of ['SELECT 1 AS n', 'SELECT 2 AS n', 'SELECT nope'])
      await api.post('/v1/queries/try', { sourceId: own, query });
    const read = async () =>
      (await api.ok(api.get(`/v1/audit?resourceId=${own}&action=query.try`))) as object[];
    await expect
      .poll(read, { timeout: 60_000 })
      .toMatchObject([{ action: 'query.try', count: 3, failed: 1 }]);
    expect(JSON.stringify(await read())).not.toContain('SELECT');
    const stats = await api.ok(api.get(`/v1/sources/${own}/stats`));
    const errors = [{ code: 'SQL_REJECTED', count: 1 }];
    expect(stats).toMatchObject({ sourceId: own, lastHour: { count: 3, failed: 1, errors, rows: 2 } });
  });
});
