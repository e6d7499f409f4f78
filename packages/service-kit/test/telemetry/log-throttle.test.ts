import { expect, it } from 'vitest';
import { createThrottle } from '../../src/telemetry/log-throttle.ts';

it('lets each key through once in its time', () => {
  let now = 0;
  const mayLog = createThrottle(1_000, () => now);
  expect([mayLog('a'), mayLog('a'), mayLog('b'), mayLog()]).toEqual([true, false, true, true]);
  now = 999;
  expect(mayLog('a')).toBe(false);
  now = 1_000;
  expect([mayLog('a'), mayLog('a')]).toEqual([true, false]);
});

it('remembers so many keys and no more', () => {
  const mayLog = createThrottle(1_000, () => 0);
  for (let i = 0; i <= 1_000; i++) mayLog(`key ${i}`);
  expect([mayLog('key 0'), mayLog('key 1000')]).toEqual([true, false]);
});
