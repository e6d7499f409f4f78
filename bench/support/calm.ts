/** Rounds in which the machine was the bench's own: where others share it, they take from one side and not from the other. */

import { readFile } from 'node:fs/promises';

/** Of the machine's processor time, taken by others while a round ran. */
const stolenMax = 0.02;
const triesMax = 4;

export interface Rounds<T> {
  rounds: T[];
  /** How many were left out. */
  disturbed: number;
}

/**
 * Runs rounds until `count` of them were calm, and at most four times as many. Without a calm one all count; so they do
 * where the system does not tell.
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

/** As Linux counts it, in ticks (proc_stat(5)); not a number elsewhere. */
async function processorTime(): Promise<{ stolen: number; total: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '');
  const ticks = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').map(Number);
  return { stolen: ticks[7] ?? Number.NaN, total: ticks.slice(0, 8).reduce((sum, ticks) => sum + ticks, 0) };
}
