import { expect, it } from 'vitest';
import { createFairLock } from '../../src/scheduling/fair-lock.ts';

it('runs one task at a time and rotates over the accounts, also when a task fails', async () => {
  const turn = createFairLock();
  const order: string[] = [];
  let running = 0;
  const work = (name: string) =>
    turn(name[0] as string, async () => {
      expect(++running).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      order.push(name);
      if (name === 'a2') throw new Error('no');
    });
  const outcomes = await Promise.allSettled(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(work));
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  await work('d1');
  expect(order.at(-1)).toBe('d1');
});
