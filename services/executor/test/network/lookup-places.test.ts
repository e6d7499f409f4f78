import { expect, test } from 'vitest';
import { createPlaces } from '../../src/network/lookup-places.ts';

const staying = new AbortController().signal;

/** Takes places for these accounts, and tells in what order they came in. */
function queue(settings: Parameters<typeof createPlaces>[0]) {
  const places = createPlaces(settings);
  const inside: string[] = [];
  const givers = new Map<string, () => void>();
  const come = (name: string, signal = staying) =>
    places.take(name.charAt(0), signal).then((giveBack) => {
      inside.push(name);
      givers.set(name, giveBack);
    });
  const go = async (name: string) => {
    givers.get(name)?.();
    await new Promise(setImmediate);
  };
  return { come, go, inside };
}

test('an account has no more than its own places, and all no more than there are', async () => {
  const { come, go, inside } = queue({ allMax: 3, accountMax: 2, waitingMax: 10 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void come(name);
  await new Promise(setImmediate);
  expect(inside).toEqual(['a1', 'a2', 'b1']);
  await go('b1');
  expect(inside.slice(3)).toEqual(['c1']);
  await go('a1');
  expect(inside.slice(4)).toEqual(['a3']);
  await go('c1');
  expect(inside.slice(5)).toEqual(['b2']);
});

test('accounts take turns, whoever came first', async () => {
  const { come, go, inside } = queue({ allMax: 1, accountMax: 1, waitingMax: 10 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void come(name);
  for (const name of ['a1', 'b1', 'c1', 'a2']) {
    await new Promise(setImmediate);
    await go(name);
  }
  expect(inside).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
});

test('who leaves the line is skipped, and too long a line is refused', async () => {
  const { come, go, inside } = queue({ allMax: 1, accountMax: 1, waitingMax: 1 });
  const leaving = new AbortController();
  await come('a1');
  const left = come('a2', leaving.signal);
  await expect(come('a3')).rejects.toThrow('Too many');
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await expect(come('a4', leaving.signal)).rejects.toThrow('gone');
  void come('a5');
  await go('a1');
  expect(inside).toEqual(['a1', 'a5']);
});
