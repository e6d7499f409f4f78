import { expect, it } from 'vitest';
import { createTextBudget } from '../../src/classifiers/text-budget.ts';

const forever = () => new Promise<void>(() => {});
const done = async () => 'done';

it('bounds what one account has under way, and leaves room for others', async () => {
  const budget = createTextBudget({ accountMax: 10, totalMax: 20, reserve: 2 });
  void budget.hold('a', 8, forever);
  await expect(budget.hold('a', 3, done)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  expect(await budget.hold('a', 2, done)).toBe('done');
  void budget.hold('b', 8, forever);
  await expect(budget.hold('c', 5, done)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  expect(await budget.hold('c', 2, done)).toBe('done');
});

it('takes a single call of an idle account, and has its room back when calls end', async () => {
  const budget = createTextBudget({ accountMax: 10, totalMax: 20, reserve: 2 });
  expect(await budget.hold('a', 12, done)).toBe('done');
  await expect(budget.hold('a', 12, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await budget.hold('a', 12, done)).toBe('done');
});
