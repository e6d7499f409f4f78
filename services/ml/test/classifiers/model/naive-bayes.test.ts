import { expect, it } from 'vitest';
import { createRandom } from '../../../../../tests/support/random.ts';
import { DenseRegression } from '../../../src/classifiers/model/dense-regression.ts';
import { FeatureTable } from '../../../src/classifiers/model/feature-table.ts';
import type { EncodedExample, Model } from '../../../src/classifiers/model/model.ts';
import { countExample, scoreBayes, scoreBayesWithout } from '../../../src/classifiers/model/naive-bayes.ts';

/** Texts of 1 to 80 distinct words. A fifth of the words occurs twice. */
function makeModel(random: () => number): { model: Model; examples: EncodedExample[] } {
  const model: Model = {
    table: new FeatureTable(),
    dense: new DenseRegression(),
    classes: [],
    examples: 0,
    mass: 0,
  };
  for (const classId of ['a', 'b', 'c', 'd']) {
    model.classes.push({ classId, examples: 0, mass: 0, bias: 0, biasGradient: 0 });
  }
  const examples = Array.from({ length: 60 }, (_, i) => {
    const hashes = new Set(
      Array.from({ length: 1 + Math.floor(80 * random()) }, () => Math.floor(random() ** 2 * 200)),
    );
    const rows = Int32Array.from(hashes, (hash) => model.table.findOrAdd(hash));
    const weights = Float32Array.from(rows, () => (random() < 0.8 ? 1 : 1 + Math.log(2)));
    return { rows, weights, words: rows.length, classIndex: i % 4 };
  });
  for (const example of examples) {
    countExample(model, example, 1);
    model.examples++;
    const own = model.classes[example.classIndex];
    if (own) own.examples++;
  }
  return { model, examples };
}

/** Evaluates the formula word by word. */
function scoreSlowly(model: Model, { rows, weights }: EncodedExample): number[] {
  const { table } = model;
  const sumOf = (row: number, c: number) => {
    const pair = table.bayes.findOrAdd(row, c);
    return table.bayes.values[pair] as number;
  };
  return model.classes.map((one, c) => {
    let score = Math.log((one?.examples ?? 0) / model.examples);
    for (const [i, row] of rows.entries()) {
      const mass = model.classes.reduce((sum, _, other) => sum + sumOf(row, other), 0);
      const background = (0.5 * mass) / model.mass + 0.5 / table.rows;
      const own = sumOf(row, c);
      score += (weights[i] as number) * Math.log(1 + (0.4 * own) / (0.6 * (one?.mass ?? 0) * background));
    }
    return score;
  });
}

it('gives the scores of its formula for texts of any length', () => {
  const { model, examples } = makeModel(createRandom(1));
  for (const example of examples) {
    const scores = new Float64Array(4);
    scoreBayes(model, example, scores);
    for (const [c, score] of scoreSlowly(model, example).entries()) expect(scores[c]).toBeCloseTo(score, 9);
  }
});

it('computes leave-one-out scores', () => {
  const { model, examples } = makeModel(createRandom(2));
  for (const example of examples) {
    const [without, gone] = [new Float64Array(4), new Float64Array(4)];
    scoreBayesWithout(model, example, without);
    countExample(model, example, -1);
    scoreBayes(model, example, gone);
    countExample(model, example, 1);
    for (let c = 0; c < 4; c++) expect(without[c]).toBeCloseTo(gone[c] as number, 4);
  }
});
