import { expect, it } from 'vitest';
import { createThrottle } from '../../src/telemetry/log-throttle.ts';

it('lets each key through once in its time', () => {
  let now = 0;
  const isTold = createThrottle(1_000, () => now);
  expect([isTold('a'), isTold('a'), isTold('b'), isTold()]).toEqual([true, false, true, true]);
  now = 999;
  expect(isTold('a')).toBe(false);
  now = 1_000;
  expect([isTold('a'), isTold('a')]).toEqual([true, false]);
});

it('remembers so many keys and no more', () => {
  const isTold = createThrottle(1_000, () => 0);
  for (let i = 0; i <= 1_000; i++) isTold(`key ${i}`);
  expect([isTold('key 0'), isTold('key 1000')]).toEqual([true, false]);
});
