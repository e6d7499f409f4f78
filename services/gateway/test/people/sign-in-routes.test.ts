import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

/** More than one address may have waiting at a time. */
const many = 40;

/** A provider that describes itself, and is too busy to answer else. */
let provider: Server;
let issuer: string;
let app: FastifyInstance;
let asked = 0;

beforeAll(async () => {
  provider = createServer((request, response) => {
    if (request.url === '/token' || request.url === '/keys') {
      asked++;
      return;
    }
    const endpoints = {
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer, ...endpoints }));
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const env = {
    DATAHUB_OIDC_ISSUER: issuer,
    DATAHUB_OIDC_CLIENT_ID: 'hub',
    DATAHUB_OIDC_CLIENT_SECRET: 'secret-of-the-hub',
    DATAHUB_PUBLIC_ORIGIN: 'http://localhost',
  };
  const config = readSettings(env, (reader) => readGatewayConfig(reader, { edge: 'none', env }));
  const logger = pino({ level: 'silent' });
  const catalog = { authenticate: async () => Promise.reject(new Error('no key is there')) };
  app = await createApp(config, {
    keyCache: createKeyCache({ catalog, cacheMs: 1_000, awayMs: 1_000 }),
    rateLimiter: createRateLimiter(config),
    userTokens: createUserTokens({} as never),
    events: createGatewayEvents(logger),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: { catalog } as never,
    inFront: undefined,
  });
  await app.ready();
});
afterAll(async () => {
  provider.closeAllConnections();
  provider.close();
  await app.close();
});
beforeEach(() => {
  asked = 0;
});

const cookieOf = (begun: object) =>
  `__Host-datahub-sign-in=${Buffer.from(JSON.stringify(begun)).toString('base64url')}`;
const begun = (state: string) => ({ state, nonce: 'n', verifier: 'v'.repeat(43), to: '' });
const callback = (state: string, cookie = cookieOf(begun(state))) =>
  app.inject({ url: `/auth/callback?code=c&state=${state}`, headers: { cookie } });

it('lets few sign-ins of an address wait for the provider', async () => {
  const answers: Promise<{ statusCode: number }>[] = [];
  const codes: number[] = [];
  for (let n = 0; n < many; n++) {
    const answer = callback(`s${n}`);
    answers.push(answer);
    void answer.then(({ statusCode }) => codes.push(statusCode));
  }
  await expect.poll(() => [asked, codes.length]).toEqual([32, 8]);
  expect(new Set(codes)).toEqual(new Set([503]));
  provider.closeAllConnections();
  await Promise.all(answers);
  expect(codes).toHaveLength(many);
  // Their places are free again.
  const next = callback('s');
  await expect.poll(() => asked).toBe(33);
  provider.closeAllConnections();
  await next;
});

it('asks the provider nothing for a cookie that the hub did not write', async () => {
  const long = { ...begun('s'), verifier: 'v'.repeat(8_500) };
  expect((await callback('s', cookieOf(long))).statusCode).toBe(401);
  expect(asked).toBe(0);
});
