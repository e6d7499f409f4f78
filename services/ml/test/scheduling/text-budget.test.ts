import { expect, it } from 'vitest';
import { createTextBudget } from '../../src/scheduling/text-budget.ts';

const forever = () => new Promise<void>(() => {});
const done = async () => 'done';

it('limits the text of one account, and reserves some for others', async () => {
  const budget = createTextBudget({ accountMax: 10, totalMax: 20, reserve: 2 });
  void budget.run('a', 8, forever);
  await expect(budget.run('a', 3, done)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  expect(await budget.run('a', 2, done)).toBe('done');
  void budget.run('b', 8, forever);
  await expect(budget.run('c', 5, done)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  expect(await budget.run('c', 2, done)).toBe('done');
});

it('accepts a single call of an idle account, and releases its text when the call ends', async () => {
  const budget = createTextBudget({ accountMax: 10, totalMax: 20, reserve: 2 });
  expect(await budget.run('a', 12, done)).toBe('done');
  await expect(budget.run('a', 12, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await budget.run('a', 12, done)).toBe('done');
});
