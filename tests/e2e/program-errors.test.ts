/** Errors of a database that a program can use. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

describe.each(engines)('errors of %s', (engine) => {
  let hubId: string;
  let sourceId: string;
  const isPostgres = engine === 'postgres';
  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const store = async (query: string, body: object = {}) => {
    const command = query.split(' ', 1)[0];
    const stored = api.post('/v1/queries', { hubId, sourceId, label: 'q', query, command, ...body });
    return (await api.ok(stored)).config.query.queryId as string;
  };
  const run = (queryId: string) => api.post('/v1/queries/execute', { queryId });

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} errors` })));
    sourceId = await createSource(hubId, engine);
    await ddl('DROP TABLE IF EXISTS told');
    await ddl('DROP PROCEDURE IF EXISTS tell');
    await ddl('CREATE TABLE told (id INT NOT NULL PRIMARY KEY, CONSTRAINT told_positive CHECK (id > 0))');
    await ddl(
      isPostgres
        ? "CREATE PROCEDURE tell() LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'only \"5\" left' USING HINT = 'order less'; END $$"
        : "CREATE PROCEDURE tell() SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'only \"5\" left'",
    );
  });
  afterAll(async () => {
    await ddl('DROP TABLE told');
    await ddl('DROP PROCEDURE tell');
  });

  it('name what was violated, and hide tables from keys that are limited to queries', async () => {
    const queryId = await store('INSERT INTO told (id) VALUES (-1)');
    const violated = { condition: 'CHECK_VIOLATION', constraint: 'told_positive' };
    const { status, body } = await run(queryId);
    expect([status, body.code]).toEqual([409, 'CONSTRAINT']);
    expect(body.sql).toMatchObject(violated);
    if (engine !== 'mysql') expect(body.sql.table).toBe('told');
    const scopes = ['queries:execute', 'queries:execute:write'];
    const { key } = await api.ok(
      api.post('/v1/keys', { name: 'k', scopes, limits: { queryIds: [queryId] } }),
    );
    const answer = await api.post('/v1/queries/execute', { queryId }, { key });
    expect(answer.body.sql).toEqual({ ...violated, state: body.sql.state });
  });

  it('contain the texts of RAISE and SIGNAL if the query says so', async () => {
    const queryId = await store('CALL tell()', { errors: 'author' });
    const told = { condition: 'RAISED', message: 'only "5" left', ...(isPostgres && { hint: 'order less' }) };
    const { status, body } = await run(queryId);
    expect([status, body.code]).toEqual([422, 'SQL_REJECTED']);
    expect(body.sql).toMatchObject(told);
    const path = `/v1/queries/${queryId}`;
    const put = (config: object) => api.ok(api.put(path, { config }));
    await put({ command: 'CALL' });
    expect((await api.ok(api.get(path))).config.errors).toBe('author');
    await put({ errors: null });
    expect((await run(queryId)).body.sql).toEqual({ state: body.sql.state, condition: 'RAISED' });
    expect((await api.ok(api.get(`${path}/versions`))).map((one: any) => one.errors)).toEqual([
      undefined,
      'author',
    ]);
    await api.ok(api.post(`${path}/restore`, { version: 1 }));
    expect((await run(queryId)).body.sql).toMatchObject(told);
    expect((await api.put(path, { config: { errors: 'all' } })).status).toBe(400);
  });
});
