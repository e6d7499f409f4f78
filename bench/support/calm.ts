/** Selects the rounds in which no other program used much CPU, because that would slow down only one side. */

import { readFile } from 'node:fs/promises';

/** The share of the machine's CPU time that other programs used during a round. */
const stolenMax = 0.02;
const triesMax = 4;

export interface Rounds<T> {
  rounds: T[];
  /** The number of rounds that were left out. */
  disturbed: number;
}

/**
 * Runs rounds until `count` of them were calm, and at most four times as many. All count if none was calm, or if the
 * system does not report CPU times.
 */
export async function calmRounds<T>(count: number, round: () => Promise<T>): Promise<Rounds<T>> {
  const calm: T[] = [];
  const all: T[] = [];
  while (calm.length < count && all.length < count * triesMax) {
    const before = await processorTime();
    const result = await round();
    const after = await processorTime();
    all.push(result);
    if (!((after.stolen - before.stolen) / (after.total - before.total) > stolenMax)) calm.push(result);
  }
  return calm.length === 0
    ? { rounds: all, disturbed: 0 }
    : { rounds: calm, disturbed: all.length - calm.length };
}

/** In ticks, from Linux (proc_stat(5)); NaN on other systems. */
async function processorTime(): Promise<{ stolen: number; total: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '');
  const ticks = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').map(Number);
  return { stolen: ticks[7] ?? Number.NaN, total: ticks.slice(0, 8).reduce((sum, ticks) => sum + ticks, 0) };
}
