import type { Principal } from '@datahub/proto/common/v1/principal';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createTestIssuer } from '../../../../tests/support/user-tokens.ts';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createSharedRateLimiter } from '../../src/access/shared-rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const noLimits = { hubIds: [], queryIds: [], classifierIds: [], queries: [], origins: [], contextJson: '' };
const principalOf = (limits: Partial<NonNullable<Principal['limits']>> = {}): Principal => ({
  accountId: 'a',
  keyId: 'k',
  scopes: ['*'],
  limits: { ...noLimits, ...limits },
});

let app: FastifyInstance;
afterEach(() => app.close());

interface Setup {
  env?: Record<string, string>;
  publicOrigin?: string;
  /** Rates are counted in a catalog that several gateways share. */
  shared?: boolean;
}

/** A gateway over a catalog with one key. */
async function open(principal: Principal, { env = {}, publicOrigin, shared = false }: Setup = {}) {
  const key = createApiKey();
  const state = { isAway: false, seen: [] as (Principal | undefined)[] };
  const catalog = {
    authenticate: async ({ keySha256 }: { keySha256: Uint8Array }) => {
      if (state.isAway) throw new HubError('UNAVAILABLE', 'The catalog is away.');
      if (Buffer.from(keySha256).toString('hex') !== hashApiKey(key))
        throw new HubError('KEY_INVALID', 'No.');
      return { principal, expiresAt: undefined };
    },
    listHubs: async (_: unknown, ctx: { principal?: Principal }) => {
      state.seen.push(ctx.principal);
      return { hubs: [], total: 0 };
    },
    takeRequests: async ({ perMinute, count }: { perMinute: number; count: number }) => ({
      granted: count,
      left: perMinute - count,
      resetMs: 60_000,
    }),
  };
  const config = readSettings(env, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  const local = createRateLimiter(config);
  app = await createApp(config, {
    keyCache: createKeyCache({ catalog, cacheMs: 60_000, awayMs: 60_000 }),
    rateLimiter: shared ? createSharedRateLimiter({ ...config, catalog, local }) : local,
    userTokens: createUserTokens({} as never),
    publicOrigin,
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: { catalog } as never,
  });
  const send = async (headers: Record<string, string>, method: 'GET' | 'HEAD' | 'POST' = 'GET') => {
    const response = await app.inject({ method, url: '/v1/hubs', headers });
    const code = response.statusCode === 200 || method === 'HEAD' ? undefined : response.json().code;
    return { ...response, code: (code ?? response.statusCode) as string | number };
  };
  const call = (headers: Record<string, string>, method?: 'GET' | 'HEAD' | 'POST') =>
    send({ 'x-service-api-key': key, ...headers }, method);
  /** A message of MCP, which is a POST. */
  const ping = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream', ...headers },
      payload: { jsonrpc: '2.0', id: 1, method: 'ping' },
    });
  return { key, state, send, call, ping };
}

describe('the key of a request', () => {
  it('is in its own header', async () => {
    const { key, send, call, state } = await open(principalOf());
    expect((await call({})).code).toBe(200);
    expect(state.seen).toEqual([principalOf()]);
    for (const headers of [{}, { authorization: `Bearer ${key}` }] as Record<string, string>[])
      expect((await send(headers)).code).toBe('KEY_MISSING');
  });

  it('may be a bearer token for clients of MCP', async () => {
    const { key, ping } = await open(principalOf());
    const codeOf = async (headers: Record<string, string>) => {
      const response = await ping(headers);
      return response.statusCode === 401 ? response.json().code : response.statusCode;
    };
    for (const authorization of [`Bearer ${key}`, `bearer   ${key}  `])
      expect(await codeOf({ authorization })).toBe(200);
    for (const authorization of [
      `x Bearer ${key}`,
      `Bearer ${key} x`,
      `Bearer${key}`,
      `Basic ${key}`,
      'Bearer ',
    ])
      expect(await codeOf({ authorization })).toBe('KEY_MISSING');
    expect(await codeOf({})).toBe('KEY_MISSING');
    const other = createApiKey();
    expect(await codeOf({ authorization: `Bearer ${other}` })).toBe('KEY_INVALID');
    expect(await codeOf({ authorization: `Bearer ${other}`, 'x-service-api-key': key })).toBe(200);
  });
});

describe('refused keys', () => {
  const env = { DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '2' };

  const wrong = createApiKey().replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));

  it.each([
    ['missing', 2, undefined],
    ['malformed', 2, 'x'],
    ['generated with a wrong checksum', 2, wrong],
    ['chosen by an operator', 2, 'a-key-of-an-operator-0123456789-0123'],
    ['generated', 40, createApiKey()],
  ])('that are %s are counted for the address: %i, and then no more', async (_, max, key) => {
    const { send, call } = await open(principalOf(), { env });
    const headers: Record<string, string> = key === undefined ? {} : { 'x-service-api-key': key };
    const codes: unknown[] = [];
    for (let i = 0; i <= max; i++) codes.push((await send(headers)).code);
    expect(codes.slice(0, -1)).toEqual(Array(max).fill(expect.stringMatching('^KEY_')));
    expect(codes.at(-1)).toBe('RATE_LIMITED');
    // A valid key that this gateway sees for the first time: others at the address go on.
    expect((await call({})).code).toBe(max === 2 ? 200 : 'RATE_LIMITED');
  });

  it('do not count if the catalog is away', async () => {
    const { call, state } = await open(principalOf(), { env });
    state.isAway = true;
    for (let i = 0; i < 3; i++) expect((await call({})).code).toBe('UNAVAILABLE');
    state.isAway = false;
    expect((await call({})).code).toBe(200);
  });

  it('count for the address that a trusted proxy reports, or for its own if it reports none', async () => {
    const { send } = await open(principalOf(), { env: { ...env, DATAHUB_TRUSTED_PROXIES: '127.0.0.1' } });
    const from = async (address: string) => (await send({ 'x-forwarded-for': address })).code;
    const codes = [await from('203.0.113.1'), await from('203.0.113.1'), await from('203.0.113.1')];
    expect(codes).toEqual(['KEY_MISSING', 'KEY_MISSING', 'RATE_LIMITED']);
    expect(await from('203.0.113.2')).toBe('KEY_MISSING');
    const made = [await from('unknown'), await from('_hidden'), await from('other')];
    expect(made).toEqual(['KEY_MISSING', 'KEY_MISSING', 'RATE_LIMITED']);
    expect((await send({})).code).toBe('RATE_LIMITED');
    // Some proxies add the port of the client.
    const ports = [
      await from('203.0.113.3:50123'),
      await from('203.0.113.3'),
      await from('203.0.113.3:50124'),
    ];
    expect(ports).toEqual(['KEY_MISSING', 'KEY_MISSING', 'RATE_LIMITED']);
    const v6 = [await from('[2001:db8::1]:443'), await from('[2001:db8::2]'), await from('2001:db8::3')];
    expect(v6).toEqual(['KEY_MISSING', 'KEY_MISSING', 'RATE_LIMITED']);
  });
});

describe('the origin of a request', () => {
  const origins = ['https://app.example', 'https://hub.example'];
  const publicOrigin = 'https://hub.example';

  it('is one of the key', async () => {
    const { call } = await open(principalOf({ origins }));
    expect((await call({ origin: 'https://app.example' })).code).toBe(200);
    for (const headers of [{}, { origin: 'https://other.example' }, { 'sec-fetch-site': 'same-origin' }])
      expect((await call(headers as Record<string, string>)).code).toBe('SCOPE_DENIED');
  });

  it('is that of the hub for a read from its own pages, which has no header Origin', async () => {
    const { call } = await open(principalOf({ origins }), { publicOrigin });
    const own = { 'sec-fetch-site': 'same-origin' };
    expect((await call(own)).code).toBe(200);
    expect((await call(own, 'HEAD')).statusCode).toBe(200);
    expect((await call(own, 'POST')).code).toBe('SCOPE_DENIED');
    expect((await call({ 'sec-fetch-site': 'same-site' })).code).toBe('SCOPE_DENIED');
    expect((await call({ ...own, origin: 'https://other.example' })).code).toBe('SCOPE_DENIED');
  });
});

describe('a request with a signed-in user', async () => {
  const issuer = await createTestIssuer();
  const user = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    jwksJson: JSON.stringify(issuer.jwks),
    claims: [{ variable: 'customer', path: 'sub' }],
    public: [],
  };
  const tokenOf = async (sub: string) => ({ authorization: `Bearer ${await issuer.sign({ sub })}` });

  it.each([false, true])('needs a token, whose claims are pinned (shared rates: %s)', async (shared) => {
    const { call, state } = await open(principalOf({ user, ratePerMinute: 100 }), { shared });
    expect((await call({})).code).toBe('TOKEN_INVALID');
    expect((await call({ authorization: 'Bearer x.y.z' })).code).toBe('TOKEN_INVALID');
    expect(state.seen).toEqual([]);
    // The second call finds the token in the cache.
    for (let i = 0; i < 2; i++) expect((await call(await tokenOf('c1'))).code).toBe(200);
    const pinned = expect.objectContaining({ contextJson: '{"customer":"c1"}' });
    const expected = expect.objectContaining({
      user: expect.objectContaining({ issuer: user.issuer, subject: 'c1' }),
      limits: pinned,
    });
    expect(state.seen).toEqual([expected, expected]);
  });

  it('does not use the key as the token', async () => {
    const { key, ping } = await open(principalOf({ user }));
    const response = await ping({ authorization: `Bearer ${key}` });
    expect(response.json()).toMatchObject({
      code: 'TOKEN_INVALID',
      detail: expect.stringContaining('needs the token of a signed-in user'),
    });
  });

  it.each([false, true])('uses the rate of the key before its token is read (shared: %s)', async (shared) => {
    const { call } = await open(principalOf({ user, ratePerMinute: 1 }), { shared });
    expect((await call({})).code).toBe('TOKEN_INVALID');
    expect((await call({})).code).toBe('RATE_LIMITED');
  });

  it('uses the rate of the user', async () => {
    const { call } = await open(principalOf({ user: { ...user, ratePerMinute: 1 } }));
    const [one, other] = [await tokenOf('c1'), await tokenOf('c2')];
    expect((await call(one)).headers['ratelimit-policy']).toBe('"user";q=1;w=60');
    expect((await call(one)).code).toBe('RATE_LIMITED');
    expect((await call(other)).code).toBe(200);
  });

  it('has no rate of the user if the limit names none', async () => {
    const { call } = await open(principalOf({ user }));
    expect((await call(await tokenOf('c1'))).headers['ratelimit-policy']).toBeUndefined();
  });

  it('is answered to its user only', async () => {
    const { key, call, ping } = await open(principalOf({ user }));
    const { headers } = await call(await tokenOf('c1'));
    expect(headers.vary).toMatch(/(^|, )authorization(,|$)/);
    expect(headers['cache-control']).toBe('private, no-cache');
    // HTTP caches do not store answers to POST.
    const answer = await ping({ 'x-service-api-key': key, ...(await tokenOf('c1')) });
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
  });
});
