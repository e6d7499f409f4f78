import { chineseDimensions, englishDimensions } from '@datahub/word-vectors/text-vectors';
import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import { DenseRegression } from '../../../src/classifiers/model/dense-regression.ts';

interface Point {
  vector: Float32Array;
  classIndex: number;
}

/** Vectors of 3 classes, which lie around the corners of a cube. */
function makePoints(count: number, length = englishDimensions): Point[] {
  const random = createRandom(5);
  return Array.from({ length: count }, (_, i) => ({
    vector: Float32Array.from({ length }, (_, j) => (j < 6 ? (j === i % 3 ? 0.5 : 0) + 0.3 * random() : 0)),
    classIndex: i % 3,
  }));
}

function regressionOf(points: readonly Point[]): DenseRegression {
  const regression = new DenseRegression();
  for (const { vector, classIndex } of points) regression.add(vector, classIndex);
  return regression;
}

function scoresOf(regression: DenseRegression, { vector }: Pick<Point, 'vector'>, own?: number): number[] {
  const scores = new Float64Array(3);
  regression.score(vector, scores, own);
  return [...scores].map((score) => Number(score.toFixed(5)));
}

const points = makePoints(40);
const asked = points[7] as Point;

it('scores the class of similar vectors highest, whatever the order of the examples', () => {
  const scores = scoresOf(regressionOf(points), asked);
  expect(scores.indexOf(Math.max(...scores))).toBe(asked.classIndex);
  expect(scoresOf(regressionOf(points.toReversed()), asked)).toEqual(scores);
});

it('leaves an example out as if it had not been added', () => {
  const without = regressionOf(points.filter((point) => point !== asked));
  expect(scoresOf(regressionOf(points), asked, asked.classIndex)).toEqual(scoresOf(without, asked));
});

it('ignores texts without a vector, and scores nothing for a deleted class', () => {
  const regression = regressionOf([...points, { vector: new Float32Array(0), classIndex: 0 }]);
  expect(scoresOf(regression, asked)).toEqual(scoresOf(regressionOf(points), asked));
  expect(scoresOf(regression, { vector: new Float32Array(0) })).toEqual([0, 0, 0]);
  regression.dropClass(1);
  expect(scoresOf(regression, asked)[1]).toBe(0);
});

it('keeps English and Chinese texts apart, because their vectors cannot be compared', () => {
  const others = makePoints(40, chineseDimensions).map(({ vector, classIndex }) => ({
    vector,
    classIndex: (classIndex + 1) % 3,
  }));
  const other = others[7] as Point;
  for (const both of [
    regressionOf([...points, ...others]),
    DenseRegression.from(regressionOf([...others, ...points]).toState()),
  ]) {
    expect(scoresOf(both, asked)).toEqual(scoresOf(regressionOf(points), asked));
    expect(scoresOf(both, other)).toEqual(scoresOf(regressionOf(others), other));
    expect(scoresOf(both, other, other.classIndex)).toEqual(
      scoresOf(regressionOf(others.filter((point) => point !== other)), other),
    );
    both.dropClass(other.classIndex);
    expect(scoresOf(both, other)[other.classIndex]).toBe(0);
  }
});

it('ends with the 501st class, also in snapshots', () => {
  const regression = regressionOf(points);
  regression.add(asked.vector, 500);
  for (const one of [regression, DenseRegression.from(regression.toState())]) {
    expect([one.isOver, one.size, scoresOf(one, asked)]).toEqual([true, 0, [0, 0, 0]]);
    one.add(asked.vector, 0);
    expect(one.size).toBe(0);
  }
});
