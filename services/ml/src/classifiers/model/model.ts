/**
 * The data that the parts of the learner share: the feature table, the dense regression, the classes with their counts
 * and the encoded example.
 */

import type { Score } from '../learner.ts';
import type { DenseRegression } from './dense-regression.ts';
import type { FeatureTable } from './feature-table.ts';

/** An example as rows of the feature table. Snapshots store it, so its members keep their names. */
export interface EncodedExample {
  rows: Int32Array;
  weights: Float32Array;
  /** The first `words` rows are words, the others character n-grams. */
  words: number;
  classIndex: number;
  /** The sums of the squared weights of the features without a row; absent if every feature has a row. */
  strange?: { words: number; characters: number };
}

/** An example with the vector of its text; empty if the text has none. */
export interface VectorExample {
  example: EncodedExample;
  vector: Float32Array;
}

export interface ClassNumbers {
  classId: string;
  examples: number;
  /** Sum of the naive Bayes weights. */
  mass: number;
  bias: number;
  biasGradient: number;
}

export interface Model {
  table: FeatureTable;
  dense: DenseRegression;
  /** By class index; null for a deleted class. */
  classes: (ClassNumbers | null)[];
  examples: number;
  /** Sum of the naive Bayes weights over all classes. */
  mass: number;
}

export function countClasses({ classes }: Model): number {
  let count = 0;
  for (const one of classes) if (one !== null) count++;
  return count;
}

/** Replaces the scores with probabilities. */
export function softmax(values: Float64Array): void {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > most) most = value;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const value = Math.exp((values[i] as number) - most);
    values[i] = value;
    sum += value;
  }
  for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) / sum;
}

/** Returns the most likely class, of several the one with the least id. `probabilities` is by class index. */
export function bestScore({ classes }: Model, probabilities: Float64Array): Score | undefined {
  let best: Score | undefined;
  for (let i = 0; i < probabilities.length; i++) {
    const confidence = probabilities[i] as number;
    const classId = classes[i]?.classId;
    if (classId === undefined || (best !== undefined && confidence < best.confidence)) continue;
    if (confidence !== best?.confidence || classId < best.classId) best = { classId, confidence };
  }
  return best;
}

const byConfidence = (x: Score, y: Score) => y.confidence - x.confidence || (x.classId < y.classId ? -1 : 1);

/** Returns at most `top` classes, most likely first, ties by class id. `probabilities` is by class index. */
export function bestScores({ classes }: Model, probabilities: Float64Array, top: number): Score[] {
  const best: Score[] = [];
  // At twice `top` candidates, the list is sorted and cut to `top`. A class below the last of them is skipped from then
  // on.
  let last: Score = { classId: '', confidence: 0 };
  for (let i = 0; i < probabilities.length; i++) {
    const classId = classes[i]?.classId;
    const confidence = probabilities[i] as number;
    if (classId === undefined || confidence < last.confidence) continue;
    if (confidence === last.confidence && last.classId !== '' && classId > last.classId) continue;
    best.push({ classId, confidence });
    if (best.length < 2 * top) continue;
    best.sort(byConfidence).length = top;
    last = best[top - 1] as Score;
  }
  best.sort(byConfidence);
  return best.length > top ? best.slice(0, top) : best;
}
