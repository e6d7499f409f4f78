import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { registerHealth } from '../../src/open/health.ts';
import { createCompression } from '../../src/response/compression.ts';

let app: FastifyInstance;
afterEach(() => app.close());

const parts = ['catalog', 'executor', 'ml'];
let missing: string[] = [];
let draining = false;

function open() {
  missing = [];
  draining = false;
  app = Fastify();
  registerHealth(
    app,
    { parts, missing: async () => missing, draining: () => draining },
    { openApi: () => ({}), compression: createCompression({ enabled: true }) },
  );
  return async (absent: string[]) => {
    missing = absent;
    const { statusCode, body } = await app.inject('/readyz');
    return [statusCode, JSON.parse(body)];
  };
}

it('is kept by no cache, but for the contract, which is asked for again only where it changed', async () => {
  open();
  for (const url of ['/healthz', '/readyz'])
    expect([url, (await app.inject(url)).headers['cache-control']]).toEqual([url, 'no-store']);
  const { headers, body } = await app.inject('/openapi.json');
  expect([body, headers.etag]).toEqual(['{}', expect.stringMatching(/^"[\w-]{22}"$/)]);
  const again = (etag: string) => app.inject({ url: '/openapi.json', headers: { 'if-none-match': etag } });
  for (const etag of [headers.etag, `"x", W/${headers.etag}`, '*']) {
    const answer = await again(String(etag));
    expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([304, '', headers.etag]);
  }
  expect((await again('"x"')).statusCode).toBe(200);
});

it('is not ready before it has met every part', async () => {
  const ask = open();
  expect(await ask(['ml'])).toEqual([503, { status: 'not ready', missing: ['ml'] }]);
  expect(await ask([])).toEqual([200, { status: 'ready' }]);
});

it('stays ready for what works without a part, and names the part', async () => {
  const ask = open();
  await ask([]);
  expect(await ask(['ml'])).toEqual([200, { status: 'ready', missing: ['ml'] }]);
  expect(await ask(['catalog', 'ml'])).toEqual([200, { status: 'ready', missing: ['catalog', 'ml'] }]);
});

it('is not ready when it reaches nothing, nor when it drains', async () => {
  const ask = open();
  await ask([]);
  expect(await ask(parts)).toEqual([503, { status: 'not ready', missing: parts }]);
  draining = true;
  expect(await ask([])).toEqual([503, { status: 'not ready', missing: ['gateway'] }]);
});
