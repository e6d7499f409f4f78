import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { registerHealth } from './health.ts';

let app: FastifyInstance;
afterEach(() => app.close());

const parts = ['catalog', 'executor', 'ml'];
let missing: string[] = [];
let draining = false;

function open() {
  missing = [];
  draining = false;
  app = Fastify();
  registerHealth(app, { parts, missing: async () => missing, draining: () => draining }, () => ({}));
  return async (absent: string[]) => {
    missing = absent;
    const { statusCode, body } = await app.inject('/readyz');
    return [statusCode, JSON.parse(body)];
  };
}

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
