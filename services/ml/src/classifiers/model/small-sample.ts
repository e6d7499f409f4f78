/**
 * The model for small samples: a least-squares support vector machine on all examples, with a little naive Bayes. After
 * each example the machine is exact, while gradient descent would not have converged. No example has to be held out for
 * calibration, because both models compute their exact leave-one-out predictions. These also choose the weight of the
 * text vectors against the words themselves: there is one machine for each weight, and the best one predicts.
 */

import type { Pause } from '../../scheduling/time-slices.ts';
import { type Calibration, type CalibrationState, createCalibration, type Terms } from './calibration.ts';
import { dot, Kernel, type Similarities, type Support } from './kernel.ts';
import { LeastSquaresSvm } from './lssvm.ts';
import type { ClassNumbers, Model, VectorExample } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { tfIdf } from './regression.ts';

/** The cost of a call is quadratic in the number of examples. At this number, the regression is about as good. */
const examplesMax = 400;
/** The most features of all examples. Long texts reach this bound before `examplesMax`. */
const featuresMax = 250_000;
/**
 * Up to this number of examples, all inputs are computed again each time the number has doubled. The first examples say
 * little about which features are rare.
 */
const recomputedMax = 16;
/** The most examples that one call calibrates with, fewer if there are many classes, and the most words of them. */
const calibrationsMax = 32;
const calibratedClassesMax = 1_000;
const calibrationWordsMax = 8_000;
/** Weights of the text vectors against the words. If two predict equally well, the first is used. */
const denseWeights = [1, 0.5, 2, 4] as const;

/** Snapshots store it, so its members keep their names. */
export interface SmallSampleState {
  supports: Support[];
  /** One for each of `denseWeights`. */
  candidates: CandidateState[];
  /** The next example to calibrate with. */
  cursor: number;
}

interface CandidateState {
  calibration: CalibrationState;
  /** The last known log loss of each example when it is left out; NaN if there is none. */
  losses: Float64Array;
}

/** A model with one of the weights that the text vectors can have. */
interface Candidate {
  weight: number;
  svm: LeastSquaresSvm;
  calibration: Calibration;
  losses: Float64Array;
}

export class SmallSampleModel {
  readonly #supports: Support[] = [];
  #kernel = new Kernel();
  readonly #candidates: Candidate[];
  #features = 0;
  #cursor: number;
  /** The candidate that predicts until the next example. */
  #serving: Candidate | undefined;

  constructor(from?: Omit<SmallSampleState, 'supports'>) {
    this.#candidates = denseWeights.map((weight, i) => {
      const calibration = createCalibration(from?.candidates[i]?.calibration);
      const losses = new Float64Array(examplesMax).fill(Number.NaN);
      losses.set(from?.candidates[i]?.losses ?? []);
      return { weight, svm: new LeastSquaresSvm(), calibration, losses };
    });
    this.#cursor = from?.cursor ?? 0;
  }

  static async restore(state: SmallSampleState, pause: Pause): Promise<SmallSampleModel> {
    const model = new SmallSampleModel(state);
    for (const support of state.supports) {
      model.#addSupport(support);
      await pause();
    }
    return model;
  }

  /** In bytes. Each feature has an input here and an entry in the postings of the kernel. */
  get size(): number {
    let size = 16 * this.#features;
    for (const { vector } of this.#supports) size += vector.byteLength;
    for (const { svm } of this.#candidates) size += svm.size;
    return size;
  }

  toState(): SmallSampleState {
    return {
      supports: this.#supports,
      candidates: this.#candidates.map(({ calibration, losses }) => ({
        calibration: calibration.state,
        losses: losses.slice(0, this.#supports.length),
      })),
      cursor: this.#cursor,
    };
  }

  /** Adds an example that naive Bayes has counted. False once there are too many examples for this model. */
  add(model: Model, { example, vector }: VectorExample): boolean {
    const count = this.#supports.length + 1;
    if (count > examplesMax || this.#features + example.rows.length > featuresMax) return false;
    if (count <= recomputedMax && Number.isInteger(Math.log2(count))) this.#computeInputs(model);
    this.#addSupport({ kept: example, inputs: tfIdf(model, example), vector });
    this.#calibrate(model);
    this.#serving = undefined;
    return true;
  }

  /** Probabilities by class index. */
  predict(model: Model, { example, vector }: VectorExample): Float64Array {
    const size = model.classes.length;
    const svm = new Float64Array(size);
    const bayes = new Float64Array(size);
    this.#serving ??= this.#best();
    const best = this.#serving;
    const point = { rows: example.rows, inputs: tfIdf(model, example), vector };
    best.svm.score(weighted(this.#kernel.similarities(point), best.weight), svm);
    scoreBayes(model, example, bayes);
    const probabilities = best.calibration.probabilities({ svm, bayes, priors: logShares(model, 1) });
    return withDoubt(model, probabilities, this.#supports.length);
  }

  /** Returns the candidate with the least log loss over all examples, plus a prior that prefers weights near 1. */
  #best(): Candidate {
    let [best, least] = [this.#candidates[0] as Candidate, Number.POSITIVE_INFINITY];
    for (const candidate of this.#candidates) {
      let [sum, known] = [0, 0];
      for (let i = 0; i < this.#supports.length; i++) {
        const loss = candidate.losses[i] as number;
        if (Number.isNaN(loss)) continue;
        sum += loss;
        known++;
      }
      const mean = known === 0 ? 0 : sum / known;
      const total = this.#supports.length * mean + Math.log2(candidate.weight) ** 2;
      if (total < least) [best, least] = [candidate, total];
    }
    return best;
  }

  #addSupport(support: Support): void {
    const { kept, inputs, vector } = support;
    const point = { rows: kept.rows, inputs, vector };
    const similarities = this.#kernel.similarities(point);
    let self = 0;
    for (const input of inputs) self += input * input;
    const denseSelf = dot(vector, vector);
    for (const { svm, weight } of this.#candidates) {
      svm.add({
        similarities: weighted(similarities, weight),
        self: self + weight * denseSelf,
        classIndex: kept.classIndex,
      });
    }
    this.#kernel.add(point);
    this.#supports.push(support);
    this.#features += inputs.length;
  }

  #computeInputs(model: Model): void {
    const supports = this.#supports.splice(0);
    this.#kernel = new Kernel();
    this.#features = 0;
    for (const candidate of this.#candidates) candidate.svm = new LeastSquaresSvm();
    for (const { kept, vector } of supports) this.#addSupport({ kept, inputs: tfIdf(model, kept), vector });
  }

  /** Calibrates with the next examples in turn, so that all examples are used equally often. */
  #calibrate(model: Model): void {
    const batch: { at: number; bayes: Float64Array; classIndex: number }[] = [];
    const count = this.#supports.length;
    const affordable = Math.max(4, Math.floor(calibratedClassesMax / model.classes.length));
    const batchSize = Math.min(calibrationsMax, affordable, count);
    let [seen, words] = [0, 0];
    while (seen < batchSize && words < calibrationWordsMax) {
      const at = this.#cursor++ % count;
      const { kept } = this.#supports[at] as Support;
      seen++;
      words += kept.words;
      // If a class has one example, leaving it out leaves none. So such an example is skipped, and its class is left
      // out of calibration. Otherwise every example would favour the larger classes.
      if ((model.classes[kept.classIndex] as ClassNumbers).examples < 2) continue;
      const bayes = new Float64Array(model.classes.length);
      scoreBayesWithout(model, kept, bayes);
      batch.push({ at, bayes, classIndex: kept.classIndex });
    }
    const priors = logShares(model, 2);
    for (const { svm, calibration, losses } of this.#candidates) {
      const terms = batch.map(({ at, bayes, classIndex }) => ({
        terms: { svm: scoresWithout(model, svm, { at, classIndex }), bayes, priors } satisfies Terms,
        classIndex,
      }));
      const found = calibration.fit(terms, seen / count);
      for (const [i, { at }] of batch.entries()) losses[at] = found[i] as number;
    }
  }
}

/**
 * Mixes the probabilities with the class shares. If each of `count` examples was predicted correctly, a prediction is
 * still wrong with a probability of about 1/(2·count + 2) (the estimator of Krichevsky and Trofimov). The factors of the
 * calibration do not know this: if they predict all examples correctly, the best scale has no upper limit.
 */
function withDoubt(model: Model, probabilities: Float64Array, count: number): Float64Array {
  const doubt = 1 / (2 * count + 2);
  for (let c = 0; c < probabilities.length; c++) {
    const share = (model.classes[c]?.examples ?? 0) / model.examples;
    probabilities[c] = (1 - doubt) * (probabilities[c] as number) + doubt * share;
  }
  return probabilities;
}

function weighted({ sparse, dense }: Similarities, weight: number): Float64Array {
  const sum = new Float64Array(sparse.length);
  for (let i = 0; i < sum.length; i++) sum[i] = (sparse[i] as number) + weight * (dense[i] as number);
  return sum;
}

/**
 * Returns the leave-one-out scores of an example. The class shares still count the example, because a share without it
 * would reveal the class if there are few examples.
 */
function scoresWithout(
  { classes, examples }: Model,
  svm: LeastSquaresSvm,
  { at, classIndex }: { at: number; classIndex: number },
): Float64Array {
  const scores = new Float64Array(classes.length);
  svm.scoreWithout(at, scores);
  for (let c = 0; c < scores.length; c++) {
    const count = classes[c]?.examples ?? 0;
    const left = count - (c === classIndex ? 1 : 0);
    scores[c] = (scores[c] as number) + count / examples - left / (examples - 1);
  }
  return scores;
}

/** Logarithms of the class shares; minus infinity for a class with fewer than `least` examples. */
function logShares({ classes, examples }: Model, least: number): Float64Array {
  const shares = new Float64Array(classes.length).fill(Number.NEGATIVE_INFINITY);
  for (let c = 0; c < shares.length; c++) {
    const own = classes[c]?.examples ?? 0;
    if (own >= least) shares[c] = Math.log(own / examples);
  }
  return shares;
}
