import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startPolling } from '../../src/process/poll.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('asks again soon while there is more work, or no place for it', async () => {
  const answers = [true, false, new Error('away'), false];
  const failures: unknown[] = [];
  let takes = 0;
  let hasPlace = true;
  const poll = startPolling({
    everyMs: 1_000,
    hasPlace: () => hasPlace,
    take: async () => {
      const answer = answers[takes++];
      if (answer instanceof Error) throw answer;
      return answer === true;
    },
    onFailure: (err) => failures.push(err),
  });
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return takes;
  };
  expect(await after(999)).toBe(0);
  expect(await after(1)).toBe(1);
  expect(await after(100)).toBe(2);
  expect(await after(899)).toBe(2);
  expect([await after(1), failures.length]).toEqual([3, 1]);
  hasPlace = false;
  expect(await after(1_050)).toBe(3);
  hasPlace = true;
  expect(await after(100)).toBe(4);
  await poll.stop();
  expect(await after(10_000)).toBe(4);
});

it('wakes an idle process once for all its polls that are due about then', async () => {
  const askedAt = new Set<number>();
  const open = (everyMs: number) =>
    startPolling({
      everyMs,
      hasPlace: () => true,
      take: async () => {
        askedAt.add(performance.now());
        return false;
      },
      onFailure: () => {},
    });
  const polls = [open(500)];
  await vi.advanceTimersByTimeAsync(123);
  polls.push(open(500), open(1_000));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(askedAt.size).toBe(20);
  for (const poll of polls) await poll.stop();
});
