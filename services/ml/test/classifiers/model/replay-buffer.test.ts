import { describe, expect, it } from 'vitest';
import type { EncodedExample } from '../../../src/classifiers/model/model.ts';
import { ReplayBuffer } from '../../../src/classifiers/model/replay-buffer.ts';

const noVector = new Float32Array(0);
const example = (classIndex: number, number: number): EncodedExample => ({
  rows: Int32Array.of(number),
  weights: Float32Array.of(1),
  words: 1,
  classIndex,
});

/** Adds `counts[c]` examples of each class c, in rotation. Returns the examples to learn after each. */
function fill(buffer: ReplayBuffer, counts: readonly number[]): EncodedExample[][] {
  const learnt: EncodedExample[][] = [];
  for (let number = 1; number <= Math.max(...counts); number++) {
    for (const [classIndex, count] of counts.entries()) {
      if (number <= count)
        learnt.push(buffer.add({ example: example(classIndex, number), vector: noVector }, number));
    }
  }
  return learnt;
}

describe('the held-out examples', () => {
  it.each([[[40, 40]], [[900, 100]], [[3_000, 3_000, 30]], [Array.from({ length: 100 }, () => 60)]])(
    'are a small share: of %j examples none is learnt twice or lost',
    (counts) => {
      const buffer = new ReplayBuffer();
      const learnt = fill(buffer, counts).flat();
      const held = [...buffer.state.heldOut.values()].flat().map(({ example }) => example);
      const total = counts.reduce((sum, count) => sum + count, 0);
      expect(new Set([...learnt, ...held]).size).toBe(total);
      expect(learnt.length + held.length).toBe(total);
      expect(held.length).toBe(buffer.heldOutCount);
      const rings = buffer.state.heldOut.size;
      expect(held.length).toBeLessThanOrEqual(Math.max(2 * rings, Math.min(400, 0.08 * total)));
    },
  );

  it('leave the ring at most four at a time when a class is added', () => {
    const buffer = new ReplayBuffer();
    fill(buffer, [3_000, 3_000]);
    for (const learn of fill(buffer, [3_200, 3_200, 100])) expect(learn.length).toBeLessThanOrEqual(4);
  });

  it('are drawn in proportion to the examples of their class', () => {
    const buffer = new ReplayBuffer();
    fill(buffer, [1_800, 200]);
    let rare = 0;
    for (let i = 0; i < 5_000; i++) if (buffer.drawHeldOut()?.example.classIndex === 1) rare++;
    expect(rare / 5_000).toBeCloseTo(0.1, 1);
    expect(buffer.state.heldOut.get(1)?.length).toBeGreaterThan(10);
  });

  it('are removed with their class', () => {
    const buffer = new ReplayBuffer();
    fill(buffer, [100, 100]);
    buffer.drop(0);
    for (let i = 0; i < 50; i++) {
      for (const one of [buffer.drawHeldOut()?.example, buffer.draw(true), buffer.draw(false)]) {
        expect(one?.classIndex).toBe(1);
      }
    }
    buffer.drop(1);
    expect([buffer.drawHeldOut(), buffer.draw(true), buffer.draw(false)]).toEqual(Array(3).fill(undefined));
  });
});

it('counts what examples take beside their features, also after it was restored', () => {
  const buffer = new ReplayBuffer();
  const vector = new Float32Array(100);
  for (let number = 1; number <= 600; number++)
    buffer.add({ example: example(number % 2, number), vector }, Math.ceil(number / 2));
  expect(buffer.size).toBeGreaterThan(400 * (600 + buffer.heldOutCount));
  expect(new ReplayBuffer(buffer.state).size).toBe(buffer.size);
  for (const classIndex of [0, 1]) buffer.drop(classIndex);
  expect(buffer.size).toBe(0);
});
