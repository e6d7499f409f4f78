/**
 * Combines naive Bayes, the regression and the dense regression. Three factors weight their scores, and a small share of
 * each probability, the doubt, comes from the same scores with a much higher temperature (Zhang, Kailkhura and Han,
 * Mix-n-Match, ICML 2020). Some texts are predicted with high scores and yet wrongly, for instance because their labels
 * are. Without doubt, the factors must be low for the sake of these texts, and all others are then underconfident.
 *
 * Factors and doubt are fitted in small steps to examples that the regression has not learnt and that the others leave
 * out. A step follows the natural gradient: the gradient divided by the Fisher information (Amari, Neural Computation 10,
 * 1998), which doesn't depend on the right class. AdaGrad would divide by recent gradients and so shrink the large
 * gradients of confident mistakes. The ensemble would then stay overconfident. The steps scatter the factors, so their
 * running means predict.
 */

import { fromTriangle, momentsOf, solve } from './linear-algebra.ts';
import { countClasses, type Model, softmax, type VectorExample } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, toInputs } from './regression.ts';

/** By class index: log scores of the regression and of naive Bayes, and scores of the dense regression. */
export type EnsembleScores = readonly [regression: Float64Array, bayes: Float64Array, dense: Float64Array];

/** Logarithms of the factors of the regression, of naive Bayes and of the dense regression; the log odds of the doubt. */
type Factors = [number, number, number, number];

/** Snapshots store it, so its members keep their names. */
export interface EnsembleState {
  factors: Factors;
  /** The running means of the factors. These predict. */
  means: Factors;
  /** Running mean of the Fisher information of one example: the lower triangle of a matrix in the order of the factors. */
  information: [number, number, number, number, number, number];
  /** The same of the doubt. */
  doubtInformation: number;
  steps: number;
}

const factorBounds = [
  [0.1, 9],
  [0.02, 2.7],
  [0.1, 60],
] as const;
const doubtBounds = [0.0001, 0.1] as const;
const doubtFirst = 0.01;
/**
 * The length of a step. A length of 1 would fit the factors to one example alone. It decays with the number of steps.
 */
const rate = { least: 0.0005, decay: 5, slack: 250 };
/** Weight of one step in the running means: about the last twentieth of the steps, and at most 1,400 of them. */
const meanRate = { least: 0.0007, decay: 20 };
/** Weight of one example in the running mean of the information. */
const informationRate = 0.01;
/** Added to the information so that steps stay bounded. */
const damping = 0.02;
const doubtDamping = 0.002;
const moveMax = 0.25;

export class Ensemble {
  readonly state: EnsembleState;

  constructor(from?: EnsembleState) {
    const first: Factors = [Math.log(2), Math.log(0.15), Math.log(2), toLogOdds(doubtFirst)];
    this.state = from ?? {
      factors: first,
      means: [...first],
      information: [0.2, 0, 0.2, 0, 0, 0.2],
      doubtInformation: 0.01,
      steps: 0,
    };
  }

  /** If naive Bayes and the dense regression have counted the example (`isCounted`), scores it as if they had not. */
  score(model: Model, { example, vector }: VectorExample, isCounted: boolean): EnsembleScores {
    const size = model.classes.length;
    const regression = new Float64Array(size);
    const bayes = new Float64Array(size);
    const dense = new Float64Array(size);
    const inputs = toInputs(model, example, isCounted ? 1 : 0);
    scoreRegression(model, { rows: example.rows, inputs }, regression);
    if (isCounted) scoreBayesWithout(model, example, bayes);
    else scoreBayes(model, example, bayes);
    model.dense.score(vector, dense, isCounted ? example.classIndex : -1);
    return [regression, bayes, dense];
  }

  /** Probabilities by class index. The doubt doesn't change their order. */
  predict(model: Model, scores: EnsembleScores): Float64Array {
    return combine(model, scores, this.state.means).probabilities;
  }

  /** Moves the factors towards values that predict the right class. One call can stand for several steps. */
  fit(
    model: Model,
    scores: EnsembleScores,
    { classIndex, steps }: { classIndex: number; steps: number },
  ): void {
    const { state } = this;
    const { factors, means, information } = state;
    const combined = combine(model, scores, factors);
    const { slopes, doubtSlopes } = slopesOf(combined, scores);
    const { probabilities } = combined;
    // A slope is the derivative of the log probability of a class by a logarithm of a factor. Its mean is 0.
    for (const [i, value] of momentsOf(probabilities, slopes).covariances.entries())
      information[i] = (information[i] as number) + informationRate * (value - (information[i] as number));
    let ofDoubt = 0;
    for (let c = 0; c < doubtSlopes.length; c++)
      ofDoubt += (probabilities[c] as number) * (doubtSlopes[c] as number) ** 2;
    state.doubtInformation += informationRate * (ofDoubt - state.doubtInformation);
    state.steps += steps;
    const length = steps * Math.max(rate.least, rate.decay / (state.steps + rate.slack));
    const matrix = fromTriangle(information);
    for (const i of [0, 4, 8]) matrix[i] = (matrix[i] as number) + damping;
    const moves = solve(
      matrix,
      slopes.map((ofClass) => ofClass[classIndex] as number),
    );
    moves.push((doubtSlopes[classIndex] as number) / (state.doubtInformation + doubtDamping));
    const weight = Math.min(
      1,
      steps * Math.max(meanRate.least, meanRate.decay / (state.steps + meanRate.decay)),
    );
    for (const [i, move] of moves.entries()) {
      const [least, most] = logBounds[i] as (typeof logBounds)[number];
      const moved = (factors[i] as number) + Math.min(moveMax, Math.max(-moveMax, length * move));
      factors[i] = Math.min(most, Math.max(least, moved));
      means[i] = (means[i] as number) + weight * ((factors[i] as number) - (means[i] as number));
    }
  }
}

const toLogOdds = (share: number) => Math.log(share / (1 - share));
const logBounds = [
  ...factorBounds.map(([least, most]) => [Math.log(least), Math.log(most)] as const),
  doubtBounds.map(toLogOdds) as [number, number],
];

interface Combined {
  scales: [number, number, number];
  doubt: number;
  /** Without doubt, of doubt alone, and both together; by class index. */
  sure: Float64Array;
  doubtful: Float64Array;
  probabilities: Float64Array;
}

function combine(model: Model, [regression, bayes, dense]: EnsembleScores, factors: Factors): Combined {
  const shrinkage = shrinkageOf(model);
  const [a, b, d] = factors.map((factor) => shrinkage * Math.exp(factor)) as [number, number, number];
  const doubt = 1 / (1 + Math.exp(-factors[3]));
  const size = model.classes.length;
  const sure = new Float64Array(size);
  for (let c = 0; c < size; c++) {
    sure[c] =
      model.classes[c] === null
        ? Number.NEGATIVE_INFINITY
        : a * (regression[c] as number) + b * (bayes[c] as number) + d * (dense[c] as number);
  }
  softmax(sure);
  const doubtful = new Float64Array(size);
  let sum = 0;
  for (let c = 0; c < size; c++) {
    // The fourth root: the temperature is 4.
    const root = Math.sqrt(Math.sqrt(sure[c] as number));
    doubtful[c] = root;
    sum += root;
  }
  const probabilities = new Float64Array(size);
  for (let c = 0; c < size; c++) {
    doubtful[c] = (doubtful[c] as number) / sum;
    probabilities[c] = (1 - doubt) * (sure[c] as number) + doubt * (doubtful[c] as number);
  }
  return { scales: [a, b, d], doubt, sure, doubtful, probabilities };
}

/** Returns the derivatives of each log probability by the factors and by the log odds of the doubt; 0 if it has none. */
function slopesOf(
  { scales, doubt, sure, doubtful, probabilities }: Combined,
  scores: EnsembleScores,
): { slopes: [Float64Array, Float64Array, Float64Array]; doubtSlopes: Float64Array } {
  const size = sure.length;
  const doubtSlopes = new Float64Array(size);
  const weights = new Float64Array(size);
  for (let c = 0; c < size; c++) {
    const probability = probabilities[c] as number;
    if (probability === 0) continue;
    weights[c] = ((1 - doubt) * (sure[c] as number)) / probability;
    doubtSlopes[c] = (doubt * (1 - doubt) * ((doubtful[c] as number) - (sure[c] as number))) / probability;
  }
  const slopes = scores.map((ofModel, i) => {
    const scale = scales[i] as number;
    const [mean, doubtfulMean] = [meanOf(sure, ofModel), meanOf(doubtful, ofModel)];
    const slope = new Float64Array(size);
    for (let c = 0; c < size; c++) {
      if (probabilities[c] === 0) continue;
      const score = ofModel[c] as number;
      const weight = weights[c] as number;
      slope[c] = scale * (weight * (score - mean) + ((1 - weight) / 4) * (score - doubtfulMean));
    }
    return slope;
  });
  return { slopes: slopes as [Float64Array, Float64Array, Float64Array], doubtSlopes };
}

/** The mean of the scores; where a probability is 0, the score doesn't count. */
function meanOf(probabilities: Float64Array, scores: Float64Array): number {
  let mean = 0;
  for (let c = 0; c < scores.length; c++) {
    const probability = probabilities[c] as number;
    if (probability !== 0) mean += probability * (scores[c] as number);
  }
  return mean;
}

/** With few examples per class, the models are overconfident. The fewer the classes, the stronger the effect. */
function shrinkageOf(model: Model): number {
  const classes = Math.max(1, countClasses(model));
  const mean = model.examples / classes;
  return mean / (mean + Math.min(4, 24 / classes));
}
