import { describe, expect, it } from 'vitest';
import { keepFirst } from '../../src/files/keep-first.ts';

/** Each look at the hub finds the next of these; the last one stays. */
async function keep(id: string, ...looks: string[][]) {
  const removed: string[] = [];
  let look = 0;
  const kept = keepFirst({
    what: 'folder Reports',
    id,
    twins: async () => looks[Math.min(look++, looks.length - 1)] as string[],
    remove: async () => removed.push(id),
    pause: async () => {},
  });
  const message = await kept.then(
    () => 'kept',
    (err) => `${err.exitCode}: ${err.message}`,
  );
  return { message, removed };
}
const lost = '5: Another apply created the folder Reports at the same time. Run this again.';

describe('keepFirst', () => {
  it('keeps what is alone', async () => {
    expect(await keep('a', ['a'])).toEqual({ message: 'kept', removed: [] });
  });

  it('removes the one with the greater id', async () => {
    expect(await keep('b', ['a', 'b'])).toEqual({ message: lost, removed: ['b'] });
  });

  it('waits until the other apply has removed its own', async () => {
    expect(await keep('a', ['a', 'b'], ['a', 'b'], ['a'])).toEqual({ message: 'kept', removed: [] });
  });

  it('removes its own if the other one stays, because it was alone when its apply looked', async () => {
    expect(await keep('a', ['a', 'b'])).toEqual({ message: lost, removed: ['a'] });
  });

  it('reports what others removed meanwhile', async () => {
    expect(await keep('a', [])).toEqual({ message: lost, removed: ['a'] });
  });
});
