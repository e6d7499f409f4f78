import { expect, it } from 'vitest';
import { createJobQueue } from '../../src/scheduling/job-queue.ts';

const job = (accountId: string, name: string, isLong = false) => ({ accountId, name, isLong });
const names = (queue: ReturnType<typeof createJobQueue<ReturnType<typeof job>>>, allowsLong = true) => {
  const taken: string[] = [];
  for (let next = queue.take({ allowsLong }); next; next = queue.take({ allowsLong })) taken.push(next.name);
  return taken;
};

it('rotates over the accounts, and takes the jobs of each in order', () => {
  const queue = createJobQueue<ReturnType<typeof job>>(10);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(job(name[0] as string, name));
  expect(names(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

it('bounds the jobs of each account', () => {
  const queue = createJobQueue<ReturnType<typeof job>>(2);
  expect(['a1', 'a2', 'a3', 'b1'].map((name) => queue.add(job(name[0] as string, name)))).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(queue.drain().map(({ name }) => name)).toEqual(['a1', 'a2', 'b1']);
  expect(names(queue)).toEqual([]);
});

it('skips long jobs if only short ones may run, and keeps their order', () => {
  const queue = createJobQueue<ReturnType<typeof job>>(10);
  for (const one of [job('a', 'a1', true), job('a', 'a2'), job('b', 'b1', true)]) queue.add(one);
  expect(queue.take({ allowsLong: false })?.name).toBe('a2');
  expect(queue.take({ allowsLong: false })).toBeUndefined();
  const gone = queue.take({ allowsLong: true });
  expect(gone?.name).toBe('b1');
  expect(names(queue)).toEqual(['a1']);
});
