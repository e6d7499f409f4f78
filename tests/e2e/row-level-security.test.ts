/** Policies of row-level security, as a project of Supabase has them, called by signed-in users. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, database, engines, execute, sourceBody } from '../support/hub.ts';
import { scaled } from '../support/scale.ts';
import { createTestIssuer } from '../support/user-tokens.ts';

const issuer = await createTestIssuer();
const { jwks, audience } = issuer;
const user = { issuer: issuer.issuer, audience, jwks, claims: { user_id: 'sub' } };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const usersMax = 50;
const idOf = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const { PGBOUNCER_URL, PGBOUNCER_TRANSACTION_URL } = process.env;

/** The ways to the database: its own port with each kind of pooling, and poolers. */
const ways = {
  session: { pooling: 'session' },
  transaction: { pooling: 'transaction' },
  ...(PGBOUNCER_URL && { 'PgBouncer in session mode': { at: PGBOUNCER_URL, pooling: 'session' } }),
  ...(PGBOUNCER_TRANSACTION_URL && {
    'PgBouncer in transaction mode': { at: PGBOUNCER_TRANSACTION_URL, pooling: 'transaction' },
  }),
} as Record<string, { at?: string; pooling: string }>;

describe.runIf(engines.includes('postgres')).each(Object.entries(ways))('a session with %s', (_, way) => {
  const mark = `rls_${randomBytes(4).toString('hex')}`;
  let hubId: string;
  let operatorId: string;
  let sourceId: string;
  let queryIds: Record<'notes' | 'cached' | 'failing' | 'extra' | 'slow' | 'add' | 'left', string>;
  let key: string;
  let tokens: string[];

  const ddl = (query: string, command = query.split(' ', 1)[0] as string) =>
    execute({ hubId, sourceId: operatorId, query, command });
  const settingsOf = ({ at, pooling }: { at?: string; pooling: string }) => {
    const { connectionSettings } = sourceBody(hubId, 'postgres');
    const address = at === undefined ? undefined : new URL(at);
    return {
      ...connectionSettings,
      ...(address && {
        host: address.hostname,
        port: Number(address.port),
        user: decodeURIComponent(address.username),
        password: decodeURIComponent(address.password),
        database: address.pathname.slice(1),
      }),
      pooling,
      pool: { max: 4 },
    };
  };
  const session = {
    searchPath: mark,
    role: { claim: 'role', among: [mark] },
    settings: { 'request.jwt.claims': { claims: true }, 'app.kind': { value: 'page' } },
  };
  const store = async (body: object): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', ...body }))).config.query.queryId;
  const run = (name: keyof typeof queryIds, i: number, more: object = {}) =>
    api.post(
      '/v1/queries/execute',
      { queryId: queryIds[name], ...more },
      { key, headers: bearer(tokens[i] as string) },
    );

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'row-level security' })));
    const operator = { ...sourceBody(hubId, 'postgres'), label: 'operator' };
    const made =
      way.at === undefined
        ? operator
        : { ...operator, connectionSettings: settingsOf({ ...way, pooling: way.pooling }) };
    operatorId = (await api.ok(api.post('/v1/sources', made))).sourceId;
    await ddl(`CREATE SCHEMA ${mark}`);
    await ddl(`CREATE ROLE ${mark}`);
    await ddl(
      `CREATE FUNCTION ${mark}.uid() RETURNS uuid LANGUAGE sql STABLE AS $$ SELECT (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$`,
    );
    await ddl(`CREATE TABLE ${mark}.notes (owner uuid NOT NULL DEFAULT ${mark}.uid(), body text NOT NULL)`);
    await ddl(
      `INSERT INTO ${mark}.notes SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'note' FROM generate_series(0, ${usersMax - 1}) n, generate_series(1, 3)`,
    );
    await ddl(`ALTER TABLE ${mark}.notes ENABLE ROW LEVEL SECURITY`);
    await ddl(
      `CREATE POLICY own ON ${mark}.notes USING (owner = ${mark}.uid()) WITH CHECK (owner = ${mark}.uid())`,
    );
    await ddl(`GRANT USAGE ON SCHEMA ${mark} TO ${mark}`);
    await ddl(`GRANT ALL ON ${mark}.notes TO ${mark}`);
    const connectionSettings = { ...settingsOf(way), session };
    sourceId = (
      await api.ok(api.post('/v1/sources', { hubId, label: 'rls', engine: 'postgres', connectionSettings }))
    ).sourceId;
    queryIds = {
      // The table's other name shows which sessions are to be ended.
      notes: await store({
        query: `SELECT DISTINCT owner, nullif(current_setting('app.extra', true), '') AS extra FROM notes ${mark}`,
      }),
      // Its setting must not be there in calls of others.
      extra: await store({
        query: `SELECT DISTINCT owner, current_setting('app.extra') AS extra FROM notes ${mark}`,
        context: [{ key: 'extra', type: 'string' }],
        session: { settings: { 'app.extra': { variable: 'extra' } } },
      }),
      slow: await store({ query: `SELECT pg_sleep(5), owner FROM notes ${mark}` }),
      cached: await store({ query: 'SELECT DISTINCT owner FROM notes', cache: { maxAgeS: 600 } }),
      failing: await store({ query: 'SELECT 1 / (count(*) - 3) FROM notes' }),
      add: await store({
        query: 'INSERT INTO notes (owner, body) VALUES (:owner, :body)',
        command: 'INSERT',
        context: [
          { key: 'owner', type: 'uuid' },
          { key: 'body', type: 'string' },
        ],
      }),
      left: await store({ query: "SELECT current_setting('app.kind', true) AS kind, current_user AS role" }),
    };
    const scopes = ['queries:execute', 'queries:execute:write'];
    const limits = { queryIds: Object.values(queryIds), user };
    ({ key } = await api.ok(api.post('/v1/keys', { name: 'page', scopes, limits })));
    tokens = await Promise.all(
      Array.from({ length: usersMax }, (_, i) => issuer.sign({ sub: idOf(i), role: mark })),
    );
  });
  afterAll(async () => {
    await ddl(`DROP SCHEMA ${mark} CASCADE`);
    await ddl(`DROP ROLE ${mark}`);
  });

  /** Repeats a read whose session was ended. */
  const read = async (...call: Parameters<typeof run>) => {
    for (;;) {
      const { status, body } = await run(...call);
      if (status === 200) return body.data;
      expect(body.retryable, JSON.stringify(body)).toBe(true);
    }
  };
  /** Calls a slow query, and leaves. */
  const leave = (of: number) =>
    fetch(`${inject('hub').url}/v1/queries/execute`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-api-key': key,
        ...bearer(tokens[of] as string),
      },
      body: JSON.stringify({ queryId: queryIds.slow }),
      signal: AbortSignal.timeout(30),
    }).catch(() => {});

  it('shows 50 users who call at the same time only their rows, also from the cache, and after errors, cancels and ended sessions', {
    timeout: 120_000,
  }, async () => {
    let i = 0;
    const worker = async () => {
      for (let n = i++; n < scaled(250, 1_000); n = i++) {
        const of = (n * 7) % usersMax;
        const owner = idOf(of);
        if (n % 3 === 0) expect(await read('cached', of)).toEqual([{ owner }]);
        else if (n % 3 === 1) expect(await read('notes', of)).toEqual([{ owner, extra: null }]);
        else
          expect(await read('extra', of, { context: { extra: owner } })).toEqual([{ owner, extra: owner }]);
        if (n % 10 === 0) expect((await run('failing', of)).body.retryable).not.toBeUndefined();
        if (n % 50 === 20) await leave(of);
        if (n % 100 === 60)
          await ddl(
            `SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity WHERE query LIKE '%notes ${mark}%' AND query NOT LIKE '%pg_stat_activity%'`,
            'CALL',
          );
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    const other = { context: { owner: idOf(2), body: 'x' } };
    expect((await run('add', 1, other)).status).toBe(422);
    const own = { context: { owner: idOf(1), body: 'x' }, options: { dryRun: true } };
    expect((await run('add', 1, own)).status).toBe(200);
  });

  it('holds inside a call alone', async () => {
    expect((await run('left', 1)).body.data).toEqual([{ kind: 'page', role: mark }]);
    const outside = await execute({
      hubId,
      sourceId: operatorId,
      query:
        "SELECT nullif(current_setting('app.kind', true), '') AS kind, current_user = session_user AS own",
    });
    expect(outside.data).toEqual([{ kind: null, own: true }]);
  });

  it('refuses calls without a user, without a claim, and with another role', async () => {
    const { status, body } = await api.post('/v1/queries/execute', { queryId: queryIds.notes });
    expect([status, body.code]).toEqual([403, 'CLAIM_MISSING']);
    for (const role of [undefined, 'postgres', null]) {
      const headers = bearer(await issuer.sign({ sub: idOf(1), role }));
      const refused = await api.post('/v1/queries/execute', { queryId: queryIds.notes }, { key, headers });
      expect([refused.status, refused.body.code]).toEqual([403, 'CLAIM_MISSING']);
    }
  });
});

describe.runIf(engines.includes('postgres'))('session', () => {
  let hubId: string;
  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'sessions of sources' })));
  });
  const sourceWith = async (session: object, engine = 'postgres') => {
    const body = sourceBody(hubId, engine);
    return api.post('/v1/sources', { ...body, connectionSettings: { ...body.connectionSettings, session } });
  };

  it('is stored, read, changed and removed with sources and queries, and part of versions', async () => {
    const session = { searchPath: 'public', settings: { 'app.a': { value: 'x' } } };
    const { sourceId } = await api.ok(sourceWith(session));
    const source = () => api.ok(api.get(`/v1/sources/${sourceId}`));
    expect((await source()).connectionSettings.session).toEqual(session);
    const own = { settings: { 'app.b': { variable: 'b' } } };
    const query = "SELECT current_setting('app.a') AS a, current_setting('app.b') AS b";
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'q', query, session: own }),
    );
    const { queryId } = stored.config.query;
    const run = (context: object) => api.post('/v1/queries/execute', { queryId, context });
    expect((await run({ b: 12 })).body.data).toEqual([{ a: 'x', b: '12' }]);
    expect((await run({})).body.code).toBe('CONTEXT_INVALID');
    const path = `/v1/queries/${queryId}`;
    expect((await api.ok(api.get(path))).config.session).toEqual(own);
    const taken = await api.put(path, { config: { session: { settings: { 'app.a': { value: 'y' } } } } });
    expect([taken.status, taken.body.errors?.[0].pointer]).toEqual([400, '/config/session/settings/app.a']);
    await api.ok(api.put(path, { config: { session: null } }));
    expect((await api.ok(api.get(`${path}/versions`))).map((one: any) => one.session)).toEqual([
      undefined,
      own,
    ]);
    await api.ok(api.put(`/v1/sources/${sourceId}`, { connectionSettings: { session: null } }));
    expect((await source()).connectionSettings.session).toBeUndefined();
  });

  it.each([
    [{ settings: { TimeZone: { value: 'x' } } }, 400],
    [{ settings: { 'plpgsql.variable_conflict': { value: 'x' } } }, 400],
    [{ settings: { 'app.a': { value: 'x', claim: 'y' } } }, 400],
    [{ settings: { 'app.a': {} } }, 400],
    [{ role: { claim: 'role' } }, 400],
    [{ searchPath: '' }, 400],
  ])('%j is refused', async (session, status) => {
    expect((await sourceWith(session)).status).toBe(status);
  });

  it.each(engines.filter((one) => one !== 'postgres'))('is refused at %s', async (engine) => {
    const { status, body } = await sourceWith({ searchPath: 'public' }, engine);
    expect([status, body.code]).toEqual([422, 'OPTION_REFUSED']);
  });

  it('refuses statements outside of a transaction, and checks say who passes policies', async () => {
    const { sourceId } = await api.ok(sourceWith({ settings: { 'app.a': { value: 'x' } } }));
    const call = { hubId, sourceId, label: 'q', query: 'VACUUM', command: 'VACUUM' };
    const { status, body } = await api.post('/v1/queries', call);
    expect([status, body.code]).toEqual([422, 'SQL_REJECTED']);
    const session = { settings: { 'app.b': { variable: 'b' } } };
    const { problems } = await api.ok(
      api.post('/v1/queries/check', { sourceId, query: 'SELECT 1 AS one', session }),
    );
    expect(problems.map(({ code }: { code: string }) => code)).toContain('SETTING_CHOSEN_BY_CALLER');
    const [row] = (
      await execute({
        hubId,
        sourceId: await createSource(hubId, 'postgres'),
        query: 'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
      })
    ).data;
    const bypasses = problems.some(({ code }: { code: string }) => code === 'POLICIES_BYPASSED');
    if (row.bypasses) expect(bypasses).toBe(true);
    expect(database('postgres').host).toBeDefined();
  });
});
