import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dot as dotOfVectors, Kernel } from '../../../src/classifiers/model/kernel.ts';
import { LeastSquaresSvm } from '../../../src/classifiers/model/lssvm.ts';

interface Support {
  rows: Int32Array;
  inputs: Float32Array;
  vector: Float32Array;
  classIndex: number;
}

/** An example with some of 40 features, of one of three classes. */
const support = fc
  .record({
    rows: fc.uniqueArray(fc.integer({ min: 0, max: 39 }), { minLength: 1, maxLength: 12 }),
    vector: fc.constantFrom([], [1, 0], [0.6, 0.8], [0, -1], [0.28, 0.96]),
    classIndex: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ rows, vector, classIndex }): Support => {
    const inputs = new Float32Array(rows.length).fill(1 / Math.sqrt(rows.length));
    return { rows: Int32Array.from(rows), inputs, vector: Float32Array.from(vector), classIndex };
  });
const supports = fc.array(support, { minLength: 2, maxLength: 60 });

/** The weight of the dense kernel. */
const weight = 2;

interface Trained {
  kernel: Kernel;
  svm: LeastSquaresSvm;
}

function similarities(kernel: Kernel, asked: Support): Float64Array {
  const { sparse, dense } = kernel.similarities(asked);
  return sparse.map((value, i) => value + weight * (dense[i] as number));
}

function train(all: readonly Support[]): Trained {
  const [kernel, svm] = [new Kernel(), new LeastSquaresSvm()];
  for (const one of all) {
    svm.add({ similarities: similarities(kernel, one), self: dot(one, one), classIndex: one.classIndex });
    kernel.add(one);
  }
  return { kernel, svm };
}

function score({ kernel, svm }: Trained, asked: Support): number[] {
  const scores = new Float64Array(3);
  svm.score(similarities(kernel, asked), scores);
  return [...scores];
}

const close = (a: readonly number[], b: readonly number[]) => {
  for (const [i, value] of a.entries()) expect(value).toBeCloseTo(b[i] ?? Number.NaN, 8);
};

describe('the least-squares support vector machine', () => {
  it('solves its linear system', () => {
    fc.assert(
      fc.property(supports, (all) => {
        const svm = train(all);
        const residuals = all.map((one) => {
          const scores = score(svm, one);
          return scores.map((value, c) => (c === one.classIndex ? 1 : 0) - value);
        });
        // Each residual is the ridge times the coefficient of the example, and the coefficients sum to 0.
        for (const c of [0, 1, 2]) {
          expect(residuals.reduce((sum, residual) => sum + (residual[c] ?? 0), 0)).toBeCloseTo(0, 8);
        }
        const asked = all[0] as Support;
        const parts = residuals.map((residual) => residual.map((value) => value / 0.5));
        const similar = all.map((one) => dot(one, asked));
        const sums = [0, 1, 2].map((c) => similar.reduce((sum, k, i) => sum + k * (parts[i]?.[c] ?? 0), 0));
        const differences = score(svm, asked).map((value, c) => value - (sums[c] ?? 0));
        const other = all.at(-1) as Support;
        const otherSums = [0, 1, 2].map((c) =>
          all.reduce((sum, one, i) => sum + dot(one, other) * (parts[i]?.[c] ?? 0), 0),
        );
        // The remainder is the intercept, which is the same for every text.
        close(
          score(svm, other).map((value, c) => value - (otherSums[c] ?? 0)),
          differences,
        );
      }),
      { numRuns: 50 },
    );
  });

  it('gives the same scores for any order of examples', () => {
    fc.assert(
      fc.property(supports, support, (all, asked) => {
        close(score(train(all), asked), score(train(all.toReversed()), asked));
      }),
      { numRuns: 50 },
    );
  });

  it('computes exact leave-one-out scores', () => {
    fc.assert(
      fc.property(supports, fc.nat(), (all, n) => {
        const at = n % all.length;
        const without = new Float64Array(3);
        train(all).svm.scoreWithout(at, without);
        close([...without], score(train(all.filter((_, i) => i !== at)), all[at] as Support));
      }),
      { numRuns: 100 },
    );
  });

  it('gives scores that sum to 1', () => {
    fc.assert(
      fc.property(supports, support, (all, asked) => {
        expect(score(train(all), asked).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 8);
      }),
      { numRuns: 50 },
    );
  });
});

function dot(a: Support, b: Support): number {
  let sum = weight * dotOfVectors(a.vector, b.vector);
  for (const [i, row] of a.rows.entries()) {
    const j = b.rows.indexOf(row);
    if (j >= 0) sum += (a.inputs[i] as number) * (b.inputs[j] as number);
  }
  return sum;
}
