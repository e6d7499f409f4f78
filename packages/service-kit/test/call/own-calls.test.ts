import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createCallContext } from '../../src/call/call.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('has a signal that fires at its time, for those who listen and those who look', () => {
  const { signal } = createCallContext({ timeoutMs: 1_000 });
  const heard = vi.fn();
  signal.addEventListener('abort', heard, { once: true });
  vi.advanceTimersByTime(999);
  expect([signal.aborted, signal.reason, heard.mock.calls.length]).toEqual([false, undefined, 0]);
  vi.advanceTimersByTime(1);
  expect([signal.aborted, heard.mock.calls.length]).toEqual([true, 1]);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });

  const silent = createCallContext({ timeoutMs: 1_000 });
  vi.advanceTimersByTime(1_000);
  expect(silent.signal.reason).toMatchObject({ name: 'TimeoutError' });
});

it('leaves no timer behind once a call has ended', () => {
  const { signal } = createCallContext({ timeoutMs: 5_000 });
  expect(vi.getTimerCount()).toBe(0);
  const heard = [vi.fn(), vi.fn()] as const;
  for (const listener of heard) signal.addEventListener('abort', listener, { once: true });
  signal.removeEventListener('abort', heard[0]);
  expect(vi.getTimerCount()).toBe(1);
  signal.removeEventListener('abort', heard[1]);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(5_000);
  expect(heard.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
});
