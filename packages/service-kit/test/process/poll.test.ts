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
  expect(await after(999)).toBe(2);
  expect([await after(1), failures.length]).toEqual([3, 1]);
  hasPlace = false;
  expect(await after(1_050)).toBe(3);
  hasPlace = true;
  expect(await after(100)).toBe(4);
  await poll.stop();
  expect(await after(10_000)).toBe(4);
});
