import { expect, it } from 'vitest';
import { addToCurve, type CurveState, pointsOf } from '../../src/classifiers/learning-curve.ts';

/** The curve of so many examples, of which `isCorrect` says which were predicted correctly. */
function curveOf(examples: number, isCorrect: (i: number) => boolean = () => true): CurveState {
  const curve: CurveState = [];
  for (let i = 0; i < examples; i++) addToCurve(curve, isCorrect(i) ? 0.75 : 0.5, isCorrect(i));
  return curve;
}

it('has points at round numbers, and each counts the examples since the one before', () => {
  const points = pointsOf(curveOf(1_000, (i) => i >= 100 && i % 4 !== 0));
  expect(points.map(({ examples, window }) => [examples, window])).toEqual([
    [10, 10],
    [20, 10],
    [30, 10],
    [50, 20],
    [100, 50],
    [200, 100],
    [300, 100],
    [500, 200],
    [1_000, 500],
  ]);
  expect(points[4]).toEqual({ examples: 100, window: 50, accuracy: 0, meanConfidence: 0.5 });
  expect(points[5]).toEqual({ examples: 200, window: 100, accuracy: 0.75, meanConfidence: 0.6875 });
});

it('joins the last examples with the window before until they are half as many', () => {
  const ends = (examples: number) => pointsOf(curveOf(examples)).map((point) => point.examples);
  expect(ends(0)).toEqual([]);
  expect(ends(7)).toEqual([7]);
  expect(ends(14)).toEqual([14]);
  expect(ends(15)).toEqual([10, 15]);
  expect(ends(124)).toEqual([10, 20, 30, 50, 124]);
  expect(ends(125)).toEqual([10, 20, 30, 50, 100, 125]);
  const [, joined] = pointsOf(curveOf(14 + 10, (i) => i < 20));
  expect(joined).toEqual({ examples: 24, window: 14, accuracy: 10 / 14, meanConfidence: 9.5 / 14 });
});

it('has 25 points after ten million examples, and at most 32', () => {
  const points = pointsOf(curveOf(10_000_000));
  expect(points).toHaveLength(25);
  expect(points.at(-1)).toMatchObject({ examples: 10_000_000, window: 5_000_000, accuracy: 1 });
  const full = Array.from({ length: 32 }, (): CurveState[number] => [1e9, 0, 0]);
  addToCurve(full, 1, true);
  expect(full).toHaveLength(32);
  expect(full.at(-1)).toEqual([1e9 + 1, 1, 1]);
});
