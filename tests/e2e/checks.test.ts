import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

describe.each(engines)('a check of a query on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} checks` })));
    sourceId = await createSource(hubId, engine);
  });

  const check = (query: string, more: object = {}, options: { key?: string } = {}) =>
    api.post('/v1/queries/check', { sourceId, query, ...more }, options);
  const store = async (query: string, context: object[] = []) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, context }))).config.query
      .queryId as string;
  const keyWith = async (scopes: string[], limits: object = {}) => {
    const { key } = await api.ok(api.post('/v1/keys', { name: 'k', scopes, limits }));
    return { key } as { key: string };
  };

  it('answers the signature that the saved query would have', async () => {
    const query = 'SELECT id, note FROM sales WHERE id IN (:ids)';
    const context = [{ key: 'ids', type: 'bigint[]' }];
    const { signature, problems, ...rest } = await api.ok(check(query, { context }));
    expect([problems, rest]).toEqual([[], {}]);
    const saved = await api.ok(api.get(`/v1/queries/${await store(query, context)}?signature=1`));
    const { columns, variables } = saved.signature;
    expect(signature).toMatchObject({ columns, variables });
    expect(columns.map((one: { nullable: boolean }) => one.nullable)).toEqual([false, true]);
  });

  it('names what is wrong, and where', async () => {
    const answers = await Promise.all([
      api.ok(check('SELECT id FROM sales WHERE\n  SELECT')),
      api.ok(check("SELECT 'open")),
      api.ok(check('DELETE FROM sales')),
    ]);
    for (const { signature } of answers) expect(signature).toBeNull();
    expect(answers.map(({ problems }) => problems)).toMatchObject([
      [{ severity: 'error', code: 'SQL_REJECTED', sql: { line: 2 } }],
      [{ severity: 'error', code: 'SQL_REJECTED', sql: { line: 1, column: 8 } }],
      [{ severity: 'error', code: 'COMMAND_MISMATCH', sql: { line: 1, column: 1 } }],
    ]);
    const faulty = await check('SELECT 1', { context: [{ key: 'x', type: 'any' }] });
    expect([faulty.status, faulty.body.errors[0].pointer]).toEqual([400, '/context/0/type']);
  });

  it('names the changes against a stored query', async () => {
    const compareTo = await store('SELECT id, region FROM sales WHERE id = :id');
    expect(
      (await api.ok(check('SELECT id, region FROM sales WHERE id = :id', { compareTo }))).changes,
    ).toEqual([]);
    const { changes } = await api.ok(
      check('SELECT id AS ident, region FROM sales WHERE id = :id AND region = :region', { compareTo }),
    );
    expect(changes).toEqual([
      { kind: 'column', name: 'id', change: 'removed', breaking: true },
      { kind: 'column', name: 'ident', change: 'added', breaking: false },
      { kind: 'variable', name: 'region', change: 'added', breaking: true },
    ]);
    expect(await api.ok(check('SELECT nope FROM sales', { compareTo }))).not.toHaveProperty('changes');
    expect((await check('SELECT 1', { compareTo: 'dh.q.unknown' })).status).toBe(404);
  });

  it('writes nothing', async () => {
    await execute({ hubId, sourceId, query: 'DELETE FROM scratch', command: 'DELETE' });
    const insert = "INSERT INTO scratch (id, label) VALUES (1, 'x')";
    const { signature } = await api.ok(check(insert, { command: 'INSERT' }));
    expect(signature).toMatchObject({ columns: [], variables: [] });
    await api.ok(check('DROP TABLE scratch', { command: 'DROP' }));
    expect((await execute({ hubId, sourceId, query: 'SELECT id FROM scratch' })).data).toEqual([]);
  });

  it('is refused to keys whose limits a new text could evade, as saving is', async () => {
    const queryId = await store('SELECT 1 AS one');
    const scopes = ['queries:write', 'queries:read'];
    for (const limits of [{ queryIds: [queryId] }, { context: { tenant: '7' } }]) {
      const limited = await keyWith(scopes, limits);
      const text = { config: { query: { query: 'SELECT 2 AS two' } } };
      const put = api.put(`/v1/queries/${queryId}`, text, limited);
      const post = api.post('/v1/queries', { hubId, sourceId, label: 'q', query: 'SELECT 1' }, limited);
      for (const { status, body } of await Promise.all([check('SELECT 1', {}, limited), put, post]))
        expect([status, body.code]).toEqual([403, 'SCOPE_DENIED']);
    }
    expect((await check('SELECT 1', {}, await keyWith(['queries:read']))).status).toBe(403);
    expect((await check('SELECT 1', {}, await keyWith(['queries:write']))).status).toBe(200);
    expect((await check('SELECT 1', { sourceId: 'dh.src.unknown' })).status).toBe(404);
  });
});
