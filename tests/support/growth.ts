/** Measures how the CPU time of a computation grows with its input, which does not depend on the machine's speed or load. */

import { expect } from 'vitest';

const factor = 8;
/** Between 8, for linear growth, and 64, for quadratic growth. */
const growthMax = 32;
/** What takes less than this is not measured against a smaller input, whose figure would be noise. */
const noticeableMs = 100;
/** The first figures hold the compilation of the code, and any of them a collection of garbage, so the least ones count. */
const tries = 3;

/** Fails if the CPU time of `work` grows much faster than the size of its input. */
export async function expectLinear(work: (size: number) => unknown, size: number): Promise<void> {
  let large = Infinity;
  let small = Infinity;
  for (let i = 0; i < tries; i++) {
    large = Math.min(large, await cpuMs(() => work(size)));
    if (large < noticeableMs) return;
    for (let j = 0; j < tries; j++) small = Math.min(small, await cpuMs(() => work(size / factor)));
    if (large / small < growthMax) return;
  }
  expect.fail(`${large} ms of CPU, ${small} ms with an eighth`);
}

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
