/** What both halves of the learner share: the tables, the classes and their counts. */

import type { Tables } from './feature-table.ts';

export interface ClassNumbers {
  classId: string;
  examples: number;
  /** Sum of naive Bayes' weights. */
  mass: number;
  bias: number;
  biasGradient: number;
}

export interface Model {
  tables: Tables;
  /** By index; null where a class was deleted. */
  classes: (ClassNumbers | null)[];
  examples: number;
  /** Sum of naive Bayes' weights over all classes. */
  mass: number;
}

export function countClasses({ classes }: Model): number {
  let count = 0;
  for (const one of classes) if (one !== null) count++;
  return count;
}

/** Scores → probabilities, in place. */
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
