import { expect, it } from 'vitest';
import { createLoopYield } from '../src/yield-to-loop.ts';

it('lets timers fire during long work, and costs short work no wait', async () => {
  const endOfTurn = createLoopYield();
  expect(endOfTurn()).toBeUndefined();
  let fired = 0;
  const timer = setInterval(() => {
    fired += 1;
  }, 1);
  for (let i = 0; i < 50_000_000 && fired <= 5; i++) await endOfTurn();
  clearInterval(timer);
  expect(fired).toBeGreaterThan(5);
});
