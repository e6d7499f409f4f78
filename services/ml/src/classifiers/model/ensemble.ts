/**
 * Combines naive Bayes and the regression. Two factors weight their scores. The factors are fitted in small steps to
 * examples that the regression has not learnt and that naive Bayes leaves out. A step follows the natural gradient: the
 * gradient divided by the Fisher information (Amari, Neural Computation 10, 1998), which doesn't depend on the right
 * class. AdaGrad would divide by recent gradients and so shrink the large gradients of confident mistakes. The ensemble
 * would then stay overconfident.
 */

import { countClasses, type EncodedExample, type Model, softmax } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, toInputs } from './regression.ts';

/** All arrays are by class index. */
export interface EnsemblePrediction {
  probabilities: Float64Array;
  /** Log scores of the two models. */
  regression: Float64Array;
  bayes: Float64Array;
}

/** Snapshots store it, so its members keep their names. */
export interface EnsembleState {
  /** Logarithms of the factors of the regression and of naive Bayes. */
  factors: [number, number];
  /** Running mean of the Fisher information of one example: regression, covariance, naive Bayes. */
  information: [number, number, number];
  steps: number;
}

const factorBounds = [
  [0.1, 9],
  [0.02, 2.7],
] as const;
/**
 * The length of a step. A length of 1 would fit the factors to one example alone. It decays with the number of steps.
 */
const rate = { least: 0.0005, decay: 5, slack: 250 };
/** Weight of one example in the running mean of the information. */
const informationRate = 0.01;
/** Added to the information so that steps stay bounded. */
const damping = 0.02;
const moveMax = 0.25;

export class Ensemble {
  readonly state: EnsembleState;

  constructor(from?: EnsembleState) {
    this.state = from ?? { factors: [Math.log(2), Math.log(0.15)], information: [0.2, 0, 0.2], steps: 0 };
  }

  /** If naive Bayes has counted the example (`isCounted`), predicts as if it had not. */
  predict(model: Model, example: EncodedExample, isCounted: boolean): EnsemblePrediction {
    const size = model.classes.length;
    const regression = new Float64Array(size);
    const bayes = new Float64Array(size);
    const inputs = toInputs(model, example, isCounted ? 1 : 0);
    scoreRegression(model, { rows: example.rows, inputs }, regression);
    if (isCounted) scoreBayesWithout(model, example, bayes);
    else scoreBayes(model, example, bayes);
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

  /** Moves the factors towards values that predict the right class. One call can stand for several steps. */
  fit(
    model: Model,
    { probabilities, regression, bayes }: EnsemblePrediction,
    { classIndex, steps }: { classIndex: number; steps: number },
  ): void {
    const [a, b] = this.#factors(model);
    const { factors, information } = this.state;
    // The sums are separate variables, because sums in an array take five times as long.
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
    for (const [i, value] of [xx - x * x, xy - x * y, yy - y * y].entries()) {
      information[i] = (information[i] as number) + informationRate * (value - (information[i] as number));
    }
    const gradient = [
      x - a * (regression[classIndex] as number),
      y - b * (bayes[classIndex] as number),
    ] as const;
    this.state.steps += steps;
    const length = steps * Math.max(rate.least, rate.decay / (this.state.steps + rate.slack));
    const [aa, ab, bb] = [information[0] + damping, information[1], information[2] + damping];
    const determinant = aa * bb - ab * ab;
    const moves = [
      (bb * gradient[0] - ab * gradient[1]) / determinant,
      (aa * gradient[1] - ab * gradient[0]) / determinant,
    ] as const;
    for (const i of [0, 1] as const) {
      const moved = factors[i] - Math.min(moveMax, Math.max(-moveMax, length * moves[i]));
      const [least, most] = factorBounds[i];
      factors[i] = Math.min(Math.log(most), Math.max(Math.log(least), moved));
    }
  }

  #factors(model: Model): [number, number] {
    const shrinkage = shrinkageOf(model);
    const [a, b] = this.state.factors;
    return [shrinkage * Math.exp(a), shrinkage * Math.exp(b)];
  }
}

/** With few examples per class, both models are overconfident. The fewer the classes, the stronger the effect. */
function shrinkageOf(model: Model): number {
  const classes = Math.max(1, countClasses(model));
  const mean = model.examples / classes;
  return mean / (mean + Math.min(4, 24 / classes));
}
