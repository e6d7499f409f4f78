import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClassifierCache } from '../../src/classifiers/classifier-cache.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';
import { logDeps } from './log-deps.ts';

let store: MlStore;
beforeAll(async () => {
  store = await openMlStore('sqlite::memory:', randomUUID);
});
afterAll(() => store.close());

const open = (options: Partial<Parameters<typeof createClassifierCache>[1]>) =>
  createClassifierCache(logDeps(store), { countMax: 100, bytesMax: 1e9, idleMs: 60_000, ...options });
const example = [{ label: 'tea', text: 'green tea' }];

it('stays within its limit of bytes, also if many classifiers load at once', async () => {
  const first = open({});
  const ids = Array.from({ length: 12 }, (_, i) => `many-${i}`);
  for (const id of ids) await first.get('a', id).train(example);
  const each = first.get('a', ids[0] as string).size;
  expect(each).toBeGreaterThan(10_000);
  const cache = open({ bytesMax: 3.5 * each });
  const ask = { top: 1, signal: new CallStop() };
  const answers = await Promise.all(ids.map((id) => cache.get('a', id).predict(['tea'], ask)));
  expect(answers.map(([prediction]) => prediction?.scores[0]?.label)).toEqual(ids.map(() => 'tea'));
  expect(cache.size).toBeLessThanOrEqual(3.5 * each);
  expect(cache.count).toBe(3);
});

it('evicts classifiers of the account with the most memory', async () => {
  const cache = open({ countMax: 5 });
  const theirs = cache.get('b', 'theirs');
  await theirs.train(example);
  for (let i = 0; i < 20; i++) await cache.get('a', `greedy-${i}`).train(example);
  expect(cache.get('b', 'theirs')).toBe(theirs);
  expect(cache.count).toBe(5);
});
