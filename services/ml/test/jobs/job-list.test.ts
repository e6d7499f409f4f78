import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { heldBytes } from '../../../../tests/support/memory.ts';
import type { JobDoc } from '../../src/documents.ts';
import { JobList } from '../../src/jobs/job-list.ts';
import { type MlStore, openMlStore } from '../../src/store.ts';

let store: MlStore;
beforeEach(async () => {
  store = await openMlStore('sqlite::memory:', randomUUID);
});
afterEach(() => store.close());

const job = (id: string, accountId: string, createdAt: number): JobDoc => ({
  ...{ id, accountId, createdAt, version: 1, classifierId: 'c', queryId: 'q', keyId: 'k', contextJson: '' },
  columns: { text: 'text', label: 'label', id: 'id' },
  state: 'queued',
  counts: { rows: 0, nullIds: 0, invalid: 0, faults: [], truncated: false },
  ...{ trained: 0, corrected: 0, error: null, startedAt: null, endedAt: null, lease: null, expiresAt: null },
});

it('takes a released job again after the jobs that wait', async () => {
  let now = 1_000;
  const jobs = new JobList(store, { leaseMs: 60_000, nowMs: () => now });
  await jobs.add(job('first', 'a', 1));
  await jobs.add(job('second', 'b', 2));
  const taken = await jobs.take();
  expect(taken?.id).toBe('first');
  now = 2_000;
  await jobs.release({ accountId: 'a', jobId: 'first', lease: taken?.lease?.token ?? '' });
  expect((await jobs.take())?.id).toBe('second');
  expect(await jobs.take()).toMatchObject({ id: 'first', turns: 1, releasedAt: 2_000 });
});

it('takes the job of a process that ended while the clock was a day ahead', async () => {
  let now = 1_000_000;
  const jobs = new JobList(store, { leaseMs: 60_000, nowMs: () => now });
  await jobs.add(job('first', 'a', 1));
  await jobs.add(job('second', 'a', 2));
  now += 86_400_000;
  expect((await jobs.take())?.id).toBe('first');
  now -= 30_000;
  expect(await jobs.take()).toBeUndefined();
  now -= 86_400_000;
  expect((await jobs.take())?.id).toBe('first');
  expect(await jobs.take()).toBeUndefined();
});

it('lists a job as ended until somebody has told its end', async () => {
  const jobs = new JobList(store, { leaseMs: 60_000, nowMs: () => 1_000 });
  await jobs.add({ ...job('first', 'a', 1), contextJson: '{"a":1}' });
  const taken = await jobs.take();
  expect(taken?.contextJson).toBe('{"a":1}');
  const lease = taken?.lease?.token ?? '';
  const held = { accountId: 'a', jobId: 'first', lease };
  await jobs.change(held, { trained: 7 });
  expect(await jobs.listEnded()).toEqual([]);
  const error = { code: 'VALIDATION', detail: 'no column' };
  await jobs.change(held, { state: 'failed', error, endedAt: 1_000, lease: null });
  const ended = {
    id: 'first',
    classifierId: 'c',
    queryId: 'q',
    state: 'failed',
    code: 'VALIDATION',
    trained: 7,
  };
  expect(await jobs.listEnded()).toMatchObject([ended]);
  expect((await store.jobs.get('a', 'first'))?.contextJson).toBe('');
  await jobs.forgetEnded(held);
  expect(await jobs.listEnded()).toEqual([]);
});

it('holds no contexts of the jobs that it chooses among', async () => {
  const adding = new JobList(store, { leaseMs: 60_000, nowMs: () => 1_000 });
  for (let i = 0; i < 300; i++)
    await adding.add({ ...job(`j${i}`, `a${i % 30}`, i), contextJson: 'x'.repeat(65_536) });
  let held = 0;
  const jobs: MlStore['jobs'] = {
    ...store.jobs,
    replace: (...args) => {
      held = heldBytes();
      return store.jobs.replace(...args);
    },
  };
  const before = heldBytes();
  const taken = await new JobList({ ...store, jobs }, { leaseMs: 60_000, nowMs: () => 1_000 }).take();
  expect(taken).toMatchObject({ id: 'j0', contextJson: 'x'.repeat(65_536) });
  expect(held - before).toBeLessThan(5_000_000);
});

it('deletes the oldest ended jobs without reading their contexts', async () => {
  const adding = new JobList(store, { leaseMs: 60_000, nowMs: () => 1_000 });
  await adding.add(job('j000', 'a', 0));
  for (let i = 1; i < 203; i++) {
    const contextJson = 'x'.repeat(65_536);
    await store.jobs.insert({ ...job(`j${String(i).padStart(3, '0')}`, 'a', i), contextJson, endedAt: i });
  }
  let held = 0;
  const jobs: MlStore['jobs'] = {
    ...store.jobs,
    delete: (...args) => {
      held = heldBytes();
      return store.jobs.delete(...args);
    },
  };
  const before = heldBytes();
  await new JobList({ ...store, jobs }, { leaseMs: 60_000, nowMs: () => 1_000 }).add(job('k', 'a', 999));
  expect(held - before).toBeLessThan(5_000_000);
  const kept = await store.jobs.findSummaries({ accountId: 'a', limit: 300 });
  expect(kept).toHaveLength(200);
  expect(kept.slice(0, 2).map(({ id }) => id)).toEqual(['j000', 'j005']);
});

it('leaves a job that another process takes while it looks at the others', async () => {
  const adding = new JobList(store, { leaseMs: 60_000, nowMs: () => 1_000 });
  await adding.add(job('first', 'a', 1));
  let looks = 0;
  const jobs: MlStore['jobs'] = {
    ...store.jobs,
    get: async (...args) => {
      if (++looks === 2) await adding.take();
      return store.jobs.get(...args);
    },
  };
  expect(
    await new JobList({ ...store, jobs }, { leaseMs: 60_000, nowMs: () => 1_000 }).take(),
  ).toBeUndefined();
});
