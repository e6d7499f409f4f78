import { randomUUID } from 'node:crypto';
import { CallStop } from '@datahub/service-kit/call/abort-signal';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReplicas } from '../../src/classifiers/classifier-cache.ts';
import { learners } from '../../src/classifiers/model/online-learner.ts';
import { createFairTurn } from '../../src/scheduling/fair-turn.ts';
import { createSlices } from '../../src/scheduling/slices.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';

let store: MlStore;
beforeAll(async () => {
  store = await openMlStore('sqlite::memory:', randomUUID);
});
afterAll(() => store.close());

let made = 0;
const open = (options: Partial<Parameters<typeof createReplicas>[1]>) =>
  createReplicas(
    {
      store,
      learners,
      slices: createSlices(),
      loading: createFairTurn(),
      createClassId: () => `class-${++made}`,
      nowMs: Date.now,
      onFailure: (err) => {
        throw err;
      },
    },
    { heldMax: 100, heldBytesMax: 1e9, idleMs: 60_000, ...options },
  );
const example = [{ label: 'tea', text: 'green tea' }];

it('keeps a bounded number of bytes in memory, even where many come back at once', async () => {
  const first = open({});
  const ids = Array.from({ length: 12 }, (_, i) => `many-${i}`);
  for (const id of ids) await first.of('a', id).train(example);
  const each = first.of('a', ids[0] as string).size;
  expect(each).toBeGreaterThan(10_000);
  const replicas = open({ heldBytesMax: 3.5 * each });
  const ask = { top: 1, signal: new CallStop() };
  const answers = await Promise.all(ids.map((id) => replicas.of('a', id).predict(['tea'], ask)));
  expect(answers.map(([prediction]) => prediction?.scores[0]?.label)).toEqual(ids.map(() => 'tea'));
  expect(replicas.size).toBeLessThanOrEqual(3.5 * each);
  expect(replicas.count).toBe(3);
});

it('takes the room of the account that has most', async () => {
  const replicas = open({ heldMax: 5 });
  const theirs = replicas.of('b', 'theirs');
  await theirs.train(example);
  for (let i = 0; i < 20; i++) await replicas.of('a', `greedy-${i}`).train(example);
  expect(replicas.of('b', 'theirs')).toBe(theirs);
  expect(replicas.count).toBe(5);
});
