/**
 * Calibrates the model for small samples with three factors, which are fitted to its leave-one-out predictions. Each
 * factor has a normal prior, so a few examples change it only a little (maximum a posteriori, by Newton's method with
 * the Fisher information).
 */

import { fromTriangle, momentsOf, solve } from './linear-algebra.ts';
import { softmax } from './model.ts';

/** The inputs of a prediction, each by class index. */
export interface Terms {
  svm: Float64Array;
  bayes: Float64Array;
  /** The logarithm of each class's share of the examples; minus infinity for a class without examples. */
  priors: Float64Array;
}

/** Snapshots store it, so its members keep their names. */
export interface CalibrationState {
  /**
   * The logarithm of the common scale, the logarithm of the weight of naive Bayes, and the weight of the class shares.
   */
  factors: [number, number, number];
  /** The running means of the factors. These predict. */
  means: [number, number, number];
}

export interface Calibration {
  probabilities(terms: Terms): Float64Array;
  /**
   * Makes one step towards the best factors. The batch is `share` of all examples. Returns the log losses before it.
   */
  fit(batch: readonly { terms: Terms; classIndex: number }[], share: number): number[];
  readonly state: CalibrationState;
}

/** Means and precisions (reciprocal variances) of the priors. */
const priorMeans = [Math.log(10), Math.log(0.005), 0] as const;
const priorPrecisions = [0.3, 0.5, 1] as const;
const stepMax = 1;
/**
 * Of a batch that is all examples; a small batch is noisy, so its step is shorter. The steps of a batch scatter the
 * factors, and with them the confidence by several points, so their running mean over about two passes through the
 * examples predicts (Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992).
 */
const stepRate = 0.25;
const meanRate = 0.5;
/** Keeps a log loss finite. */
const probabilityMin = 1e-300;

export function createCalibration(from?: CalibrationState): Calibration {
  const state: CalibrationState = from ?? { factors: [...priorMeans], means: [...priorMeans] };
  return {
    state,
    probabilities: (terms) => combine(state.means, terms).probabilities,
    fit: (batch, share) => {
      const losses: number[] = [];
      if (batch.length === 0) return losses;
      const gradient = [0, 0, 0];
      const information = [0, 0, 0, 0, 0, 0, 0, 0, 0];
      for (const { terms, classIndex } of batch) {
        const combined = combine(state.factors, terms);
        losses.push(-Math.log(Math.max(probabilityMin, combined.probabilities[classIndex] as number)));
        addSlopes({ gradient, information }, combined, classIndex);
      }
      for (let i = 0; i < 3; i++) {
        const precision = priorPrecisions[i] as number;
        gradient[i] =
          (gradient[i] as number) / share +
          precision * ((state.factors[i] as number) - (priorMeans[i] as number));
        for (let j = 0; j < 3; j++) information[3 * i + j] = (information[3 * i + j] as number) / share;
        information[4 * i] = (information[4 * i] as number) + precision;
      }
      const rate = stepRate * Math.sqrt(share);
      for (const [i, step] of solve(information, gradient).entries()) {
        const [factor, mean] = [state.factors[i] as number, state.means[i] as number];
        const moved = factor - rate * Math.min(stepMax, Math.max(-stepMax, step));
        state.factors[i] = moved;
        state.means[i] = mean + meanRate * share * (moved - mean);
      }
      return losses;
    },
  };
}

interface Combined {
  /** Derivatives of the scores by the factors. */
  slopes: [all: Float64Array, some: Float64Array, shares: Float64Array];
  probabilities: Float64Array;
}

function combine(factors: CalibrationState['factors'], { svm, bayes, priors }: Terms): Combined {
  const scale = Math.exp(factors[0]);
  const part = scale * Math.exp(factors[1]);
  const size = priors.length;
  const [all, some, shares] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  const probabilities = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
  for (let c = 0; c < size; c++) {
    const prior = priors[c] as number;
    if (prior === Number.NEGATIVE_INFINITY) continue;
    some[c] = part * (bayes[c] as number);
    all[c] = scale * (svm[c] as number) + (some[c] as number);
    shares[c] = prior;
    probabilities[c] = (all[c] as number) + factors[2] * prior;
  }
  softmax(probabilities);
  return { slopes: [all, some, shares], probabilities };
}

function addSlopes(
  { gradient, information }: { gradient: number[]; information: number[] },
  { slopes, probabilities }: Combined,
  classIndex: number,
): void {
  const { means, covariances } = momentsOf(probabilities, slopes);
  for (const [i, mean] of means.entries())
    gradient[i] = (gradient[i] as number) + mean - (slopes[i]?.[classIndex] as number);
  for (const [i, covariance] of fromTriangle(covariances).entries())
    information[i] = (information[i] as number) + covariance;
}
