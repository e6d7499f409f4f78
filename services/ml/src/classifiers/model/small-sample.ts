/**
 * The model for small samples: a least-squares support vector machine on all examples, with a little naive Bayes. The
 * machine is exact after each example, where gradient descent would still be converging. No example has to be held out for
 * calibration, because both models know their exact leave-one-out predictions.
 */

import { type Calibration, type CalibrationState, createCalibration, type Terms } from './calibration.ts';
import { LeastSquaresSvm, type Support } from './lssvm.ts';
import type { ClassNumbers, EncodedExample, Model } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { tfIdf } from './regression.ts';

/** The cost of a call grows with their square. With so many, the regression is about as good. */
const examplesMax = 400;
/** Features of all examples. Long texts reach this bound first. */
const featuresMax = 250_000;
/**
 * Up to here, all inputs are computed again each time the examples have doubled: those of the first examples say little
 * about which features are rare.
 */
const recomputedMax = 16;
/** Examples that one call calibrates with, fewer if there are many classes; and the words of these examples. */
const calibrationsMax = 32;
const calibratedClassesMax = 1_000;
const calibrationWordsMax = 8_000;

/** Snapshots store it, so its members keep their names. */
export interface SmallSampleState {
  supports: Support[];
  calibration: CalibrationState;
  /** The next example to calibrate with. */
  cursor: number;
}

export class SmallSampleModel {
  #svm = new LeastSquaresSvm();
  readonly #calibration: Calibration;
  #features = 0;
  #cursor: number;

  constructor(from?: SmallSampleState) {
    for (const support of from?.supports ?? []) this.#addSupport(support);
    this.#calibration = createCalibration(from?.calibration);
    this.#cursor = from?.cursor ?? 0;
  }

  /** In bytes. Each feature has an input here and an entry in the postings of the machine. */
  get size(): number {
    return 16 * this.#features;
  }

  toState(): SmallSampleState {
    return {
      supports: this.#svm.supports,
      calibration: this.#calibration.state,
      cursor: this.#cursor,
    };
  }

  /** Adds an example that naive Bayes has counted. False once there are too many examples for this model. */
  add(model: Model, example: EncodedExample): boolean {
    const count = this.#svm.supports.length + 1;
    if (count > examplesMax || this.#features + example.rows.length > featuresMax) return false;
    if (count <= recomputedMax && Number.isInteger(Math.log2(count))) this.#computeInputs(model);
    this.#addSupport({ kept: example, inputs: tfIdf(model, example) });
    this.#calibrate(model);
    return true;
  }

  /** Probabilities by class index. */
  predict(model: Model, example: EncodedExample): Float64Array {
    const size = model.classes.length;
    const svm = new Float64Array(size);
    const bayes = new Float64Array(size);
    this.#svm.score(example, tfIdf(model, example), svm);
    scoreBayes(model, example, bayes);
    return this.#calibration.probabilities({ svm, bayes, priors: logShares(model, 1) });
  }

  #addSupport(support: Support): void {
    this.#svm.add(support);
    this.#features += support.inputs.length;
  }

  #computeInputs(model: Model): void {
    const { supports } = this.#svm;
    this.#svm = new LeastSquaresSvm();
    for (const { kept } of supports) this.#svm.add({ kept, inputs: tfIdf(model, kept) });
  }

  /** Takes the examples in turn, so all of them count equally often. */
  #calibrate(model: Model): void {
    const { supports } = this.#svm;
    const batch: { terms: Terms; classIndex: number }[] = [];
    const priors = logShares(model, 2);
    const affordable = Math.max(4, Math.floor(calibratedClassesMax / model.classes.length));
    const batchSize = Math.min(calibrationsMax, affordable, supports.length);
    let [seen, words] = [0, 0];
    while (seen < batchSize && words < calibrationWordsMax) {
      const at = this.#cursor++ % supports.length;
      const { kept } = supports[at] as Support;
      seen++;
      words += kept.words;
      // A class with one example has none left when it is left out. Such classes do not compete in calibration either:
      // every example would then favour the larger classes.
      if ((model.classes[kept.classIndex] as ClassNumbers).examples < 2) continue;
      batch.push({ terms: { ...this.#termsWithout(model, at), priors }, classIndex: kept.classIndex });
    }
    this.#calibration.fit(batch, seen / supports.length);
  }

  /**
   * The leave-one-out terms of an example. The class shares still count it: with few examples, a share that is smaller by
   * one example would give away the class.
   */
  #termsWithout(model: Model, at: number): Omit<Terms, 'priors'> {
    const { kept } = this.#svm.supports[at] as Support;
    const { classes, examples } = model;
    const svm = new Float64Array(classes.length);
    const bayes = new Float64Array(classes.length);
    this.#svm.scoreWithout(at, svm);
    for (let c = 0; c < svm.length; c++) {
      const count = classes[c]?.examples ?? 0;
      const left = count - (c === kept.classIndex ? 1 : 0);
      svm[c] = (svm[c] as number) + count / examples - left / (examples - 1);
    }
    scoreBayesWithout(model, kept, bayes);
    return { svm, bayes };
  }
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
