import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, database, engines, execute, idShape, sourceBody, timestamp } from '../support/hub.ts';

describe.each(engines)('a %s source', (engine) => {
  let hubId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} sources` })));
  });

  const create = (change: object = {}) =>
    api.post('/v1/sources', { ...sourceBody(hubId, engine), ...change });

  it('takes files of TLS that end with a NUL, as MySQL generates them', async () => {
    const ca = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const add = (text: string) => {
      const body = sourceBody(hubId, engine);
      const connectionSettings = {
        ...body.connectionSettings,
        tls: { mode: 'verify-full', ca: text, key: text },
      };
      return api.post('/v1/sources', { ...body, connectionSettings });
    };
    expect((await add(`${ca}\0`)).status).toBe(200);
    expect((await add(`\0${ca}`)).status).toBe(400);
  });

  it('accepts optional members, and removes those that are null', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'absent' }));
    const body = sourceBody(hubId, engine);
    const optional = { statementTimeoutMs: 5_000, pool: { max: 3, idleTimeoutMs: 60_000 } };
    const connectionSettings = { ...body.connectionSettings, ...optional };
    const { sourceId } = await api.ok(api.post('/v1/sources', { ...body, connectionSettings }));
    const path = `/v1/sources/${sourceId}`;
    const changed = async (settings: object) => {
      await api.ok(api.put(path, { connectionSettings: settings }));
      return (await api.ok(api.get(path))).connectionSettings;
    };
    expect(await changed({})).toMatchObject(optional);
    const { statementTimeoutMs, pool } = await changed({ statementTimeoutMs: null, pool: { max: null } });
    expect([statementTimeoutMs, pool]).toEqual([undefined, { idleTimeoutMs: 60_000 }]);
    expect(await changed({ pool: { idleTimeoutMs: null } })).not.toHaveProperty('pool');
    await changed({ pool: { max: 3, idleTimeoutMs: 60_000 } });
    const bare = await changed({ pool: null, tls: null, authSource: null });
    expect(bare).not.toHaveProperty('pool');
    expect(bare).not.toHaveProperty('tls');
    const nulls = { ...body.connectionSettings, pool: null, tls: null, statementTimeoutMs: null };
    await api.ok(api.post('/v1/sources', { ...body, connectionSettings: nulls }));
  });

  it.each([
    '127.0.0.1:5432',
    '[::1]',
    '[::1]:5432',
    'db.example:5432',
    'http://db.example',
    'user@host',
    '::1::',
  ])('is not at %s, which holds more than a host', async (host) => {
    const { connectionSettings } = sourceBody(hubId, engine);
    const { status, body } = await create({ connectionSettings: { ...connectionSettings, host } });
    expect([status, body.errors]).toEqual([
      400,
      [
        {
          pointer: '/connectionSettings/host',
          detail: 'must be a host name or an IP address, without a port or brackets',
        },
      ],
    ]);
  });

  it('is created without echoing its connection settings', async () => {
    const { status, body } = await create({ label: 'orders' });
    expect(status).toBe(200);
    const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
    expect(body).toEqual({
      hubId,
      label: 'orders',
      engine,
      sourceId: expect.stringMatching(idShape('src')),
      nodeId: body.sourceId,
      nodeType: 'source',
      parentNodeId: tree.children[1].nodeId,
    });
    expect(tree.children[1].children).toContainEqual({
      hubId,
      nodeId: body.sourceId,
      parentNodeId: tree.children[1].nodeId,
      nodeType: 'source',
      label: 'orders',
      children: [],
    });
  });

  it('shows masks for user and password, in the list and alone', async () => {
    const { sourceId } = await api.ok(create({ label: 'masked' }));
    const { user, password, host, port, database: name } = database(engine);
    const connectionSettings = {
      host,
      port,
      database: name,
      user: `${user.slice(0, user.length <= 4 ? 1 : 2)}********`,
      password: `${password.slice(0, 1)}********`,
    };
    const listed = (await api.ok(api.get(`/v1/sources?hubId=${hubId}`))).find(
      (source: { sourceId: string }) => source.sourceId === sourceId,
    );
    expect(listed).toEqual({
      sourceId,
      accountId: expect.stringMatching(idShape('acct')),
      hubId,
      label: 'masked',
      engine,
      driver: null,
      connectionSettings,
      createdAt: expect.stringMatching(timestamp),
      updatedAt: null,
    });
    const { accountId: _a, driver: _d, ...alone } = listed;
    expect(await api.ok(api.get(`/v1/sources/${sourceId}`))).toEqual({ ...alone, nodeType: 'source' });
  });

  it('is renamed alone', async () => {
    const { sourceId } = await api.ok(create());
    const before = await api.ok(api.get(`/v1/sources/${sourceId}`));
    const after = await api.ok(api.put(`/v1/sources/${sourceId}`, { label: 'renamed' }));
    expect(after).toEqual({ ...before, label: 'renamed', updatedAt: expect.stringMatching(timestamp) });
  });

  it('keeps its secrets when what GET answered is PUT back', async () => {
    const { sourceId } = await api.ok(create());
    const before = await api.ok(api.get(`/v1/sources/${sourceId}`));
    expect(await api.ok(api.put(`/v1/sources/${sourceId}`, before))).toEqual(before);
    const listed = (await api.ok(api.get(`/v1/sources?hubId=${hubId}`))).find(
      (source: { sourceId: string }) => source.sourceId === sourceId,
    );
    expect(await api.ok(api.put(`/v1/sources/${sourceId}`, listed))).toEqual(before);
    expect(await execute({ hubId, sourceId, query: 'SELECT 1 AS one' })).toEqual({ data: [{ one: 1 }] });
  });

  it('cannot be used to guess a password with ever new sources', async () => {
    // In another account, because an account that has guessed may not try new settings for a minute.
    const by = { key: inject('hub').otherKey };
    const other = await api.ok(api.post('/v1/hubs', { label: 'guesses' }, by));
    const body = sourceBody(other.hubId, engine);
    const user = `victim_${randomBytes(4).toString('hex')}`;
    const guess = async (password: string) => {
      const connectionSettings = { ...body.connectionSettings, user, password };
      const { sourceId } = await api.ok(api.post('/v1/sources', { ...body, connectionSettings }, by));
      const answer = await api.post(`/v1/sources/${sourceId}/test`, undefined, by);
      expect([answer.status, answer.body.code]).toEqual([502, 'SOURCE_AUTH']);
      return { sourceId, retryAfter: answer.headers.get('retry-after') };
    };
    const guesses: Awaited<ReturnType<typeof guess>>[] = [];
    // Twelve guesses are in two minutes at most, so one of them at least is refused by the hub.
    for (let i = 0; i < 12; i++) guesses.push(await guess(`wrong ${i}`));
    const [refused] = guesses.filter(({ retryAfter }) => retryAfter !== null);
    expect(guesses.slice(0, 5).map(({ retryAfter }) => retryAfter)).toEqual(Array(5).fill(null));
    expect(Number(refused?.retryAfter)).toBeLessThanOrEqual(60);
    const [first] = guesses;
    const { body: audit } = await api.get(`/v1/audit?resourceId=${first?.sourceId}&action=source.refuse`, by);
    expect(audit).toMatchObject([
      { action: 'source.refuse', resourceId: first?.sourceId, count: 1, failed: 1 },
    ]);
    await api.ok(api.delete(`/v1/hubs/${other.hubId}?recursive=true`, by));
  });

  it('uses a new password from the very next execution on', async () => {
    const by = { key: inject('hub').refusedKey };
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'passwords' }, by));
    const { sourceId } = await api.ok(api.post('/v1/sources', sourceBody(hubId, engine), by));
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query, by))).config.query;
    const run = () => api.post('/v1/queries/execute', { queryId }, by);
    const change = (password: string) =>
      api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { password } }, by));
    expect((await run()).status).toBe(200);

    expect((await change('not-the-password')).connectionSettings.password).toBe('n********');
    const refused = await run();
    expect([refused.status, refused.body.code]).toEqual([502, 'SOURCE_AUTH']);
    expect(refused.body.detail).toBe('The source refuses the log-in. Check user, password and database.');

    await change(database(engine).password);
    expect((await run()).body).toEqual({ data: [{ one: 1 }] });
    await api.ok(api.delete(`/v1/hubs/${hubId}?recursive=true`, by));
  });

  it('refuses a mask that is not the current one', async () => {
    const { sourceId } = await api.ok(create());
    const { status, body } = await api.put(`/v1/sources/${sourceId}`, {
      connectionSettings: { password: '********' },
    });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ pointer: '/connectionSettings/password' }]);
  });

  it('asks for user and password again when it moves', async () => {
    const { sourceId } = await api.ok(create());
    const moved = await api.put(`/v1/sources/${sourceId}`, { connectionSettings: { port: 1 } });
    expect(moved.status).toBe(400);
    expect(moved.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/connectionSettings/user',
      '/connectionSettings/password',
    ]);
    const again = { port: 1, user: 'somebody', password: 'something' };
    const after = await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: again }));
    expect(after.connectionSettings).toMatchObject({ port: 1, user: 'so********', password: 's********' });
  });

  it('is deleted, and its queries say so until they are bound to another', async () => {
    const { sourceId } = await api.ok(create());
    const query = { hubId, sourceId, label: 'orphan', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    expect(await api.ok(api.delete(`/v1/sources/${sourceId}`))).toEqual({});
    expect((await api.get(`/v1/sources/${sourceId}`)).status).toBe(404);

    const gone = await api.post('/v1/queries/execute', { queryId });
    expect([gone.status, gone.body.code]).toEqual([409, 'SOURCE_GONE']);
    expect((await api.ok(api.get(`/v1/queries/${queryId}`))).meta.engine).toBe(engine);
    expect(JSON.stringify(await api.ok(api.get(`/v1/hubs/${hubId}/contents`)))).toContain(queryId);

    const other = await api.ok(create());
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { source: { sourceId: other.sourceId } } }));
    expect((await api.post('/v1/queries/execute', { queryId })).body).toEqual({ data: [{ one: 1 }] });
  });

  it('does not change its engine while queries are bound to it', async () => {
    const { sourceId } = await api.ok(create());
    await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'bound', query: 'SELECT 1' }));
    const { user, password } = database(engine);
    const refused = await api.put(`/v1/sources/${sourceId}`, {
      engine: engine === 'postgres' ? 'mysql' : 'postgres',
      connectionSettings: { user, password },
    });
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT']);
  });

  describe('that cannot be reached', () => {
    const by = { key: inject('hub').refusedKey };
    const attempt = async (settings: object) => {
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'unreachable' }, by));
      const body = sourceBody(hubId, engine);
      const connectionSettings = { ...body.connectionSettings, ...settings };
      const { sourceId } = await api.ok(api.post('/v1/sources', { ...body, connectionSettings }, by));
      const query = { hubId, sourceId, label: 'q', query: 'SELECT 1' };
      const { queryId } = (await api.ok(api.post('/v1/queries', query, by))).config.query;
      const answer = await api.post('/v1/queries/execute', { queryId }, by);
      await api.ok(api.delete(`/v1/hubs/${hubId}?recursive=true`, by));
      return answer;
    };

    it.each([
      ['a wrong password', { password: 'canary-password-9f3' }, 'SOURCE_AUTH'],
      ['an unknown user', { user: 'canary-user-9f3', password: 'canary-password-9f3' }, 'SOURCE_AUTH'],
      ['a closed port', { port: 9 }, 'SOURCE_UNREACHABLE'],
      ['an unknown host', { host: 'canary-host.invalid' }, 'SOURCE_UNREACHABLE'],
    ])('because of %s says so, and nothing more', async (_name, settings, code) => {
      const { status, body, text } = await attempt(settings);
      expect([status, body.code, body.stage]).toEqual([502, code, 'connect']);
      const { host, user, database: name } = database(engine);
      for (const secret of ['canary', 'ECONN', 'ENOTFOUND', host, user, name, ' at ']) {
        expect(text.replace(body.requestId, '')).not.toContain(secret);
      }
    });
  });

  it('is tested on request', async () => {
    const { sourceId } = await api.ok(create());
    expect(await api.ok(api.post(`/v1/sources/${sourceId}/test`))).toEqual({
      ok: true,
      latencyMs: expect.any(Number),
      serverVersion: expect.stringMatching(/\d/),
    });
  });

  it('tells its tables', async () => {
    const { sourceId } = await api.ok(create());
    const { tables } = await api.ok(api.get(`/v1/sources/${sourceId}/schema`));
    const sales = tables.find(({ name }: { name: string }) => name === 'sales');
    expect(sales.columns.map(({ name }: { name: string }) => name)).toEqual([
      'id',
      'region',
      'amount',
      'note',
    ]);
  });
});
