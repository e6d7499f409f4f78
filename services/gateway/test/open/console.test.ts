import { readdirSync, readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { readSettings } from '@datahub/service-kit/settings/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeyCache } from '../../src/access/authenticate.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';
import { createUserTokens } from '../../src/access/user-tokens.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { consolePaths } from '../../src/open/console.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const folder = new URL('./', import.meta.resolve('@datahub/console/index.html'));
const swagger = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css'];
const names = [...readdirSync(folder), ...swagger];
const pages = new Map([
  ['index.html', '/'],
  ['docs.html', '/docs'],
]);
const addressOf = (name: string) =>
  pages.get(name) ?? `/${/^(docs|swagger)/.test(name) ? 'docs' : 'console'}/${name}`;
const textOf = (name: string) =>
  readFileSync(
    swagger.includes(name) ? new URL(import.meta.resolve(`swagger-ui-dist/${name}`)) : new URL(name, folder),
    'utf8',
  );

const key = 'a-key-of-at-least-32-characters-000';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const catalog = { authenticate: async () => ({ principal, expiresAt: undefined }) };

function open(env: Record<string, string>): Promise<FastifyInstance> {
  const config = readSettings(env, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  return createApp(config, {
    keyCache: createKeyCache({ catalog, cacheMs: 0, awayMs: 0 }),
    rateLimiter: createRateLimiter(config),
    userTokens: createUserTokens({} as never),
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: {} as never,
  });
}

describe('the console', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await open({});
  });
  afterAll(() => app.close());

  it('serves every file of the bundle and no other', () => {
    expect([...consolePaths].sort()).toEqual(names.map(addressOf).sort());
  });

  it.each(names)('%s is served without a key, with a strict policy', async (name) => {
    const { statusCode, headers, body } = await app.inject(addressOf(name));
    const types = { html: 'text/html', css: 'text/css', js: 'text/javascript', txt: 'text/plain' };
    const type = types[name.split('.').at(-1) as keyof typeof types];
    expect([statusCode, body]).toEqual([200, textOf(name)]);
    expect(headers).toMatchObject({
      'content-type': `${type}; charset=utf-8`,
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-cache',
    });
    expect(headers.vary).toContain('accept-encoding');
    expect(headers['content-encoding']).toBeUndefined();
  });

  it.each(names)('%s is compressed for clients that accept it', async (name) => {
    const get = (coding: string) =>
      app.inject({ url: addressOf(name), headers: { 'accept-encoding': coding } });
    const [br, gzip, refused] = [
      await get('gzip, deflate, br'),
      await get('gzip'),
      await get('br;q=0, identity'),
    ];
    expect([br.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual(['br', 'gzip']);
    expect(brotliDecompressSync(br.rawPayload).toString()).toBe(textOf(name));
    expect(gunzipSync(gzip.rawPayload).toString()).toBe(textOf(name));
    expect([refused.headers['content-encoding'], refused.body]).toEqual([undefined, textOf(name)]);
    expect(new Set([br, gzip, refused].map(({ headers }) => headers.etag)).size).toBe(3);
  });

  it.each(names)('%s is not sent again to a client that has it', async (name) => {
    const url = addressOf(name);
    const etag = String((await app.inject(url)).headers.etag);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const again = (tags: string) => app.inject({ url, headers: { 'if-none-match': tags } });
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { statusCode, body, headers } = await again(tags);
      expect([statusCode, body, headers.etag]).toEqual([304, '', etag]);
    }
    expect((await again('"other"')).statusCode).toBe(200);
  });

  it('has at most 60 kB without the editor, and 220 kB with it', async () => {
    const weigh = async (...some: string[]) => {
      const headers = { 'accept-encoding': 'br' };
      const answers = await Promise.all(some.map((name) => app.inject({ url: addressOf(name), headers })));
      return answers.reduce((sum, { rawPayload }) => sum + rawPayload.length, 0);
    };
    const first = await weigh('index.html', 'console.js');
    expect(first).toBeLessThanOrEqual(60_000);
    expect(first + (await weigh('editor.js', 'worker.js'))).toBeLessThanOrEqual(220_000);
  });

  it('answers HEAD as GET, without the body', async () => {
    const { statusCode, body, headers } = await app.inject({ method: 'HEAD', url: '/' });
    expect([statusCode, body]).toEqual([200, '']);
    expect(headers['content-length']).toBe(String(Buffer.byteLength(textOf('index.html'))));
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('allows only GET and HEAD', async () => {
    const headers = { 'x-service-api-key': key };
    const answer = await app.inject({ method: 'POST', url: '/', headers });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it.each([
    ['index.html', ['console/console.js']],
    ['docs.html', ['docs/swagger-ui.css', 'docs/docs.css', 'docs/swagger-ui-bundle.js', 'docs/docs.js']],
  ])('%s refers only to its own files, and has no inline code', (name, files) => {
    const page = textOf(name);
    const named = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = '']) => path);
    expect(named.filter((path) => !path.startsWith('data:'))).toEqual(files);
    expect(page).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*src=)/);
  });
});

it('does not exist if it is turned off', async () => {
  const app = await open({ DATAHUB_CONSOLE: '0' });
  for (const url of names.map(addressOf)) {
    const { statusCode, headers, body } = await app.inject(url);
    expect([statusCode, JSON.parse(body).code]).toEqual([404, 'NOT_FOUND']);
    expect(headers['content-type']).toContain('application/problem+json');
  }
  await app.close();
});
