import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import type { ExecutionReply } from '@datahub/executor-session/executor';
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
const settings = { DATAHUB_STALL_TIMEOUT_MS: '1000' };

/** Writes until the buffers of the connection and of the compressor are full. */
async function fill(reply: ExecutionReply): Promise<void> {
  let drained = () => {};
  reply.onDrain(() => drained());
  for (;;) {
    if (reply.chunk(randomBytes(65_536))) continue;
    const isDrained = await new Promise<boolean>((resolve) => {
      drained = () => resolve(true);
      setTimeout(resolve, 300, false);
    });
    if (!isDrained) return;
  }
}

it.each([
  ['execute', { queryId: 'q' }, {}],
  ['execute', { queryId: 'q', options: { ending: true } }, { accept: 'application/x-ndjson' }],
])('closes a compressed answer whose end nobody reads: %s %j', async (route, body, headers) => {
  let isDone = false;
  const execute = async (_execution: unknown, _ctx: unknown, reply: ExecutionReply) => {
    await fill(reply);
    isDone = true;
  };
  const config = readSettings(settings, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  const app = await createApp(config, {
    keyCache: createKeyCache({
      catalog: { authenticate: async () => ({ principal, expiresAt: undefined }) },
      cacheMs: 60_000,
      awayMs: 1_000,
    }),
    rateLimiter: createRateLimiter(config),
    userTokens: createUserTokens({} as never),
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: { executor: { execute } } as never,
    inFront: undefined,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const connected = once(app.server, 'connection');
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  try {
    const text = JSON.stringify(body);
    const sent = Object.entries({
      ...{ host: 'x', 'x-service-api-key': key, 'content-type': 'application/json' },
      ...{ 'content-length': text.length, 'accept-encoding': 'zstd', ...headers },
    });
    const head = sent.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    client.write(`POST /v1/queries/${route} HTTP/1.1\r\n${head}\r\n${text}`);
    const [connection] = await connected;
    await expect.poll(() => isDone, { timeout: 20_000 }).toBe(true);
    await expect.poll(() => connection.destroyed, { timeout: 10_000 }).toBe(true);
  } finally {
    client.destroy();
    app.server.closeAllConnections();
    await app.close();
  }
});
