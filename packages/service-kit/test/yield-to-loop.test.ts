import { expect, it } from 'vitest';
import { createLoopYield, createTurns, forAccount, joined } from '../src/yield-to-loop.ts';

/** Counts the iterations of the event loop until it is stopped. */
function countIterations() {
  const loop = { iteration: 0, stop: () => clearImmediate(next) };
  const count = () => {
    loop.iteration++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return loop;
}

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
  const loop = countIterations();
  const taken: number[] = [];
  await Promise.all(Array.from({ length: 5 }, () => turns().then(() => taken.push(loop.iteration))));
  loop.stop();
  expect(new Set(taken).size).toBe(5);
  expect(taken).toEqual(taken.toSorted((a, b) => a - b));
});

it('gives the accounts their turns one after another, and the work of one account in order', async () => {
  const turns = createTurns();
  const taken: string[] = [];
  const work = async (name: string) => {
    for (let turn = 0; turn < 3; turn++) {
      await turns();
      taken.push(name);
    }
  };
  const works = ['a1', 'a2', 'a3'].map((name) => forAccount('a', () => work(name)));
  await Promise.all([...works, forAccount('b', () => work('b1'))]);
  expect(taken).toEqual(['a1', 'b1', 'a2', 'b1', 'a3', 'b1', 'a1', 'a2', 'a3', 'a1', 'a2', 'a3']);
});

it('gives one of many long pieces of work a turn in each iteration of the loop', async () => {
  const loop = countIterations();
  let resumed = 0;
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
  loop.stop();
  expect(resumed).toBe(20);
  expect(loop.iteration).toBeGreaterThanOrEqual(19);
});

it('lets 16 of the calls that waited for one thing go on in a turn', async () => {
  const loop = countIterations();
  const shared = Promise.withResolvers<void>();
  const wentOn: [call: number, iteration: number][] = [];
  const call = async (i: number, wait: Promise<void>) => {
    await joined(wait).catch(() => {});
    wentOn.push([i, loop.iteration]);
  };
  const calls = Array.from({ length: 50 }, (_, i) => call(i, shared.promise));
  const failed = Array.from({ length: 50 }, (_, i) => call(50 + i, Promise.reject(new Error('away'))));
  shared.resolve();
  await Promise.all([...calls, ...failed]);
  loop.stop();
  expect(wentOn.map(([i]) => i).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  const inTurn = Map.groupBy(wentOn, ([, at]) => at);
  expect(Math.max(...[...inTurn.values()].map(({ length }) => length))).toBeLessThanOrEqual(16);
});
