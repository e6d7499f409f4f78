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

  it('returns the signature that the saved query would have', async () => {
    const query = 'SELECT id, note FROM sales WHERE id IN (:ids)';
    const context = [{ key: 'ids', type: 'bigint[]' }];
    const { signature, problems, ...rest } = await api.ok(check(query, { context }));
    expect([problems, rest]).toEqual([[], {}]);
    const saved = await api.ok(api.get(`/v1/queries/${await store(query, context)}?signature=1`));
    const { columns, variables } = saved.signature;
    expect(signature).toMatchObject({ columns, variables });
    expect(columns.map((one: { nullable: boolean }) => one.nullable)).toEqual([false, true]);
  });

  it('reports asserted columns that the result does not have', async () => {
    const { signature, problems } = await api.ok(
      check('SELECT id, note FROM sales', { notNull: ['id', 'total', 'tax'] }),
    );
    expect(signature.columns).toHaveLength(2);
    const detail = 'The result has no column total, tax, which notNull names.';
    expect(problems).toEqual([{ severity: 'error', code: 'CONTRACT_BROKEN', detail }]);
  });

  it('reports faults with their positions', async () => {
    const answers = await Promise.all([
      api.ok(check('SELECT id FROM sales WHERE\n  SELECT')),
      api.ok(check("SELECT 'open")),
      api.ok(check('DELETE FROM sales')),
    ]);
    for (const { signature } of answers) expect(signature).toBeNull();
    expect(answers.map(({ problems }) => problems)).toMatchObject([
      [{ severity: 'error', code: 'SQL_REJECTED', sql: { line: 2, column: 3 } }],
      [{ severity: 'error', code: 'SQL_REJECTED', sql: { line: 1, column: 8 } }],
      [{ severity: 'error', code: 'COMMAND_MISMATCH', sql: { line: 1, column: 1 } }],
    ]);
    const [long] = (await api.ok(check(`SELECT 1 IN (${'1,'.repeat(15_010)}1)`))).problems;
    expect(long.detail).toContain('more than 30000 words, numbers and symbols');
    const faulty = await check('SELECT 1', { context: [{ key: 'x', type: 'any' }] });
    expect([faulty.status, faulty.body.errors[0].pointer]).toEqual([400, '/context/0/type']);
  });

  it.each([
    ['SELECT id,\n  nope FROM sales', { line: 2, column: 3 }],
    ['SELECT id\nFROM no_such_table', { line: 2, column: 6 }],
    ["SELECT 'nope' AS id FROM sales WHERE id = :id AND\n /* nope */ nope = :id", { line: 2, column: 13 }],
    ['SELECT id FROM sales WHERE id IN (:ids) AND\n\n ) = 1', { line: 3, column: 2 }],
    ['SELECT id\n, no_such_function(id) FROM sales', { line: 2, column: 3 }],
  ])('points into the stored text: %j', async (query, sql) => {
    const { problems } = await api.ok(check(query));
    expect(problems).toMatchObject([{ code: 'SQL_REJECTED', sql }]);
    const run = { queryId: await store(query), context: { id: 1, ids: [1, 2, 3] } };
    expect((await api.post('/v1/queries/execute', run)).body.sql).toMatchObject(sql);
  });

  it('says that a statement that writes in a WITH clause cannot run as a read', async () => {
    const returning = engine === 'mysql' ? '' : ' RETURNING id';
    const query = `WITH gone AS (\nDELETE FROM scratch WHERE id = 77${returning}) SELECT 1 AS one`;
    const warning = { code: 'WRITING_WITH', sql: { line: 2, column: 1 } };
    const { problems } = await api.ok(check(query));
    expect(problems.at(-1)).toMatchObject({ severity: 'warning', ...warning });
    const body = { hubId, sourceId, label: 'writes', query };
    const { warnings, config } = await api.ok(api.post('/v1/queries?signature=1', body));
    expect(warnings).toMatchObject([warning]);
    const run = await api.post('/v1/queries/execute', { queryId: config.query.queryId });
    expect([run.status, run.body.code]).toEqual([422, 'SQL_REJECTED']);
    for (const validate of [query, 'SELECT 1 AS one\nFROM sales FOR UPDATE']) {
      const cache = { maxAgeS: 1, validate };
      const refused = await api.post('/v1/queries', { ...body, query: 'SELECT 1 AS one', cache });
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [{ pointer: '/cache/validate', detail: expect.stringContaining('must only read') }],
      ]);
    }
  });

  it('warns of uses of variables that are probably mistakes', async () => {
    const query = "SELECT id FROM sales WHERE region = ':region'\nORDER BY :by";
    const warnings = [
      { code: 'QUOTED_VARIABLE', sql: { line: 1, column: 38 } },
      { code: 'ORDER_BY_VARIABLE', sql: { line: 2, column: 10 } },
    ];
    const context = [{ key: 'by', type: 'string' }];
    const { problems } = await api.ok(check(query, { context }));
    expect(problems).toMatchObject(warnings.map((warning) => ({ severity: 'warning', ...warning })));
    const body = { hubId, sourceId, label: 'warned', query, context };
    const saved = await api.ok(api.post('/v1/queries?signature=1', body));
    expect(saved.warnings).toMatchObject(warnings);
    const path = `/v1/queries/${saved.config.query.queryId}?signature=1`;
    const change = { config: { query: { query: 'SELECT id FROM :t' } } };
    expect(await api.ok(api.put(path, change))).toMatchObject({ warnings: [{ code: 'TABLE_VARIABLE' }] });
    expect(await api.ok(api.put(path, { meta: { label: 'again' } }))).toMatchObject({ warnings: [] });
    expect((await api.ok(check('SELECT id FROM :t'))).problems).toMatchObject([
      { severity: 'error', code: 'SQL_REJECTED' },
      { severity: 'warning', code: 'TABLE_VARIABLE' },
    ]);
  });

  if (engine === 'postgres')
    it('names the variable whose value the database rejects', async () => {
      const run = async (query: string, value: unknown, type?: string) => {
        const queryId = await store(query, type === undefined ? [] : [{ key: 'v', type }]);
        const answer = await api.post('/v1/queries/execute', { queryId, context: { v: value } });
        return [answer.status, answer.body.detail];
      };
      expect(await run('SELECT id FROM sales WHERE id = :v', 'S3CRET')).toEqual([
        422,
        'The database rejected the value of :v: invalid input syntax for type integer.',
      ]);
      expect(await run('SELECT :v AS v', '9999999999999999999', 'bigint')).toEqual([
        422,
        'The database rejected the value of :v, which is declared as bigint: value is out of range for type bigint.',
      ]);
    });

  if (engine === 'postgres')
    it('names the variable at which the syntax is wrong', async () => {
      const { problems } = await api.ok(check('SELECT id FROM sales WHERE id = :one ORDER :two'));
      expect(problems).toMatchObject([
        { detail: 'The database rejected the statement: syntax error at or near ":two".' },
      ]);
    });

  it('lists the changes compared with a stored query', async () => {
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

  it('lists a narrower enum and a new secret as breaking changes', async () => {
    const query = 'SELECT id FROM sales WHERE region = :region';
    const region = { key: 'region', type: 'string', enum: ['north', 'south'] };
    const compareTo = await store(query, [region]);
    const changesTo = async (change: object) =>
      (await api.ok(check(query, { compareTo, context: [{ ...region, ...change }] }))).changes;
    const changed = { kind: 'variable', name: 'region', change: 'changed' };
    const from = '["north","south"]';
    expect(await changesTo({ enum: ['north'] })).toEqual([
      { ...changed, breaking: true, member: 'enum', from, to: '["north"]' },
    ]);
    expect(await changesTo({ enum: ['west', 'south', 'north'] })).toEqual([
      { ...changed, breaking: false, member: 'enum', from, to: '["west","south","north"]' },
    ]);
    expect(await changesTo({ secret: true })).toEqual([
      { ...changed, breaking: true, member: 'secret', from: 'false', to: 'true' },
    ]);
  });

  it('writes nothing', async () => {
    await execute({ hubId, sourceId, query: 'DELETE FROM scratch', command: 'DELETE' });
    const insert = "INSERT INTO scratch (id, label) VALUES (1, 'x')";
    const { signature } = await api.ok(check(insert, { command: 'INSERT' }));
    expect(signature).toMatchObject({ columns: [], variables: [] });
    await api.ok(check('DROP TABLE scratch', { command: 'DROP' }));
    expect((await execute({ hubId, sourceId, query: 'SELECT id FROM scratch' })).data).toEqual([]);
  });

  it('is refused to keys that could evade their limits with a new text, as saving is', async () => {
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
    for (const scope of ['queries:check', 'queries:write'])
      expect((await check('SELECT 1', {}, await keyWith([scope]))).status).toBe(200);
    expect((await check('SELECT 1', { sourceId: 'dh.src.unknown' })).status).toBe(404);
  });
});
