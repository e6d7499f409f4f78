/** Measures how the CPU time of a computation grows with its input, which does not depend on the machine's speed or load. */

import { expect } from 'vitest';

const factor = 8;
/** Between 8, for linear growth, and 64, for quadratic growth. */
const growthMax = 32;
/** What takes less than this is not measured against a smaller input, whose figure would be noise. */
const noticeableMs = 100;
const tries = 3;

/** Fails if the CPU time of `work` grows much faster than the size of its input. */
export async function expectLinear(work: (size: number) => unknown, size: number): Promise<void> {
  const large = await cpuMs(() => work(size));
  if (large < noticeableMs) return;
  await work(size / factor);
  const small = Math.min(...(await inTurn(tries, () => cpuMs(() => work(size / factor)))));
  expect(large / small, `${large} ms of CPU, ${small} ms with an eighth`).toBeLessThan(growthMax);
}

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function inTurn(count: number, measure: () => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let i = 0; i < count; i++) results.push(await measure());
  return results;
}
