import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const withDrift = engines.filter((engine) => engine !== 'mongodb');

describe.each(withDrift)('drift of queries on %s', (engine) => {
  const isPostgres = engine === 'postgres';
  let hubId: string;
  let sourceId: string;
  let table: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} drift` })));
    sourceId = await createSource(hubId, engine);
    table = `drift_${randomBytes(4).toString('hex')}`;
    await ddl(`CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, amount INT)`);
    await ddl(`CREATE VIEW ${table}_v AS SELECT id, amount FROM ${table}`);
  });

  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const store = async (query: string): Promise<string> =>
    (await api.ok(api.post('/v1/queries?signature=1', { hubId, sourceId, label: 'q', query }))).config.query
      .queryId;
  const check = async (): Promise<string[]> =>
    (await api.ok(api.post(`/v1/sources/${sourceId}/check`, {}))).broken.sort();
  const get = async (queryId: string) => api.ok(api.get(`/v1/queries/${queryId}`));

  it('reports each query that the database rejects, and none that it accepts', async () => {
    const byName = await store(`SELECT name FROM ${table} WHERE id = :id`);
    const byView = await store(`SELECT amount FROM ${table}_v`);
    const all = await store(`SELECT * FROM ${table}`);
    const one = await store('SELECT 1 AS one');
    expect(await check()).toEqual([]);
    const before = await api.get(`/v1/queries/${byName}`);

    await ddl(`ALTER TABLE ${table} RENAME COLUMN name TO title`);
    expect(await check()).toEqual([byName]);
    const broken = await api.get(`/v1/queries/${byName}`);
    expect(broken.body).toMatchObject({ state: 'broken', problem: { code: 'SQL_REJECTED' } });
    expect(broken.body.problem.sql.line).toBe(1);
    expect(broken.headers.get('etag')).toBe(before.headers.get('etag'));
    expect(await api.ok(api.get(`/v1/queries/${byName}/versions`))).toHaveLength(1);
    const listed = await api.ok(api.get(`/v1/queries?hubId=${hubId}&state=broken`));
    expect(listed.map((query: any) => query.config.query.queryId)).toEqual([byName]);
    expect((await get(all)).drift).toMatchObject([
      { name: 'name', change: 'removed' },
      { name: 'title', change: 'added' },
    ]);
    expect(await get(one)).not.toHaveProperty('drift');
    const { signature } = await api.ok(api.get(`/v1/queries/${byName}?signature=1`));
    expect(signature).toMatchObject({ columns: [], problem: { code: 'SQL_REJECTED' } });
    const document = await api.ok(api.get(`/v1/hubs/${hubId}/openapi.json`));
    expect(document.paths[`/v1/queries/${byName}/data`].get.description).toContain('rejects it');
    expect(await api.ok(api.put(`/v1/queries/${byName}`, broken.body))).toEqual({});

    await ddl(`ALTER TABLE ${table} RENAME COLUMN title TO name`);
    await ddl(`DROP VIEW ${table}_v`);
    expect(await check()).toEqual([byView]);
    expect(await get(byName)).not.toHaveProperty('state');
    expect(await get(all)).not.toHaveProperty('drift');
    const actions = await api.ok(api.get(`/v1/audit?resourceId=${byName}&limit=10`));
    expect(actions.map(({ action }: { action: string }) => action).slice(0, 3)).toContain('query.mend');
    expect(actions.map(({ action }: { action: string }) => action)).toContain('query.break');

    await ddl(`CREATE VIEW ${table}_v AS SELECT id, amount FROM ${table}`);
    expect(await check()).toEqual([]);
  });

  it('shows columns whose type or nullability changed', async () => {
    const amount = await store(`SELECT amount, id FROM ${table}`);
    await check();
    const retype = isPostgres
      ? `ALTER TABLE ${table}_r ALTER COLUMN amount TYPE TEXT`
      : `ALTER TABLE ${table}_r MODIFY amount VARCHAR(20)`;
    await ddl(`CREATE TABLE ${table}_r (id INT NOT NULL, amount INT NOT NULL)`);
    const typed = await store(`SELECT id, amount FROM ${table}_r`);
    await check();
    await ddl(retype);
    if (isPostgres) await ddl(`ALTER TABLE ${table}_r ALTER COLUMN id DROP NOT NULL`);
    else await ddl(`ALTER TABLE ${table}_r MODIFY id INT NULL`);
    expect(await check()).toEqual([]);
    const { drift } = await get(typed);
    expect(drift.map(({ name, change }: any) => [name, change])).toEqual([
      ['id', 'changed'],
      ['amount', 'changed'],
    ]);
    expect(drift[0]).toMatchObject({ from: { nullable: false }, to: { nullable: true } });
    expect(await get(amount)).not.toHaveProperty('drift');
    // A changed query begins anew.
    await api.ok(
      api.put(`/v1/queries/${typed}?signature=1`, {
        config: { query: { query: `SELECT amount, id FROM ${table}_r` } },
      }),
    );
    await check();
    expect(await get(typed)).not.toHaveProperty('drift');
  });

  it('keeps a key out of queries that it may not use', async () => {
    const { key } = await api.ok(
      api.post('/v1/keys', {
        name: 'one query',
        scopes: ['sources:read', 'queries:read'],
        limits: { queryIds: [await store('SELECT 2 AS two')] },
      }),
    );
    await store(`SELECT nothing FROM ${table}`);
    const answer = await api.post(
      `/v1/sources/${sourceId}/check`,
      {},
      { headers: { 'x-service-api-key': key } },
    );
    expect(answer.body).toEqual({ checked: 1, broken: [], left: 0 });
  });
});
