import { CallStop } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { createLargeRuns, RunMemory } from '../../src/watches/run-memory.ts';

const large = 1_000_000;

/** Whether a promise is settled once all that can go on has gone on. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

it('lets one large run of an account and two of all go on, and small ones always', async () => {
  const permits = createLargeRuns();
  const open = (accountId: string, stop = new CallStop()) => new RunMemory(permits, accountId, stop);
  const [first, second] = [open('a'), open('a')];
  await first.keep(large);
  await first.keep(2 * large);
  const waiting = second.keep(large);
  expect(await isSettled(waiting)).toBe(false);
  await open('a').keep(1_000);
  await open('b').keep(large);
  const stop = new CallStop();
  const third = open('c', stop).keep(large);
  expect(await isSettled(third)).toBe(false);
  stop.abort(new Error('the caller left'));
  await expect(third).rejects.toThrow('the caller left');
  first[Symbol.dispose]();
  expect(await isSettled(waiting)).toBe(true);
  // A run that fails while it waits leaves no permit behind.
  const fourth = open('a');
  const late = fourth.keep(large);
  fourth[Symbol.dispose]();
  second[Symbol.dispose]();
  await late;
  await open('a').keep(large);
});
