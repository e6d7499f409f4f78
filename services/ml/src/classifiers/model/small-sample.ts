/**
 * The model while examples are few: a least-squares support vector machine on all of them, exact at once where steps of
 * descent would still be on their way, with a little naive Bayes. How sure it may be is calibrated without holding
 * anything out: both say exactly what they would of an example that they had not learnt.
 */

import { type Calibration, type CalibrationState, createCalibration, type Terms } from './calibration.ts';
import { LeastSquares, type Support } from './lssvm.ts';
import type { ClassNumbers, Model } from './model.ts';
import { scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { weigh } from './regression.ts';
import type { Kept } from './replay-buffer.ts';

/** A call costs the square of them; by then the regression is about as good. */
const fewExamplesMax = 400;
/** Their features together, so that long texts end it earlier. */
const featuresMax = 250_000;
/** Up to here all inputs are made anew when examples have doubled: the first know little of what is rare. */
const renewedMax = 16;
/** Examples that one call calibrates with, fewer where classes are many; and the words that these may have. */
const calibrationsMax = 32;
const calibratedClassesMax = 1_000;
const calibrationWordsMax = 8_000;

export interface FewExamplesState {
  supports: Support[];
  calibration: CalibrationState;
  /** The next example to calibrate with. */
  cursor: number;
}

export class FewExamples {
  #machine = new LeastSquares();
  readonly #calibration: Calibration;
  #features = 0;
  #cursor: number;

  constructor(from?: FewExamplesState) {
    for (const support of from?.supports ?? []) this.#hold(support);
    this.#calibration = createCalibration(from?.calibration);
    this.#cursor = from?.cursor ?? 0;
  }

  /** In bytes: each feature has an input here, and an entry in the machine's postings. */
  get size(): number {
    return 16 * this.#features;
  }

  toState(): FewExamplesState {
    return {
      supports: this.#machine.supports,
      calibration: this.#calibration.state,
      cursor: this.#cursor,
    };
  }

  /** Takes in an example that naive Bayes has counted; false when they are no longer few. */
  add(model: Model, kept: Kept): boolean {
    const count = this.#machine.supports.length + 1;
    if (count > fewExamplesMax || this.#features + kept.rows.length > featuresMax) return false;
    if (count <= renewedMax && Number.isInteger(Math.log2(count))) this.#renew(model);
    this.#hold({ kept, inputs: weigh(model, kept) });
    this.#calibrate(model);
    return true;
  }

  /** Probabilities by class index. */
  predict(model: Model, kept: Kept): Float64Array {
    const size = model.classes.length;
    const machine = new Float64Array(size);
    const bayes = new Float64Array(size);
    this.#machine.score(kept, weigh(model, kept), machine);
    scoreBayes(model, kept, bayes);
    return this.#calibration.probabilities({ machine, bayes, priors: logShares(model, 1) });
  }

  #hold(support: Support): void {
    this.#machine.add(support);
    this.#features += support.inputs.length;
  }

  #renew(model: Model): void {
    const { supports } = this.#machine;
    this.#machine = new LeastSquares();
    for (const { kept } of supports) this.#machine.add({ kept, inputs: weigh(model, kept) });
  }

  /** In turn, so that each example counts as often. */
  #calibrate(model: Model): void {
    const { supports } = this.#machine;
    const batch: { terms: Terms; classIndex: number }[] = [];
    const priors = logShares(model, 2);
    const affordable = Math.max(4, Math.floor(calibratedClassesMax / model.classes.length));
    const wanted = Math.min(calibrationsMax, affordable, supports.length);
    let [seen, words] = [0, 0];
    while (seen < wanted && words < calibrationWordsMax) {
      const at = this.#cursor++ % supports.length;
      const { kept } = supports[at] as Support;
      seen++;
      words += kept.words;
      // Of a class of which it is the only example nothing could be said; such classes are no rivals either, or all
      // would speak for those that have more.
      if ((model.classes[kept.classIndex] as ClassNumbers).examples < 2) continue;
      batch.push({ terms: { ...this.#termsWithout(model, at), priors }, classIndex: kept.classIndex });
    }
    this.#calibration.fit(batch, seen / supports.length);
  }

  /**
   * What is said of an example leaving it out. The shares of the classes stay as they are: with few examples, that a
   * class has one less would tell which it was.
   */
  #termsWithout(model: Model, at: number): Omit<Terms, 'priors'> {
    const { kept } = this.#machine.supports[at] as Support;
    const { classes, examples } = model;
    const machine = new Float64Array(classes.length);
    const bayes = new Float64Array(classes.length);
    this.#machine.scoreWithout(at, machine);
    for (let c = 0; c < machine.length; c++) {
      const count = classes[c]?.examples ?? 0;
      const left = count - (c === kept.classIndex ? 1 : 0);
      machine[c] = (machine[c] as number) + count / examples - left / (examples - 1);
    }
    scoreBayesWithout(model, kept, bayes);
    return { machine, bayes };
  }
}

/** Of the classes that have so many examples. */
function logShares({ classes, examples }: Model, least: number): Float64Array {
  const shares = new Float64Array(classes.length).fill(Number.NEGATIVE_INFINITY);
  for (let c = 0; c < shares.length; c++) {
    const own = classes[c]?.examples ?? 0;
    if (own >= least) shares[c] = Math.log(own / examples);
  }
  return shares;
}
