import { expect, test } from 'vitest';
import { createFairSemaphore } from '../src/fair-semaphore.ts';

const staying = new AbortController().signal;

/** Acquires permits for accounts, and records the order in which they were granted. */
function queue(settings: Parameters<typeof createFairSemaphore>[0]) {
  const semaphore = createFairSemaphore(settings);
  const inside: string[] = [];
  const releases = new Map<string, () => void>();
  const come = (name: string, signal = staying) =>
    semaphore.acquire(name.charAt(0), signal).then((release) => {
      inside.push(name);
      releases.set(name, release);
    });
  const go = async (name: string) => {
    releases.get(name)?.();
    await new Promise(setImmediate);
  };
  return { come, go, inside };
}

test('an account has at most its own limit of permits, and all together at most theirs', async () => {
  const { come, go, inside } = queue({ allMax: 3, accountMax: 2, waitingMax: 10 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void come(name);
  await new Promise(setImmediate);
  expect(inside).toEqual(['a1', 'a2', 'b1']);
  await go('b1');
  expect(inside.slice(3)).toEqual(['c1']);
  await go('a1');
  expect(inside.slice(4)).toEqual(['a3']);
  await go('c1');
  expect(inside.slice(5)).toEqual(['b2']);
});

test('permits are granted round-robin by account', async () => {
  const { come, go, inside } = queue({ allMax: 1, accountMax: 1, waitingMax: 10 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void come(name);
  for (const name of ['a1', 'b1', 'c1', 'a2']) {
    await new Promise(setImmediate);
    await go(name);
  }
  expect(inside).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
});

test('an aborted waiter is skipped, and a waiter beyond the limit is rejected', async () => {
  const { come, go, inside } = queue({ allMax: 1, accountMax: 1, waitingMax: 1 });
  const leaving = new AbortController();
  await come('a1');
  const left = come('a2', leaving.signal);
  await expect(come('a3')).rejects.toThrow('Too many');
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await expect(come('a4', leaving.signal)).rejects.toThrow('gone');
  void come('a5');
  await go('a1');
  expect(inside).toEqual(['a1', 'a5']);
});

test('accounts that come again and again do not pass one that waits', async () => {
  const { come, go, inside } = queue({ allMax: 1, accountMax: 1, waitingMax: 10 });
  for (const name of ['a1', 'a2', 'b1']) void come(name);
  await new Promise(setImmediate);
  await go('a1');
  for (const [ended, next] of [
    ['b1', 'c1'],
    ['a2', 'b2'],
  ] as const) {
    void come(next);
    await go(ended);
  }
  expect(inside).toEqual(['a1', 'b1', 'a2', 'c1']);
});
