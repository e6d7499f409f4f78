import { createHmac, randomBytes } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';
import { createRandom } from '../support/random.ts';
import { createTestIssuer } from '../support/user-tokens.ts';

const { url } = inject('hub');
const engine = engines.find((one) => one === 'postgres' || one === 'mariadb') as string;
const usersOfRows = 50;
/** Three orders of each of 50 customers. */
const rows = Array.from(
  { length: 3 * usersOfRows },
  (_, i) => `SELECT 'c${i % usersOfRows}' AS customer, ${i} AS id`,
);
const orders = `SELECT id, customer, 'my parcel is late' AS body FROM (${rows.join(' UNION ALL ')}) AS o`;
const ofCustomer = `${orders} WHERE customer = :customer ORDER BY id`;

const issuer = await createTestIssuer();
const { jwks, audience } = issuer;
const user = { issuer: issuer.issuer, audience, jwks, claims: { customer: 'sub' } };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const customersOf = (body: { data: { customer: string }[] }) => body.data.map(({ customer }) => customer);

let hubId: string;
let sourceId: string;
let queryId: string;
let cachedId: string;

const store = async (members: object): Promise<string> =>
  (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', ...members }))).config.query.queryId;
const createKey = async ({ limits, ...more }: { limits: object; scopes?: string[] }): Promise<string> =>
  (await api.ok(api.post('/v1/keys', { name: 'page', scopes: ['queries:execute'], limits, ...more }))).key;
const keyFor = (queryIds: string[], change: object = {}, limits: object = {}) =>
  createKey({ limits: { queryIds, user: { ...user, ...change }, ...limits } });
const execute = (key: string, headers: Record<string, string>, body: object = { queryId }) =>
  api.post('/v1/queries/execute', body, { key, headers });

beforeAll(async () => {
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'signed-in users' })));
  sourceId = await createSource(hubId, engine);
  queryId = await store({ query: ofCustomer });
  const tool = {
    name: `my_orders_${randomBytes(4).toString('hex')}`,
    description: 'The orders of the user.',
  };
  cachedId = await store({ query: ofCustomer, cache: { maxAgeS: 600 }, tool });
});

describe('a key with limits.user', () => {
  it('answers each user with their rows alone: POST, GET, the cache, annotate and MCP', async () => {
    const { id: classifier } = await api.ok(api.post('/v1/classifiers', {}));
    const examples = [
      { label: 'delivery', context: 'the parcel is late' },
      { label: 'payment', context: 'a refund' },
    ];
    await api.ok(api.post(`/v1/classifiers/${classifier}/train`, { examples }));
    const scopes = ['queries:execute', 'classifiers:predict'];
    const limits = { queryIds: [queryId, cachedId], user };
    const key = await createKey({ scopes, limits });
    const options = { annotate: [{ classifier, text: 'body', as: 'topic' }] };
    for (const customer of ['c1', 'c2']) {
      const headers = bearer(await issuer.sign({ sub: customer }));
      const expected = Array(3).fill(customer);
      // The context of the caller is overridden.
      const posted = await execute(key, headers, { queryId, context: { customer: 'c3' } });
      expect(customersOf(posted.body)).toEqual(expected);
      const path = `/v1/queries/${cachedId}/data`;
      const first = await api.get(path, { key, headers });
      const second = await api.get(path, { key, headers });
      expect([customersOf(first.body), second.text]).toEqual([expected, first.text]);
      expect(first.headers.get('cache-status')).toMatch(/^data-hub; fwd=miss/);
      expect(second.headers.get('cache-status')).toMatch(/^data-hub; hit/);
      expect(second.headers.get('cache-control')).toBe('private, no-cache');
      expect(second.headers.get('vary')?.toLowerCase()).toContain('authorization');
      const etag = second.headers.get('etag') as string;
      const other = bearer(await issuer.sign({ sub: 'c4' }));
      const conditional = { 'if-none-match': etag, 'cache-control': 'max-age=0' };
      expect((await api.get(path, { key, headers: { ...headers, ...conditional } })).status).toBe(304);
      expect((await api.get(path, { key, headers: { ...other, ...conditional } })).status).toBe(200);
      const annotated = await execute(key, headers, { queryId, options });
      expect(annotated.body.data).toHaveLength(3);
      expect(annotated.body.data[0]).toMatchObject({ customer, topic: 'delivery' });
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      const requestInit = { headers: { ...headers, 'x-service-api-key': key } };
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
      const { tools } = await client.listTools();
      const tool = tools.find(({ name }) => name.startsWith('my_orders'));
      expect(tool?.inputSchema.properties).toEqual({});
      const called = await client.callTool({ name: tool?.name as string, arguments: {} });
      const text = (called.content as { text: string }[]).at(-1)?.text as string;
      expect([text.match(/"c\d+"/g), text.includes(`"${customer}"`)]).toEqual([
        expected.map((one) => `"${one}"`),
        true,
      ]);
      await client.close();
    }
  });

  it('mixes no rows of users who call at the same time', async () => {
    const [uncached, cached] = [await keyFor([queryId]), await keyFor([cachedId])];
    const random = createRandom(35);
    const tokens = await Promise.all(
      Array.from({ length: usersOfRows }, (_, i) => issuer.sign({ sub: `c${i}` })),
    );
    const one = async () => {
      const i = Math.floor(random() * usersOfRows);
      const headers = bearer(tokens[i] as string);
      const answer =
        random() < 0.5
          ? await execute(uncached, headers)
          : await api.get(`/v1/queries/${cachedId}/data`, { key: cached, headers });
      expect([i, ...customersOf(answer.body)]).toEqual([i, ...Array(3).fill(`c${i}`)]);
    };
    for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, one));
  });

  it('pins paths of members, names with dots, numbers with all digits, and lists', async () => {
    const id = await store({
      query: 'SELECT :a AS a, :b AS b, :n AS n, COUNT(*) AS found FROM (SELECT 1) AS one WHERE 7 IN (:ids)',
      context: [
        { key: 'a', type: 'string' },
        { key: 'b', type: 'string' },
        { key: 'n', type: 'decimal' },
        { key: 'ids', type: 'bigint[]' },
      ],
    });
    const claims = { a: 'app.tenant', b: 'https://shop.example/role', n: 'n', ids: 'ids' };
    const key = await keyFor([id], { claims });
    const payload = { sub: 'x', app: { tenant: 'acme' }, 'https://shop.example/role': 'buyer', n: 0.1 };
    for (const ids of [7, '7', [7, 8]]) {
      const token = await issuer.sign({ ...payload, ids });
      const { body } = await execute(key, bearer(token), { queryId: id });
      expect(body.data).toMatchObject([{ a: 'acme', b: 'buyer', found: 1 }]);
      expect(String(body.data[0].n)).toBe('0.1');
    }
    const none = await execute(key, bearer(await issuer.sign({ ...payload, ids: [] })), { queryId: id });
    expect(none.body.data).toMatchObject([{ found: 0 }]);
  });

  it.each(['RS256', 'PS256', 'ES256', 'EdDSA'] as const)(
    'accepts %s, with and without a kid',
    async (alg) => {
      const key = await keyFor([queryId]);
      for (const kid of [alg, '']) {
        const answer = await execute(key, bearer(await issuer.sign({ sub: 'c1' }, { alg, kid })));
        expect([answer.status, alg, kid]).toEqual([200, alg, kid]);
      }
    },
  );

  it('refuses a stored transaction with a step that ignores a claim', async () => {
    const first = { query: ofCustomer, as: 'own' };
    const taken = { id: { from: 'own', pointer: '/data/0/id' } };
    const byAnswer = { query: `${orders} WHERE id = :id`, references: taken };
    const [taking, ignoring] = await Promise.all(
      [
        [first, byAnswer],
        [first, byAnswer, { query: orders }],
      ].map((steps) => store({ steps })),
    );
    const scopes = ['queries:execute', 'queries:execute:write'];
    const queryIds = [taking, ignoring] as string[];
    const key = await createKey({ scopes, limits: { queryIds, user } });
    const headers = bearer(await issuer.sign({ sub: 'c1' }));
    expect(customersOf((await execute(key, headers, { queryId: taking })).body)).toEqual(['c1']);
    const refused = await execute(key, headers, { queryId: ignoring });
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
    expect(refused.body.detail).toContain('Step 3 does not use :customer');
  });

  it('refuses a query that ignores a claim, unless it is public', async () => {
    const open = await store({ query: 'SELECT 1 AS one' });
    const headers = bearer(await issuer.sign({ sub: 'c1' }));
    const refused = await execute(await keyFor([open]), headers, { queryId: open });
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
    expect(refused.body.detail).toContain('does not use :customer');
    const key = await keyFor([open], { public: [open] });
    expect((await execute(key, headers, { queryId: open })).body.data).toEqual([{ one: 1 }]);
    expect((await execute(key, {}, { queryId: open })).status).toBe(401);
  });

  it('limits the rate of each user', async () => {
    const key = await keyFor([queryId], { ratePerMinute: 2 });
    const [one, other] = [await issuer.sign({ sub: 'c1' }), await issuer.sign({ sub: 'c2' })];
    const statuses: number[] = [];
    for (const token of [one, one, one, one, other])
      statuses.push((await execute(key, bearer(token))).status);
    // Each gateway counts for itself.
    const admitted = statuses.slice(0, 4).filter((status) => status === 200).length;
    expect(admitted).toBeLessThanOrEqual(2 * inject('hub').replicas);
    expect([statuses.includes(429) || inject('hub').replicas > 1, statuses.at(-1)]).toEqual([true, 200]);
  });

  it('counts each of several executions against the rate of the user', async () => {
    const key = await keyFor([queryId], { ratePerMinute: 2 });
    const headers = bearer(await issuer.sign({ sub: 'c1' }));
    const body = { executions: Array(3).fill({ queryId }) };
    const { executions } = await api.ok(api.post('/v1/queries/data', body, { key, headers }));
    expect(executions.map(({ status }: { status: number }) => status)).toEqual([200, 200, 429]);
  });

  it('counts the users of each key in the usage of the query and of the key', async () => {
    const [used, other] = [await store({ query: ofCustomer }), await store({ query: ofCustomer })];
    const limits = { queryIds: [used, other], user };
    const made = { name: 'page', scopes: ['queries:execute'], limits };
    const { key, keyId } = await api.ok(api.post('/v1/keys', made));
    for (const sub of ['c1', 'c2', 'c1', 'c3'])
      expect((await execute(key, bearer(await issuer.sign({ sub })), { queryId: used })).status).toBe(200);
    for (const sub of ['c3', 'c4'])
      expect((await execute(key, bearer(await issuer.sign({ sub })), { queryId: other })).status).toBe(200);
    await vi.waitFor(
      async () => {
        const usage = await api.ok(api.get(`/v1/queries/${used}/usage`));
        const { users } = usage;
        expect(usage).toMatchObject({ count: 4, keys: [{ count: 4, users }] });
        // Two users count as one with a probability of 1 in 1,024.
        expect([2, 3]).toContain(users);
        // One of them runs both queries.
        const ofKey = await api.ok(api.get(`/v1/keys/${keyId}/usage`));
        expect(ofKey).toMatchObject({ keyId, count: 6 });
        expect([3, 4]).toContain(ofKey.users);
      },
      { timeout: 60_000, interval: 250 },
    );
  });

  it('records operations by user', async () => {
    const scopes = ['queries:execute', 'queries:execute:write'];
    const write = await store({
      query: 'CREATE TEMPORARY TABLE t AS SELECT :customer AS c',
      command: 'CREATE',
    });
    const key = await createKey({ scopes, limits: { queryIds: [write], user } });
    const idempotency = { 'idempotency-key': randomBytes(8).toString('hex') };
    const call = async (sub: string) => {
      const headers = { ...bearer(await issuer.sign({ sub })), ...idempotency };
      const answer = await execute(key, headers, { queryId: write });
      return [answer.status, answer.headers.get('idempotency-replayed')];
    };
    expect(await call('c1')).toEqual([200, null]);
    expect(await call('c1')).toEqual([200, 'true']);
    expect(await call('c2')).toEqual([200, null]);
  });
});

describe('a token is refused with its reason', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: user.issuer, aud: audience, sub: 'c1', exp: Math.floor(Date.now() / 1_000) + 600 };
  /** HMAC with a public key as the secret. */
  const hmac = () => {
    const signed = `${part({ alg: 'HS256', kid: 'RS256' })}.${part(claims)}`;
    return `${signed}.${createHmac('sha256', JSON.stringify(jwks.keys[0])).update(signed).digest('base64url')}`;
  };
  const cases: Record<string, [token: () => string | Promise<string>, reason: string]> = {
    'that has expired': [() => issuer.sign({ sub: 'c1' }, { expiresIn: -61 }), 'has expired'],
    'without an expiry': [() => issuer.sign({ sub: 'c1', exp: undefined } as never), 'no claim exp'],
    'that is not valid yet': [() => issuer.sign({ sub: 'c1', nbf: claims.exp }), 'not valid yet'],
    'for another audience': [() => issuer.sign({ sub: 'c1', aud: 'other' }), 'another audience'],
    'of another issuer': [() => issuer.sign({ sub: 'c1', iss: 'https://other.example' }), 'another issuer'],
    'without a subject': [() => issuer.sign({}), 'no claim sub'],
    'with an unknown key': [
      () => issuer.sign({ sub: 'c1' }, { kid: 'gone' }),
      'key that its issuer does not list',
    ],
    'signed by a stranger': [
      async () => (await createTestIssuer()).sign({ sub: 'c1' }),
      'signature of the token is not valid',
    ],
    'with alg none': [() => `${part({ alg: 'none' })}.${part(claims)}.`, 'is not signed with RS256'],
    'with HMAC': [hmac, 'is not signed with RS256'],
    'of 8 kB': [() => issuer.sign({ sub: 'c1', groups: 'g'.repeat(8_192) }), 'more than 8192 characters'],
    'that is no token': [() => 'no.jwt-at.all', 'not a signed JSON Web Token'],
  };

  it.each(Object.entries(cases))('%s', async (_, [create, reason]) => {
    const token = await create();
    const answer = await execute(await keyFor([queryId]), bearer(token));
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
      401,
      'TOKEN_INVALID',
      expect.stringContaining(reason),
    ]);
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    expect(answer.text).not.toContain(token.split('.')[1]);
  });

  it('that lacks a claim, and a call without a token', async () => {
    const key = await keyFor([queryId], { claims: { customer: 'app.customer' } });
    for (const app of [undefined, null, {}, { customer: null }, { customer: {} }, { customer: [[1]] }]) {
      const answer = await execute(key, bearer(await issuer.sign({ sub: 'c1', app })));
      expect([answer.status, answer.body.detail]).toEqual([
        401,
        expect.stringContaining('no claim app.customer'),
      ]);
    }
    for (const headers of [{}, { authorization: 'Basic eDp5' }]) {
      const answer = await execute(key, headers as Record<string, string>);
      expect([answer.status, answer.body.detail]).toEqual([
        401,
        expect.stringContaining('Authorization: Bearer'),
      ]);
    }
    expect((await api.post('/mcp', {}, { key: null, headers: bearer(key) })).body.code).toBe('TOKEN_INVALID');
  });

  it('with a key for another audience, or of which the limits were changed', async () => {
    const token = await issuer.sign({ sub: 'c1' });
    const other = await keyFor([queryId], { audience: 'https://admin.example' });
    expect((await execute(other, bearer(token))).body.detail).toContain('another audience');
    const limits = { queryIds: [queryId], user };
    const { key, keyId } = await api.ok(api.post('/v1/keys', { name: 'changed', limits }));
    expect((await execute(key, bearer(token))).status).toBe(200);
    await api.ok(api.put(`/v1/keys/${keyId}`, { limits: { user: { ...user, audience: 'other' } } }));
    await expect.poll(async () => (await execute(key, bearer(token))).status).toBe(401);
  });
});

describe('limits.user', () => {
  it('is shown as it was sent, and null removes it', async () => {
    const full = { ...user, ratePerMinute: 60, public: [queryId] };
    const limits = { queryIds: [queryId], user: full };
    const { keyId, limits: shown } = await api.ok(api.post('/v1/keys', { name: 'full', limits }));
    expect(shown).toEqual(limits);
    const changed = await api.ok(api.put(`/v1/keys/${keyId}`, { limits: { user: null } }));
    expect(changed.limits).toEqual({ queryIds: [queryId] });
    const again = await api.ok(api.put(`/v1/keys/${keyId}`, { limits: { user } }));
    expect(again.limits.user).toEqual(user);
  });

  const privateKey = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' };
  it.each<[string, { scopes?: string[]; limits?: object }, object, string]>([
    ['a scope that reaches more', { scopes: ['queries:read'] }, {}, '/limits/user'],
    ['no queries', { limits: { queryIds: undefined } }, {}, '/limits/queryIds'],
    ['a public query that is not listed', {}, { public: ['q'] }, '/limits/user/public/0'],
    [
      'a variable that context pins',
      { limits: { context: { customer: 1 } } },
      {},
      '/limits/user/claims/customer',
    ],
    ['a name that no variable can have', {}, { claims: { 'a b': 'sub' } }, '/limits/user/claims'],
    ['an issuer whose keys cannot be found', {}, { issuer: 'shop', jwks: undefined }, '/limits/user/issuer'],
    ['keys over http', {}, { jwks: 'http://id.example/keys' }, '/limits/user/jwks'],
    ['a private key', {}, { jwks: { keys: [privateKey] } }, '/limits/user/jwks'],
    ['a symmetric key', {}, { jwks: { keys: [{ kty: 'oct', k: 'k' }] } }, '/limits/user/jwks'],
    ['no keys', {}, { jwks: {} }, '/limits/user/jwks'],
  ])('refuses %s', async (_, body, change, pointer) => {
    const limits = { queryIds: [queryId], user: { ...user, ...change }, ...body.limits };
    const { status, body: problem } = await api.post('/v1/keys', { name: 'x', ...body, limits });
    expect([status, problem.errors.map((one: { pointer: string }) => one.pointer)]).toEqual([400, [pointer]]);
  });
});
