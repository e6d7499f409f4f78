/**
 * Naive Bayes and the regression together: two factors say how much each counts, fitted by small steps to examples that
 * the regression has not learnt and that naive Bayes leaves out.
 */

import type { Kept } from './memory.ts';
import { countClasses, type Model, softmax } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, toInputs } from './regression.ts';

/** What is said of a text, by class index. */
export interface Said {
  probabilities: Float64Array;
  regression: Float64Array;
  bayes: Float64Array;
}

/** Logarithms of the factors of the regression and of naive Bayes, and their running squared gradients. */
export type BlendState = [number, number, number, number];

const bounds = [
  [0.1, 9],
  [0.02, 2.7],
] as const;
/** How far an example moves the factors. */
const rate = 0.004;

export class Blend {
  readonly state: BlendState;

  constructor(from?: BlendState) {
    this.state = from ?? [Math.log(2), Math.log(0.15), 0, 0];
  }

  /** Of an example that was counted, as if it had not been. */
  say(model: Model, kept: Kept, counted: boolean): Said {
    const size = model.classes.length;
    const regression = new Float64Array(size);
    const bayes = new Float64Array(size);
    const inputs = toInputs(model, kept, counted ? 1 : 0);
    scoreRegression(model, { rows: kept.rows, inputs }, regression);
    if (counted) scoreBayesWithout(model, kept, bayes);
    else scoreBayes(model, kept, bayes);
    const trust = trustIn(model);
    const [a, b] = [trust * Math.exp(this.state[0]), trust * Math.exp(this.state[1])];
    const probabilities = new Float64Array(size);
    for (let c = 0; c < size; c++) {
      probabilities[c] =
        model.classes[c] === null
          ? Number.NEGATIVE_INFINITY
          : a * (regression[c] as number) + b * (bayes[c] as number);
    }
    softmax(probabilities);
    return { probabilities, regression, bayes };
  }

  /** A step, or one as long as several, towards the factors with which what was said would have been right. */
  fit(
    model: Model,
    { probabilities, regression, bayes }: Said,
    { classIndex, steps }: { classIndex: number; steps: number },
  ): void {
    const trust = trustIn(model);
    let [slopeA, slopeB] = [0, 0];
    for (let c = 0; c < probabilities.length; c++) {
      if (model.classes[c] === null) continue;
      const gradient = (probabilities[c] as number) - (c === classIndex ? 1 : 0);
      slopeA += gradient * (regression[c] as number);
      slopeB += gradient * (bayes[c] as number);
    }
    this.#move(0, slopeA * trust * Math.exp(this.state[0]), steps);
    this.#move(1, slopeB * trust * Math.exp(this.state[1]), steps);
  }

  /** RMSProp on the logarithm of a factor. */
  #move(which: 0 | 1, slope: number, steps: number): void {
    const memory = which === 0 ? 2 : 3;
    const squares = 0.99 * this.state[memory] + 0.01 * slope * slope;
    this.state[memory] = squares;
    const moved = this.state[which] - (steps * rate * slope) / (Math.sqrt(squares) + 1e-6);
    const [least, most] = bounds[which];
    this.state[which] = Math.min(Math.log(most), Math.max(Math.log(least), moved));
  }
}

/** Few examples a class make both halves surer than they should be, the more so the fewer classes there are. */
function trustIn(model: Model): number {
  const classes = Math.max(1, countClasses(model));
  const mean = model.examples / classes;
  return mean / (mean + Math.min(4, 24 / classes));
}
