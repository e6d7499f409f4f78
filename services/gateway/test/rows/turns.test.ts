import { expect, it } from 'vitest';
import { createTurns } from '../../src/rows/turns.ts';

it('lets timers fire during long work, and costs short work no wait', async () => {
  const endOfTurn = createTurns();
  expect(endOfTurn()).toBeUndefined();
  let fired = 0;
  const timer = setInterval(() => {
    fired += 1;
  }, 1);
  const until = performance.now() + 200;
  while (performance.now() < until) await endOfTurn();
  clearInterval(timer);
  expect(fired).toBeGreaterThan(5);
});
