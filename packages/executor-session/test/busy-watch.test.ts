import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchBusy } from '../src/busy-watch.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('looks while there is work, and rests while the loop has none', () => {
  let utilization = 0;
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({
    idle: 0,
    active: 0,
    utilization,
  }));
  const busy = watchBusy();
  const said: boolean[] = [];
  busy.onChange(() => said.push(busy.isBusy));
  expect(vi.getTimerCount()).toBe(0);

  busy.watch();
  utilization = 0.95;
  vi.advanceTimersByTime(200);
  utilization = 0.5;
  vi.advanceTimersByTime(200);
  expect([said, vi.getTimerCount()]).toEqual([[true, false], 1]);

  utilization = 0.05;
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
  busy.watch();
  expect(vi.getTimerCount()).toBe(1);
  busy.close();
  expect(vi.getTimerCount()).toBe(0);
});
