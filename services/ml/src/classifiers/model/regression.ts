/**
 * A sparse multinomial logistic regression on words and character n-grams, with a learning rate for each weight
 * (AdaGrad: Duchi, Hazan and Singer, JMLR 12, 2011).
 */

import { type ClassNumbers, countClasses, type EncodedExample, type Model, softmax } from './model.ts';
import type { SparseCounts } from './sparse-counts.ts';

/** The first examples have a large effect, so the rate starts low and grows until `fullAt` examples. */
const learningRate = { first: 0.2, full: 0.7, fullAt: 500 };
const biasRate = 0.07;
/** A smaller gradient is ignored, because it is not worth the memory of a weight. */
const gradientMin = 0.02;

/**
 * Returns the inputs of the regression. Once there are enough examples, features that only one example has are left out.
 * `less` is subtracted from the number of examples that have a feature.
 */
export function toInputs(model: Model, example: EncodedExample, less = 0): Float32Array {
  const late = model.examples >= Math.max(300, 20 * countClasses(model));
  return tfIdf(model, example, { least: late ? 2 : 0, less });
}

/**
 * Returns the tf·idf of the features that at least `least` examples have. Words and n-grams are each scaled to unit
 * length. If there are fewer n-grams than words (a number in a Chinese text), the n-grams are scaled to their share. A
 * feature that no example has still counts in the length, so a text of mostly new words is similar to no example.
 */
export function tfIdf(
  model: Model,
  { rows, weights, words, strange }: EncodedExample,
  { least, less } = { least: 0, less: 0 },
): Float32Array {
  const { documents } = model.table;
  const total = model.examples + 1;
  const unknownSquare = least > 0 ? 0 : Math.log(1 + total / 0.5) ** 2;
  const inputs = new Float32Array(rows.length);
  let norm = unknownSquare * (strange?.words ?? 0);
  let from = 0;
  for (let i = 0; i <= rows.length; i++) {
    if (i === words || i === rows.length) {
      const length = from === 0 ? 1 : Math.min(1, (rows.length - words) / words);
      const scale = norm === 0 ? 0 : length / Math.sqrt(norm);
      for (let j = from; j < i; j++) inputs[j] = (inputs[j] as number) * scale;
      from = i;
      norm = unknownSquare * (strange?.characters ?? 0);
    }
    if (i === rows.length) break;
    const examples = (documents[rows[i] as number] as number) - less;
    if (examples < least) continue;
    const value = (weights[i] as number) * Math.log(1 + total / (examples + 0.5));
    inputs[i] = value;
    norm += value * value;
  }
  return inputs;
}

export function scoreRegression(
  model: Model,
  { rows, inputs }: { rows: Int32Array; inputs: Float32Array },
  into: Float64Array,
): void {
  const { table } = model;
  const { starts, sizes, classes, values } = table.regression;
  for (let c = 0; c < model.classes.length; c++) into[c] = model.classes[c]?.bias ?? Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const input = inputs[i] as number;
    if (input === 0 || table.regression.isCommon(rows[i] as number)) continue;
    const from = starts[rows[i] as number] as number;
    const end = from + (sizes[rows[i] as number] as number);
    for (let pair = from; pair < end; pair++) {
      const c = classes[pair] as number;
      into[c] = (into[c] as number) + input * (values[pair] as number);
    }
  }
}

/** One step of stochastic gradient descent on the log loss. */
export function stepRegression(model: Model, example: EncodedExample): void {
  const inputs = toInputs(model, example);
  const gradients = new Float64Array(model.classes.length);
  scoreRegression(model, { rows: example.rows, inputs }, gradients);
  softmax(gradients);
  const updated: number[] = [];
  for (let c = 0; c < gradients.length; c++) {
    const gradient = (gradients[c] as number) - (c === example.classIndex ? 1 : 0);
    const isLarge = Math.abs(gradient) >= gradientMin;
    gradients[c] = isLarge ? gradient : 0;
    if (isLarge) updated.push(c);
  }
  if (updated.length === 0) return;
  for (const c of updated) stepBias(model.classes[c] as ClassNumbers, gradients[c] as number);
  const { first, full, fullAt } = learningRate;
  const rate = first + (full - first) * Math.min(1, model.examples / fullAt);
  descend(model, { rows: example.rows, inputs }, { gradients, updated, rate });
}

function stepBias(own: ClassNumbers, gradient: number): void {
  own.biasGradient += gradient * gradient;
  own.bias -= (biasRate * gradient) / Math.sqrt(own.biasGradient + 0.1);
}

/** Updates the weights row by row, because the weights of a row are next to each other in memory. */
function descend(
  model: Model,
  { rows, inputs }: { rows: Int32Array; inputs: Float32Array },
  { gradients, updated, rate }: { gradients: Float64Array; updated: number[]; rate: number },
): void {
  const pairs = model.table.regression;
  /** For each class, the last row that has a weight of the class. */
  const found = new Int32Array(gradients.length).fill(-1);
  for (let i = 0; i < rows.length; i++) {
    const input = inputs[i] as number;
    if (input === 0) continue;
    const row = rows[i] as number;
    if (pairs.isCommon(row)) continue;
    const from = pairs.starts[row] as number;
    const end = from + (pairs.sizes[row] as number);
    let left = updated.length;
    for (let pair = from; pair < end && left > 0; pair++) {
      const c = pairs.classes[pair] as number;
      if (gradients[c] === 0) continue;
      stepWeight(pairs, pair, { slope: (gradients[c] as number) * input, rate });
      found[c] = row;
      left--;
    }
    for (let j = 0; left > 0; j++) {
      const c = updated[j] as number;
      if (found[c] === row) continue;
      const added = pairs.add(row, c);
      if (added >= 0) stepWeight(pairs, added, { slope: (gradients[c] as number) * input, rate });
      left--;
    }
  }
}

function stepWeight(
  pairs: SparseCounts,
  pair: number,
  { slope, rate }: { slope: number; rate: number },
): void {
  const squares = (pairs.squares[pair] as number) + slope * slope;
  pairs.squares[pair] = squares;
  pairs.values[pair] = (pairs.values[pair] as number) - (rate * slope) / Math.sqrt(squares + 0.1);
}
