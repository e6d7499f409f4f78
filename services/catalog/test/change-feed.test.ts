import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createChangeFeed } from '../src/change-feed.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

async function isAnswered(published: Promise<void>): Promise<boolean> {
  let answered = false;
  void published.then(() => {
    answered = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return answered;
}

const open = (holdersBefore: boolean) =>
  createChangeFeed({ instanceId: 'i', leaseMs: 1_000, mayMissHolders: () => false, holdersBefore });

test('a change is answered at once if no executor can have the old state cached', async () => {
  expect(await isAnswered(open(false).publish(['q']))).toBe(true);
});

test('after a start beside executors a change waits for the leases that the process before gave', async () => {
  const feed = open(true);
  vi.advanceTimersByTime(600);
  const published = feed.publish(['q']);
  expect(await isAnswered(published)).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await isAnswered(published)).toBe(true);
  expect(await isAnswered(feed.publish(['q']))).toBe(true);
});
