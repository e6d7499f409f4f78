/**
 * Naive Bayes and the regression together: two factors say how much each counts, fitted by small steps to examples that
 * the regression has not learnt and that naive Bayes leaves out. A step is the gradient over Fisher's information
 * (Amari, Neural Computation 10, 1998), which knows nothing of what was right. Gradients divided by what gradients were
 * lately would make light of the few examples that it was sure of and wrong in, and so stay too sure.
 */

import { countClasses, type Model, softmax } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, toInputs } from './regression.ts';
import type { Kept } from './replay-buffer.ts';

/** What is said of a text, by class index. */
export interface Said {
  probabilities: Float64Array;
  regression: Float64Array;
  bayes: Float64Array;
}

export interface BlendState {
  /** Logarithms of the factors of the regression and of naive Bayes. */
  factors: [number, number];
  /** What one example lately told of them: of the first, of both together, of the second. */
  information: [number, number, number];
  steps: number;
}

const bounds = [
  [0.1, 9],
  [0.02, 2.7],
] as const;
/** How far one example moves the factors, against fitting them to it alone: less the more there were. */
const rate = { least: 0.0005, decay: 5, slack: 250 };
/** The share of an example in the information, and what is added to it so that steps are never wild. */
const informationRate = 0.01;
const firmness = 0.02;
const moveMax = 0.25;

export class Blend {
  readonly state: BlendState;

  constructor(from?: BlendState) {
    this.state = from ?? { factors: [Math.log(2), Math.log(0.15)], information: [0.2, 0, 0.2], steps: 0 };
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
    const [a, b] = this.#factors(model);
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
    const [a, b] = this.#factors(model);
    const { factors, information } = this.state;
    // Numbers of their own: as parts of an array each sum costs five times as much.
    let x = 0;
    let y = 0;
    let xx = 0;
    let xy = 0;
    let yy = 0;
    for (let c = 0; c < probabilities.length; c++) {
      if (model.classes[c] === null) continue;
      const probability = probabilities[c] as number;
      const ofA = a * (regression[c] as number);
      const ofB = b * (bayes[c] as number);
      const sharedA = probability * ofA;
      const sharedB = probability * ofB;
      x += sharedA;
      y += sharedB;
      xx += sharedA * ofA;
      xy += sharedA * ofB;
      yy += sharedB * ofB;
    }
    for (const [i, told] of [xx - x * x, xy - x * y, yy - y * y].entries()) {
      information[i] = (information[i] as number) + informationRate * (told - (information[i] as number));
    }
    const slopes = [
      x - a * (regression[classIndex] as number),
      y - b * (bayes[classIndex] as number),
    ] as const;
    this.state.steps += steps;
    const share = steps * Math.max(rate.least, rate.decay / (this.state.steps + rate.slack));
    const [aa, ab, bb] = [information[0] + firmness, information[1], information[2] + firmness];
    const determinant = aa * bb - ab * ab;
    const moves = [
      (bb * slopes[0] - ab * slopes[1]) / determinant,
      (aa * slopes[1] - ab * slopes[0]) / determinant,
    ] as const;
    for (const i of [0, 1] as const) {
      const moved = factors[i] - Math.min(moveMax, Math.max(-moveMax, share * moves[i]));
      const [least, most] = bounds[i];
      factors[i] = Math.min(Math.log(most), Math.max(Math.log(least), moved));
    }
  }

  #factors(model: Model): [number, number] {
    const trust = trustIn(model);
    const [a, b] = this.state.factors;
    return [trust * Math.exp(a), trust * Math.exp(b)];
  }
}

/** Few examples a class make both halves surer than they should be, the more so the fewer classes there are. */
function trustIn(model: Model): number {
  const classes = Math.max(1, countClasses(model));
  const mean = model.examples / classes;
  return mean / (mean + Math.min(4, 24 / classes));
}
