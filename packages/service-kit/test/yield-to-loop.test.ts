import { expect, it } from 'vitest';
import { createLoopYield, createTurns } from '../src/yield-to-loop.ts';

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

it('gives one of many pieces of work a turn in each iteration of the loop, in order', async () => {
  const turns = createTurns();
  let iteration = 0;
  const taken: number[] = [];
  const count = () => {
    iteration++;
    if (taken.length < 5) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(Array.from({ length: 5 }, () => turns().then(() => taken.push(iteration))));
  expect(new Set(taken).size).toBe(5);
  expect(taken).toEqual(taken.toSorted((a, b) => a - b));
});

it('gives one of many long pieces of work a turn in each iteration of the loop', async () => {
  let iteration = 0;
  let resumed = 0;
  let isOver = false;
  const count = () => {
    iteration++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const work = async () => {
    const endOfTurn = createLoopYield();
    for (let turn = 0; turn < 5; turn++) {
      const until = performance.now() + 3;
      while (performance.now() < until);
      await endOfTurn();
      resumed++;
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  isOver = true;
  expect(resumed).toBe(20);
  expect(iteration).toBeGreaterThanOrEqual(19);
});
