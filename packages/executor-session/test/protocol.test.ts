import { describe, expect, it } from 'vitest';
import { createBatchQueue, messageBytesMax, toMessages } from '../src/protocol.ts';

const iterationEnd = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Pushes one number in each iteration of the event loop, and returns the batches. */
async function gather(iterations: number, count: number): Promise<number[][]> {
  const queue = createBatchQueue<number>(() => iterations);
  const batches: number[][] = [];
  const taking = (async () => {
    for (let batch = await queue.take(false); batch !== undefined; batch = await queue.take(false))
      batches.push(batch);
  })();
  for (let i = 0; i < count; i++) {
    queue.push(i);
    await iterationEnd();
  }
  for (let i = 0; i <= iterations; i++) await iterationEnd();
  queue.close();
  await taking;
  return batches;
}

describe('a batch queue', () => {
  it('makes a batch of each iteration', async () => {
    expect(await gather(1, 4)).toEqual([[0], [1], [2], [3]]);
  });

  it('collects over several iterations, and loses nothing', async () => {
    const batches = await gather(3, 9);
    expect(batches.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(batches).toHaveLength(3);
  });

  it('returns the remaining items after close, then undefined', async () => {
    const queue = createBatchQueue<string>(() => 3);
    queue.push('last');
    queue.close();
    expect(await queue.take(false)).toEqual(['last']);
    expect(await queue.take(false)).toBeUndefined();
  });
});

describe('the messages of a batch', () => {
  const sizes = (batch: number[]) => [...toMessages(batch, (bytes) => bytes)];
  const half = messageBytesMax / 2;

  it('is one if its items are small', () => {
    expect(sizes([1, 2, 3])).toEqual([[1, 2, 3]]);
    expect(sizes([half, half])).toEqual([[half, half]]);
  });

  it('have no more bytes than one may have, in the order of the batch', () => {
    expect(sizes([half, half, 1, half])).toEqual([
      [half, half],
      [1, half],
    ]);
  });

  it('have a large item alone', () => {
    const large = messageBytesMax + 1;
    expect(sizes([large, 1, large])).toEqual([[large], [1], [large]]);
  });

  it('is an empty one for an empty batch', () => {
    expect(sizes([])).toEqual([[]]);
  });
});
