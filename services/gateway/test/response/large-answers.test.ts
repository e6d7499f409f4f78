import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const key = 'a-key-of-at-least-32-characters-000';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const config = readSettings({}, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
const line = `{"text":"é\\n${'x'.repeat(1_000)}"}`;
const lines = 300;

describe('places of large answers', () => {
  let app: FastifyInstance;
  let reading = 0;
  let readingMax = 0;
  let queries = 0;
  const opened: IncomingMessage[] = [];
  const upstreams = {
    catalog: {
      listHubs: async () => ({ hubs: [], total: 0 }),
      getWatchRunRows: async () => {
        readingMax = Math.max(readingMax, ++reading);
        await new Promise((resolve) => setTimeout(resolve, 5));
        reading--;
        return { ndjson: Buffer.from(`${line}\n`.repeat(lines)) };
      },
    },
    ml: {
      listExamples: async () => ({
        examples: Array.from({ length: 100 }, () => ({ context: 'x'.repeat(20_000) })),
        more: true,
        total: 1_000_000,
        nextAfter: 'next',
      }),
      predict: async () => ({ predictions: [], classes: 2 }),
    },
    executor: {
      execute: () => {
        queries++;
        return new Promise(() => {});
      },
    },
  };

  beforeAll(async () => {
    const logger = pino({ level: 'silent' });
    app = await createApp(config, {
      keyCache: createKeyCache({
        catalog: { authenticate: async () => ({ principal, expiresAt: undefined }) },
        cacheMs: 60_000,
        awayMs: 1_000,
      }),
      rateLimiter: createRateLimiter(config),
      userTokens: createUserTokens({} as never),
      events: createGatewayEvents(logger),
      usage: { answered: () => {}, close: async () => {} },
      readiness: { parts: [], missing: async () => [] },
      upstreams: upstreams as never,
      inFront: undefined,
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    for (const response of opened) response.destroy();
    await app.close();
  });

  /** Resolves with the head of the answer. Nothing of its body is read. */
  const open = (path: string, accept = 'application/json') =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { port } = app.server.address() as AddressInfo;
      const headers = { 'x-service-api-key': key, accept };
      get({ port, path, headers }, resolve).on('error', reject);
    }).then((response) => {
      opened.push(response);
      return response;
    });
  const listHubs = async () => (await open('/v1/hubs')).statusCode;

  it('are not held by exports whose clients do not read', async () => {
    const exports = Array.from({ length: 4 }, () =>
      open('/v1/classifiers/c/examples', 'application/x-ndjson'),
    );
    expect((await Promise.all(exports)).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    expect(await listHubs()).toBe(200);
  });

  it('are not held by texts that are sorted while their query runs', async () => {
    const path = '/v1/classifiers/c/examples?sort=uncertain&queryId=q&text=t';
    const left = Array.from({ length: 3 }, () => open(path).catch(() => undefined));
    await expect.poll(() => queries).toBe(3);
    expect(await listHubs()).toBe(200);
    app.server.closeAllConnections();
    await Promise.all(left);
  });

  it('bound how many runs have their rows in memory', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => {
        let text = '';
        for await (const chunk of await open('/v1/watches/w/runs/r/rows')) text += chunk;
        return text;
      }),
    );
    expect(readingMax).toBe(2);
    for (const text of answers) expect(JSON.parse(text).data).toHaveLength(lines);
    expect(JSON.parse(answers[0] as string).data.at(-1)).toEqual(JSON.parse(line));
  });
});
