import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

describe.each(engines)('columns that a query on %s asserts to be not null', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} assertions` })));
    sourceId = await createSource(hubId, engine);
  });

  const post = (query: string, notNull: unknown, change: object = {}) =>
    api.post('/v1/queries', { hubId, sourceId, label: 'q', query, notNull, ...change });
  const store = async (query: string, notNull: unknown) =>
    (await api.ok(post(query, notNull))).config.query.queryId as string;
  const run = (queryId: string, headers: Record<string, string> = {}) =>
    api.post('/v1/queries/execute', { queryId }, { headers });
  const broken = { status: 502, body: { code: 'CONTRACT_BROKEN', retryable: false } };

  it('fail the execution if there is a NULL', async () => {
    const queryId = await store('SELECT id, note FROM sales ORDER BY id', ['note']);
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const answer = await run(queryId, { accept });
      expect(answer).toMatchObject(broken);
      expect(answer.body.detail).toContain('"note"');
    }
    expect(await api.get(`/v1/queries/${queryId}/data`)).toMatchObject(broken);
    const others = await store('SELECT id, note FROM sales WHERE note IS NOT NULL', ['note', 'id']);
    expect((await api.ok(run(others))).data).toHaveLength(2);
    const missing = await store('SELECT id FROM sales', ['total']);
    expect(await run(missing)).toMatchObject(broken);
    // The connections stay usable.
    for (let i = 0; i < 12; i++) expect((await run(queryId)).status).toBe(502);
    expect((await api.ok(run(others))).data).toHaveLength(2);
  });

  it('cut the connection after the first bytes', async () => {
    const numbers =
      engine === 'postgres'
        ? 'SELECT generate_series(1, 300000) AS n'
        : 'WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 900) SELECT a.n + 900 * b.n AS n FROM t a, t b WHERE b.n < 333';
    const query = `SELECT n, CASE WHEN n < 250000 THEN n END AS m FROM (${numbers}) s ORDER BY n`;
    const queryId = await store(query, ['m']);
    for (const accept of ['application/json', 'application/x-ndjson'])
      await expect(run(queryId, { accept })).rejects.toThrow();
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { notNull: null } }));
    expect((await api.ok(run(queryId))).data.length).toBeGreaterThan(250_000);
  });

  // Other engines keep no blanks.
  if (engine === 'postgres')
    it('may not be the JSON null, with or without blanks', async () => {
      for (const text of ['null', ' null', 'null\n', '\t null '])
        expect(await run(await store(`SELECT CAST('${text}' AS json) AS x`, ['x']))).toMatchObject(broken);
      const [word] = (await api.ok(run(await store(`SELECT CAST(' "null" ' AS json) AS x`, ['x'])))).data;
      expect(word).toEqual({ x: 'null' });
    });

  it('are part of the definition and of the signature', async () => {
    const queryId = await store('SELECT id, note FROM sales', ['note', 'note']);
    const path = `/v1/queries/${queryId}`;
    const read = async () => await api.ok(api.get(`${path}?signature=1`));
    const saved = await read();
    expect(saved.config.notNull).toEqual(['note']);
    expect(saved.signature.columns).toMatchObject([{ nullable: false }, { name: 'note', nullable: false }]);
    expect(await api.ok(api.put(path, saved))).toEqual({});
    await api.ok(api.put(path, { meta: { label: 'renamed' } }));
    expect((await read()).config.notNull).toEqual(['note']);
    await api.ok(api.put(path, { config: { notNull: ['id'] } }));
    expect((await read()).signature.columns[1]).toMatchObject({ nullable: true });
    await api.ok(api.put(path, { config: { notNull: null } }));
    expect((await read()).config).not.toHaveProperty('notNull');
    expect((await run(queryId)).status).toBe(200);
  });

  it('need a command that reads', async () => {
    const refused = await post('DELETE FROM scratch', ['id'], { command: 'DELETE' });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/notNull']);
    const path = `/v1/queries/${await store('SELECT id FROM scratch', ['id'])}`;
    const text = { command: 'DELETE', query: { query: 'DELETE FROM scratch' } };
    const change = await api.put(path, { config: text });
    expect([change.status, change.body.errors[0].pointer]).toEqual([400, '/config/notNull']);
    expect((await api.put(path, { config: { ...text, notNull: null } })).status).toBe(200);
    expect((await post('SELECT 1', [''])).status).toBe(400);
    expect((await post('SELECT 1', 'id')).status).toBe(400);
  });
});
