import { readdirSync, readFileSync } from 'node:fs';
import { readSettings } from '@datahub/service-kit/process/settings';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuth } from '../../src/access/key-cache.ts';
import { createLimits } from '../../src/access/rate-limiter.ts';
import { createApp } from '../../src/app.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { createGatewayEvents } from '../../src/telemetry/events.ts';

const folder = new URL('../../src/console/', import.meta.url);
const names = readdirSync(folder);
const addressOf = (name: string) => (name === 'index.html' ? '/' : `/console/${name}`);
const textOf = (name: string) => readFileSync(new URL(name, folder), 'utf8');

const key = 'a-key-of-at-least-32-characters-000';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const catalog = { authenticate: async () => ({ principal, expiresAt: undefined }) };

function open(env: Record<string, string>): Promise<FastifyInstance> {
  const config = readSettings(env, (reader) => readGatewayConfig(reader, { edge: 'none', env: {} }));
  return createApp(config, {
    auth: createAuth({ catalog, cacheMs: 0, awayMs: 0 }),
    limits: createLimits(config),
    events: createGatewayEvents(pino({ level: 'silent' })),
    usage: { answered: () => {}, close: async () => {} },
    readiness: { parts: [], missing: async () => [] },
    upstreams: {} as never,
  });
}

describe('the page', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await open({});
  });
  afterAll(() => app.close());

  it.each(names)('%s is there without a key, kept to itself', async (name) => {
    const { statusCode, headers, body } = await app.inject(addressOf(name));
    const type = { html: 'text/html', css: 'text/css', js: 'text/javascript' }[name.split('.')[1] as 'js'];
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
  });

  it.each(names)('%s is not sent again to who has it', async (name) => {
    const url = addressOf(name);
    const { headers } = await app.inject(url);
    const etag = String(headers.etag);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const again = (tags: string) => app.inject({ url, headers: { 'if-none-match': tags } });
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { statusCode, body, headers } = await again(tags);
      expect([statusCode, body, headers.etag]).toEqual([304, '', etag]);
    }
    expect((await again('"other"')).statusCode).toBe(200);
  });

  it('answers HEAD as GET, without the body', async () => {
    const { statusCode, body, headers } = await app.inject({ method: 'HEAD', url: '/' });
    expect([statusCode, body]).toEqual([200, '']);
    expect(headers['content-length']).toBe(String(Buffer.byteLength(textOf('index.html'))));
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('is only to be read', async () => {
    const headers = { 'x-service-api-key': key };
    const answer = await app.inject({ method: 'POST', url: '/', headers });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('names no file but its own', () => {
    const named = names.flatMap((name) =>
      [...textOf(name).matchAll(/(?:src|href)="([^"]*)"|from '([^']*)'/g)].map(([, a, b]) => a ?? b ?? ''),
    );
    const own = new Set([...names.map((name) => `console/${name}`), ...names.map((name) => `./${name}`)]);
    const others = named.filter((one) => !own.has(one) && !one.startsWith('data:'));
    expect(others).toEqual(['openapi.json']);
  });

  it('makes no markup of texts and keeps nothing in the browser', () => {
    const forbidden =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|DOMParser|createContextualFragment|\beval\b|new Function|localStorage|sessionStorage|indexedDB|\bcookie|caches\b|history\.|location\.(hash|search|href)/;
    for (const name of names) expect(forbidden.exec(textOf(name))?.[0]).toBeUndefined();
    expect(textOf('index.html')).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*src=)/);
  });

  it('stays small', () => {
    for (const name of names) expect(textOf(name).split('\n').length).toBeLessThanOrEqual(301);
  });
});

it('is not there where it is turned off', async () => {
  const app = await open({ DATAHUB_CONSOLE: '0' });
  for (const url of names.map(addressOf)) {
    const { statusCode, headers, body } = await app.inject(url);
    expect([statusCode, JSON.parse(body).code]).toEqual([404, 'NOT_FOUND']);
    expect(headers['content-type']).toContain('application/problem+json');
  }
  await app.close();
});
