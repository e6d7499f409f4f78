/**
 * Combines naive Bayes, the regression and the dense regression. Three factors weight their scores. The factors are
 * fitted in small steps to examples that the regression has not learnt and that the others leave out. A step follows the
 * natural gradient: the gradient divided by the Fisher information (Amari, Neural Computation 10, 1998), which doesn't
 * depend on the right class. AdaGrad would divide by recent gradients and so shrink the large gradients of confident
 * mistakes. The ensemble would then stay overconfident.
 */

import { fromTriangle, momentsOf, solve } from './linear-algebra.ts';
import { countClasses, type Model, softmax, type VectorExample } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, toInputs } from './regression.ts';

/** All arrays are by class index. */
export interface EnsemblePrediction {
  probabilities: Float64Array;
  /** Log scores of the two sparse models, and scores of the dense one. */
  regression: Float64Array;
  bayes: Float64Array;
  dense: Float64Array;
}

/** Snapshots store it, so its members keep their names. */
export interface EnsembleState {
  /** Logarithms of the factors of the regression, of naive Bayes and of the dense regression. */
  factors: [number, number, number];
  /** Running mean of the Fisher information of one example: the lower triangle of a matrix in the order of the factors. */
  information: [number, number, number, number, number, number];
  steps: number;
}

const factorBounds = [
  [0.1, 9],
  [0.02, 2.7],
  [0.1, 60],
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
    this.state = from ?? {
      factors: [Math.log(2), Math.log(0.15), Math.log(2)],
      information: [0.2, 0, 0.2, 0, 0, 0.2],
      steps: 0,
    };
  }

  /** If naive Bayes and the dense regression have counted the example (`isCounted`), predicts as if they had not. */
  predict(model: Model, { example, vector }: VectorExample, isCounted: boolean): EnsemblePrediction {
    const size = model.classes.length;
    const regression = new Float64Array(size);
    const bayes = new Float64Array(size);
    const dense = new Float64Array(size);
    const inputs = toInputs(model, example, isCounted ? 1 : 0);
    scoreRegression(model, { rows: example.rows, inputs }, regression);
    if (isCounted) scoreBayesWithout(model, example, bayes);
    else scoreBayes(model, example, bayes);
    model.dense.score(vector, dense, isCounted ? example.classIndex : -1);
    const [a, b, d] = this.#factors(model);
    const probabilities = new Float64Array(size);
    for (let c = 0; c < size; c++) {
      probabilities[c] =
        model.classes[c] === null
          ? Number.NEGATIVE_INFINITY
          : a * (regression[c] as number) + b * (bayes[c] as number) + d * (dense[c] as number);
    }
    softmax(probabilities);
    return { probabilities, regression, bayes, dense };
  }

  /** Moves the factors towards values that predict the right class. One call can stand for several steps. */
  fit(
    model: Model,
    prediction: EnsemblePrediction,
    { classIndex, steps }: { classIndex: number; steps: number },
  ): void {
    const { factors, information } = this.state;
    const { probabilities, regression, bayes, dense } = prediction;
    const scores = [regression, bayes, dense] as const;
    const scales = this.#factors(model);
    // The derivative of the log loss by the logarithm of a factor: the mean of its weighted scores less the right class's.
    const { means, covariances } = momentsOf(probabilities, scores, scales);
    const gradient = means.map(
      (mean, i) => mean - (scales[i] as number) * ((scores[i] as Float64Array)[classIndex] as number),
    );
    for (const [i, value] of covariances.entries())
      information[i] = (information[i] as number) + informationRate * (value - (information[i] as number));
    this.state.steps += steps;
    const length = steps * Math.max(rate.least, rate.decay / (this.state.steps + rate.slack));
    const matrix = fromTriangle(information);
    for (const i of [0, 4, 8]) matrix[i] = (matrix[i] as number) + damping;
    for (const [i, move] of solve(matrix, gradient).entries()) {
      const moved = (factors[i] as number) - Math.min(moveMax, Math.max(-moveMax, length * move));
      const [least, most] = factorBounds[i] as (typeof factorBounds)[number];
      factors[i] = Math.min(Math.log(most), Math.max(Math.log(least), moved));
    }
  }

  #factors(model: Model): [number, number, number] {
    const shrinkage = shrinkageOf(model);
    const [a, b, d] = this.state.factors;
    return [shrinkage * Math.exp(a), shrinkage * Math.exp(b), shrinkage * Math.exp(d)];
  }
}

/** With few examples per class, the models are overconfident. The fewer the classes, the stronger the effect. */
function shrinkageOf(model: Model): number {
  const classes = Math.max(1, countClasses(model));
  const mean = model.examples / classes;
  return mean / (mean + Math.min(4, 24 / classes));
}
