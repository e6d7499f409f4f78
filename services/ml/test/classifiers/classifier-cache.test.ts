import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClassifierCache } from '../../src/classifiers/classifier-cache.ts';
import { ClassifierLog } from '../../src/classifiers/classifier-log.ts';
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

const classIdOf = (log: ClassifierLog, label: string) =>
  log.read((state) => state.classIdOf(label)) as Promise<string>;

it('learns the logs of an account again one after the other, because each takes its memory twice', async () => {
  const deps = logDeps(store);
  const order: number[] = [];
  let made = 0;
  const create = () => {
    const learner = deps.learners.create();
    const number = made++;
    const learn = learner.learnInSteps.bind(learner);
    learner.learnInSteps = function* (...example) {
      order.push(number);
      return yield* learn(...example);
    };
    return learner;
  };
  const logs = ['one', 'two', 'three'].map(
    (id) => new ClassifierLog('a', `again-${id}`, { ...deps, learners: { ...deps.learners, create } }),
  );
  const examples = Array.from({ length: 90 }, (_, i) => ({
    label: `l${i % 3}`,
    text: `words ${i} and ${i % 7}`,
  }));
  for (const log of logs) await log.train(examples);
  const before = order.length;
  await Promise.all(logs.map(async (log) => log.deleteClass(await classIdOf(log, 'l0'))));
  for (const log of logs) await expect.poll(() => log.read(({ needsRebuild }) => needsRebuild)).toBe(false);
  const again = order.slice(before);
  const runs = again.filter((number, i) => number !== again[i - 1]);
  expect(again).toHaveLength(3 * 60);
  expect(runs).toHaveLength(3);
});

it('frees the memory of an evicted classifier that waits to learn its log again', async () => {
  const rebuildPlaces = () => new Promise<Disposable>(() => {});
  const cache = createClassifierCache(
    { ...logDeps(store), rebuildPlaces },
    { countMax: 1, bytesMax: 1e9, idleMs: 60_000 },
  );
  await store.classifiers.insert({ id: 'waits', accountId: 'a', version: 1, name: 'w', createdAt: 0 });
  const waiting = cache.get('a', 'waits');
  await waiting.train([...example, { label: 'coffee', text: 'black coffee' }]);
  await waiting.deleteClass(await classIdOf(waiting, 'coffee'));
  expect(waiting.size).toBeGreaterThan(0);
  await cache.get('a', 'another').read(() => {});
  await expect.poll(() => waiting.size).toBe(0);
  const [prediction] = await cache.get('a', 'waits').predict(['tea'], { top: 5, signal: new CallStop() });
  expect(prediction?.scores.map(({ label }) => label)).toEqual(['tea']);
});
