import { afterEach, expect, it, vi } from 'vitest';
import { createStoredBytes, recordBytes } from '../src/stored-bytes.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('counts again after a minute, also if the clock was set back', async () => {
  vi.useFakeTimers({ now: 7_200_000, toFake: ['Date', 'performance'] });
  let records = 1;
  const findSummaries = async () => Array(records).fill({ id: 'one', size: recordBytes });
  const stored = createStoredBytes({ findSummaries } as never, recordBytes);
  await expect(stored.requireRoom('a')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  records = 0;
  await expect(stored.requireRoom('a')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  vi.advanceTimersByTime(60_000);
  vi.setSystemTime(3_600_000);
  await stored.requireRoom('a');
});

it('reads the records of an account once for all calls that come together', async () => {
  const findSummaries = vi.fn(async () => []);
  const stored = createStoredBytes({ findSummaries } as never, 10 * recordBytes);
  const calls = Array.from({ length: 30 }, () => stored.requireRoom('a'));
  const ended = await Promise.allSettled(calls);
  expect(findSummaries).toHaveBeenCalledTimes(1);
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
});
