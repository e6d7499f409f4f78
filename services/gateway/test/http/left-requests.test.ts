import { once } from 'node:events';
import { request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readSettings } from '@datahub/service-kit/settings/settings';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const key = 'a-key-of-at-least-32-characters-000';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };

it('counts the body of a client that has left until its work ends', async () => {
  const config = readSettings({}, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  const ends: (() => void)[] = [];
  const train = () => new Promise((resolve) => ends.push(() => resolve({ classes: [] })));
  const app = await createApp(config, {
    keyCache: createKeyCache({
      catalog: { authenticate: async () => ({ principal, expiresAt: undefined }) },
      cacheMs: 1_000,
      awayMs: 1_000,
    }),
    rateLimiter: createRateLimiter(config),
    userTokens: createUserTokens({} as never),
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: { ml: { train } } as never,
    inFront: undefined,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const examples = Array.from({ length: 600 }, () => ({ label: 'a', context: 'x'.repeat(10_000) }));
  const training = () => {
    const { port } = app.server.address() as AddressInfo;
    const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
    const path = '/v1/classifiers/c/train';
    const request = send({ port, path, method: 'POST', headers, agent: false }).on('error', () => {});
    request.end(JSON.stringify({ examples }));
    return request;
  };
  const statusOf = async () => {
    const request = training();
    const [response] = await once(request, 'response');
    request.destroy();
    return response.statusCode;
  };
  const connections = () =>
    new Promise<number>((resolve) => app.server.getConnections((_err, count) => resolve(count)));
  try {
    for (let n = 1; n <= 2; n++) {
      const request = training();
      await expect.poll(() => ends.length).toBe(n);
      request.destroy();
    }
    await expect.poll(connections).toBe(0);
    expect(await statusOf()).toBe(429);
    for (const end of ends.splice(0)) end();
    const next = training();
    await expect.poll(() => ends.length).toBe(1);
    next.destroy();
  } finally {
    for (const end of ends) end();
    app.server.closeAllConnections();
    await app.close();
  }
});
