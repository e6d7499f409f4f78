import { describe, expect, it } from 'vitest';
import { DistinctSketch, sketchPlaceOf } from '../src/distinct-sketch.ts';

const sketchOf = (from: number, to: number): DistinctSketch => {
  const sketch = new DistinctSketch();
  for (let i = from; i < to; i++) sketch.add(sketchPlaceOf(`user ${i}`));
  return sketch;
};

describe('a sketch of distinct texts', () => {
  it.each([0, 1, 2, 5, 10])('counts %i exactly', (count) => {
    expect(sketchOf(0, count).estimate()).toBe(count);
  });

  it.each([100, 1_000, 2_600, 10_000, 200_000])('estimates %i within three standard errors', (count) => {
    const estimate = sketchOf(0, count).estimate();
    expect(Math.abs(estimate - count) / count).toBeLessThan(0.1);
  });

  it('counts a text once', () => {
    const sketch = sketchOf(0, 50);
    const before = sketch.estimate();
    for (let i = 0; i < 50; i++) sketch.add(sketchPlaceOf(`user ${i}`));
    expect(sketch.estimate()).toBe(before);
  });

  it.each([3, 300, 21_000])('of %i has at most 1 KiB, and merges to the sketch of all', (count) => {
    const [first, second] = [sketchOf(0, count).toBytes(), sketchOf(count / 3, count * 2).toBytes()];
    expect(Math.max(first.length, second.length)).toBeLessThanOrEqual(1_024);
    const merged = new DistinctSketch();
    for (const bytes of [first, second, first]) merged.merge(bytes);
    expect(merged.toBytes()).toEqual(sketchOf(0, count * 2).toBytes());
  });

  it('ignores bytes that no sketch has', () => {
    const sketch = new DistinctSketch();
    for (const length of [1, 3, 1_023, 1_024, 5_000]) sketch.merge(new Uint8Array(length).fill(255));
    expect(sketch.toBytes().length).toBeLessThanOrEqual(1_024);
    expect(Number.isFinite(sketch.estimate())).toBe(true);
  });
});
