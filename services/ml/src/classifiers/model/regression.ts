/** A sparse multinomial logistic regression on words and characters, with a rate for each weight (AdaGrad: Duchi, Hazan, Singer, JMLR 12, 2011). */

import { type ClassNumbers, countClasses, type Model, softmax } from './model.ts';
import type { Kept } from './replay-buffer.ts';
import type { Pairs } from './sparse-counts.ts';

/** Shorter steps while little is known: with few examples the first ones decide, and long ones overshoot. */
const learningRate = { first: 0.2, full: 0.7, fullAt: 500 };
const biasRate = 0.07;
/** Gradients under it are not worth a pair. */
const gradientMin = 0.02;

/** The regression's inputs; features that were seen once are left out late. `less` of the examples that hold them do not count. */
export function toInputs(model: Model, kept: Kept, less = 0): Float32Array {
  const late = model.examples >= Math.max(300, 20 * countClasses(model));
  return weigh(model, kept, { least: late ? 2 : 0, less });
}

/**
 * tf·idf of the features that so many examples hold, words to unit length and characters too. Where characters are
 * fewer than words, as with a number in a Chinese text, they count by their share. A feature that no example holds
 * takes its part of the length, as it does in the examples: a text of mostly new words is like none of them.
 */
export function weigh(
  model: Model,
  { rows, weights, words, strange }: Kept,
  { least, less } = { least: 0, less: 0 },
): Float32Array {
  const tables = model.tables;
  const total = model.examples + 1;
  const strangeSquare = least > 0 ? 0 : Math.log(1 + total / 0.5) ** 2;
  const inputs = new Float32Array(rows.length);
  let norm = strangeSquare * (strange?.words ?? 0);
  let from = 0;
  for (let i = 0; i <= rows.length; i++) {
    if (i === words || i === rows.length) {
      const length = from === 0 ? 1 : Math.min(1, (rows.length - words) / words);
      const scale = norm === 0 ? 0 : length / Math.sqrt(norm);
      for (let j = from; j < i; j++) inputs[j] = (inputs[j] as number) * scale;
      from = i;
      norm = strangeSquare * (strange?.characters ?? 0);
    }
    if (i === rows.length) break;
    const documents = (tables.documents[rows[i] as number] as number) - less;
    if (documents < least) continue;
    const value = (weights[i] as number) * Math.log(1 + total / (documents + 0.5));
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
  const { starts, sizes, classes, values } = model.tables.regression;
  for (let c = 0; c < model.classes.length; c++) into[c] = model.classes[c]?.bias ?? Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const input = inputs[i] as number;
    if (input === 0) continue;
    const from = starts[rows[i] as number] as number;
    const end = from + (sizes[rows[i] as number] as number);
    for (let pair = from; pair < end; pair++) {
      const c = classes[pair] as number;
      into[c] = (into[c] as number) + input * (values[pair] as number);
    }
  }
}

/** One step of stochastic gradient descent on the regression's log-loss. */
export function stepRegression(model: Model, example: Kept): void {
  const inputs = toInputs(model, example);
  const gradients = new Float64Array(model.classes.length);
  scoreRegression(model, { rows: example.rows, inputs }, gradients);
  softmax(gradients);
  const moving: number[] = [];
  for (let c = 0; c < gradients.length; c++) {
    const gradient = (gradients[c] as number) - (c === example.classIndex ? 1 : 0);
    const moves = Math.abs(gradient) >= gradientMin;
    gradients[c] = moves ? gradient : 0;
    if (moves) moving.push(c);
  }
  if (moving.length === 0) return;
  for (const c of moving) moveBias(model.classes[c] as ClassNumbers, gradients[c] as number);
  const { first, full, fullAt } = learningRate;
  const rate = first + (full - first) * Math.min(1, model.examples / fullAt);
  descend(model, { rows: example.rows, inputs }, { gradients, moving, rate });
}

function moveBias(own: ClassNumbers, gradient: number): void {
  own.biasGradient += gradient * gradient;
  own.bias -= (biasRate * gradient) / Math.sqrt(own.biasGradient + 0.1);
}

/** Row by row: the pairs of a row are together, those of a class are not. */
function descend(
  model: Model,
  { rows, inputs }: { rows: Int32Array; inputs: Float32Array },
  { gradients, moving, rate }: { gradients: Float64Array; moving: number[]; rate: number },
): void {
  const pairs = model.tables.regression;
  /** The row that a class was last found in. */
  const found = new Int32Array(gradients.length).fill(-1);
  for (let i = 0; i < rows.length; i++) {
    const input = inputs[i] as number;
    if (input === 0) continue;
    const row = rows[i] as number;
    const from = pairs.starts[row] as number;
    const end = from + (pairs.sizes[row] as number);
    let left = moving.length;
    for (let pair = from; pair < end && left > 0; pair++) {
      const c = pairs.classes[pair] as number;
      if (gradients[c] === 0) continue;
      stepPair(pairs, pair, { slope: (gradients[c] as number) * input, rate });
      found[c] = row;
      left--;
    }
    for (let j = 0; left > 0; j++) {
      const c = moving[j] as number;
      if (found[c] === row) continue;
      const added = pairs.add(row, c);
      if (added >= 0) stepPair(pairs, added, { slope: (gradients[c] as number) * input, rate });
      left--;
    }
  }
}

function stepPair(pairs: Pairs, pair: number, { slope, rate }: { slope: number; rate: number }): void {
  const squares = (pairs.squares[pair] as number) + slope * slope;
  pairs.squares[pair] = squares;
  pairs.values[pair] = (pairs.values[pair] as number) - (rate * slope) / Math.sqrt(squares + 0.1);
}
