/** A sparse multinomial logistic regression on words and characters, with a rate for each weight (AdaGrad: Duchi, Hazan, Singer, JMLR 12, 2011). */

import type { Kept } from './memory.ts';
import { countClasses, type Model, softmax } from './model.ts';

/** Shorter steps while little is known: with few examples the first ones decide, and long ones overshoot. */
const learningRate = { first: 0.2, full: 0.7, fullAt: 500 };
const biasRate = 0.07;
/** Gradients under it are not worth a pair. */
const gradientMin = 0.02;

/** The regression's inputs; features that were seen once are left out early. */
export function toInputs(model: Model, kept: Kept): Float32Array {
  const late = model.examples >= Math.max(300, 20 * countClasses(model));
  return weigh(model, kept, late ? 2 : 0);
}

/**
 * tf·idf of the features that so many examples hold, words to unit length and characters too. Where characters are
 * fewer than words, as with a number in a Chinese text, they count by their share. A feature that no example holds
 * takes its part of the length, as it does in the examples: a text of mostly new words is like none of them.
 */
export function weigh(model: Model, { rows, weights, words, strange }: Kept, least: number): Float32Array {
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
    const documents = tables.documents[rows[i] as number] as number;
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
  const tables = model.tables;
  for (let c = 0; c < model.classes.length; c++) into[c] = model.classes[c]?.bias ?? Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const input = inputs[i] as number;
    if (input === 0) continue;
    for (
      let pair = tables.heads[rows[i] as number] as number;
      pair >= 0;
      pair = tables.next[pair] as number
    ) {
      const c = tables.classes[pair] as number;
      into[c] = (into[c] as number) + input * (tables.weights[pair] as number);
    }
  }
}

/** One step of stochastic gradient descent on the regression's log-loss. */
export function stepRegression(model: Model, example: Kept): void {
  const inputs = toInputs(model, example);
  const scores = new Float64Array(model.classes.length);
  scoreRegression(model, { rows: example.rows, inputs }, scores);
  softmax(scores);
  for (let c = 0; c < scores.length; c++) {
    const gradient = (scores[c] as number) - (c === example.classIndex ? 1 : 0);
    if (Math.abs(gradient) < gradientMin) continue;
    descend(model, { rows: example.rows, inputs }, { c, gradient });
  }
}

function descend(
  model: Model,
  { rows, inputs }: { rows: Int32Array; inputs: Float32Array },
  { c, gradient }: { c: number; gradient: number },
): void {
  const own = model.classes[c];
  if (!own) return;
  own.biasGradient += gradient * gradient;
  own.bias -= (biasRate * gradient) / Math.sqrt(own.biasGradient + 0.1);
  const tables = model.tables;
  const { first, full, fullAt } = learningRate;
  const rate = first + (full - first) * Math.min(1, model.examples / fullAt);
  for (let i = 0; i < rows.length; i++) {
    const slope = gradient * (inputs[i] as number);
    if (slope === 0) continue;
    const pair = tables.pairOrAdd(rows[i] as number, c);
    const squares = (tables.gradients[pair] as number) + slope * slope;
    tables.gradients[pair] = squares;
    tables.weights[pair] = (tables.weights[pair] as number) - (rate * slope) / Math.sqrt(squares + 0.1);
  }
}
