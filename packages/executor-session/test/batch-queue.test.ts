import { describe, expect, it } from 'vitest';
import { createTurnQueue } from '../src/batch-queue.ts';

const turnEnd = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Pushes one number a turn, and gives what each `take` got. */
async function gather(turns: number, count: number): Promise<number[][]> {
  const queue = createTurnQueue<number>(() => turns);
  const batches: number[][] = [];
  const taking = (async () => {
    for (let batch = await queue.take(false); batch !== undefined; batch = await queue.take(false))
      batches.push(batch);
  })();
  for (let i = 0; i < count; i++) {
    queue.push(i);
    await turnEnd();
  }
  for (let i = 0; i <= turns; i++) await turnEnd();
  queue.close();
  await taking;
  return batches;
}

describe('a queue', () => {
  it('hands over each turn what came in it', async () => {
    expect(await gather(1, 4)).toEqual([[0], [1], [2], [3]]);
  });

  it('gathers over the turns it is told to wait, and leaves nothing behind', async () => {
    const batches = await gather(3, 9);
    expect(batches.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(batches).toHaveLength(3);
  });

  it('gives what is there when it is closed, then nothing', async () => {
    const queue = createTurnQueue<string>(() => 3);
    queue.push('last');
    queue.close();
    expect(await queue.take(false)).toEqual(['last']);
    expect(await queue.take(false)).toBeUndefined();
  });
});
