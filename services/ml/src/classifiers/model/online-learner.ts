/**
 * The learner combines naive Bayes on words, a sparse logistic regression on words and character n-grams, and a ridge
 * regression on the vectors of English and Chinese texts. Their ensemble is calibrated on examples that the regression
 * has not learnt. While there are few examples, an exact model replaces the regression. Training is one pass, one example
 * at a time. Earlier examples are replayed, so the order of training hardly matters.
 */

import { readCharactersMax } from '@datahub/contract/limits';
import { withoutExcessMarks } from '@datahub/service-kit/normalized';
import { createTextVectors, type TextVectors } from '@datahub/word-vectors/text-vectors';
import type { Pause } from '../../scheduling/time-slices.ts';
import type { Learner, LearnerFactory, Score } from '../learner.ts';
import { DenseRegression, type DenseRegressionState } from './dense-regression.ts';
import { Ensemble, type EnsembleState } from './ensemble.ts';
import { FeatureTable, type FeatureTableState } from './feature-table.ts';
import { extractFeatures, type Features } from './features.ts';
import { simplifyText } from './fold.ts';
import {
  bestScore,
  bestScores,
  type ClassNumbers,
  type EncodedExample,
  type Model,
  type VectorExample,
} from './model.ts';
import { countExample } from './naive-bayes.ts';
import { stepRegression } from './regression.ts';
import { ReplayBuffer, type ReplayBufferState } from './replay-buffer.ts';
import { SmallSampleModel, type SmallSampleState } from './small-sample.ts';

/** Of a classifier with few classes, and of one with many. */
const formats = { few: 18, many: 19 };
/**
 * The cost of a prediction grows with the number of classes, and so would that of an example. With more classes than this,
 * only a share of the examples is predicted before it is learnt, and fewer examples are replayed.
 */
const manyClasses = 1_000;
const replaysMin = 4;
const replaysMax = 12;
/**
 * The number of replays per example while the examples arrive sorted by class. Sorted examples all change the weights
 * in the same direction, so more earlier ones are needed to balance them. Examples count as sorted if the run of one
 * class is so long that its probability in random order is at most `runChanceMax`.
 */
const replaysInRun = 8;
const runChanceMax = 1e-6;
/** The most features of all replays of one call. */
const replayFeaturesMax = 4_000;
/** The number of held-out examples that one call calibrates with. */
const calibrations = 4;
/**
 * A new example calibrates the ensemble before it is learnt: with `alone` steps as long as there are fewer held-out
 * examples than `heldOutEnough`, for instance because there are many classes. An example of the same class as the one
 * before is skipped: in sorted examples it is always predicted correctly, which would make the ensemble overconfident.
 */
const newSteps = { alone: calibrations, beside: 2 };
const heldOutEnough = 50;
const calibratedFrom = 200;

const noVector = new Float32Array(0);

/** The content of a snapshot. A change needs a new `format`: hubs then learn each log again. */
interface State {
  format: number;
  tables: FeatureTableState;
  dense: DenseRegressionState | null;
  classes: (ClassNumbers | null)[];
  examples: number;
  mass: number;
  blend: EnsembleState;
  memory: ReplayBufferState;
  last: number;
  run: number;
  few: SmallSampleState | null;
}

/** The learners share the word vectors, which are loaded with the first one that needs them. */
export function createLearners(): LearnerFactory {
  const toVector = createTextVectors();
  return {
    create: () => new OnlineLearner(toVector),
    restore: (state, pause) => OnlineLearner.restore(state as State, toVector, pause),
  };
}

class OnlineLearner implements Learner {
  readonly #model: Model = {
    table: new FeatureTable(),
    dense: new DenseRegression(),
    classes: [],
    examples: 0,
    mass: 0,
  };
  readonly #indexes = new Map<string, number>();
  #ensemble = new Ensemble();
  #replayBuffer = new ReplayBuffer();
  /** The class index of the last example. */
  #lastIndex = -1;
  /** The number of consecutive examples of this class. */
  #runLength = 0;
  /** Undefined once there are many examples. */
  #smallSample: SmallSampleModel | undefined = new SmallSampleModel();

  readonly #toVector: TextVectors;

  constructor(toVector: TextVectors) {
    this.#toVector = toVector;
  }

  static async restore(state: State, toVector: TextVectors, pause: Pause): Promise<OnlineLearner> {
    if (state.format !== formatOf(state.classes)) throw new Error('The snapshot has another format.');
    const learner = new OnlineLearner(toVector);
    learner.#model.table = await FeatureTable.from(state.tables, pause);
    learner.#model.dense = DenseRegression.from(state.dense);
    learner.#model.classes = state.classes;
    for (const [i, one] of state.classes.entries()) if (one !== null) learner.#indexes.set(one.classId, i);
    learner.#model.examples = state.examples;
    learner.#model.mass = state.mass;
    learner.#ensemble = new Ensemble(state.blend);
    learner.#replayBuffer = new ReplayBuffer(state.memory);
    learner.#lastIndex = state.last;
    learner.#runLength = state.run;
    learner.#smallSample = state.few === null ? undefined : await SmallSampleModel.restore(state.few, pause);
    return learner;
  }

  async toState(pause: Pause): Promise<State> {
    return {
      format: formatOf(this.#model.classes),
      tables: await this.#model.table.toState(pause),
      dense: this.#model.dense.toState(),
      classes: this.#model.classes,
      examples: this.#model.examples,
      mass: this.#model.mass,
      blend: this.#ensemble.state,
      memory: this.#replayBuffer.state,
      last: this.#lastIndex,
      run: this.#runLength,
      few: this.#smallSample?.toState() ?? null,
    };
  }

  get size(): number {
    const { table, dense } = this.#model;
    return table.size + dense.size + this.#replayBuffer.size + (this.#smallSample?.size ?? 0);
  }

  learn(classId: string, text: string): Score | undefined {
    const steps = this.learnInSteps(classId, text);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  }

  *learnInSteps(classId: string, text: string): Generator<void, Score | undefined> {
    const features = extractFeatures(text);
    yield;
    const vector = this.#vectorOf(text);
    yield;
    const isSampled = this.#isSampled();
    const best = isSampled
      ? this.#predictBefore({ example: this.#encodeKnown(features), vector }, classId)
      : undefined;
    yield;
    const index = this.#indexOf(classId);
    this.#runLength = index === this.#lastIndex ? this.#runLength + 1 : 1;
    this.#lastIndex = index;
    const own = this.#model.classes[index] as ClassNumbers;
    own.examples++;
    this.#model.examples++;
    const example = this.#encode(features, index);
    yield;
    countExample(this.#model, example, 1);
    yield;
    this.#model.dense.add(vector, index);
    if (this.#smallSample?.add(this.#model, { example, vector }) === false) this.#smallSample = undefined;
    yield;
    for (const one of this.#replayBuffer.add({ example, vector }, own.examples)) {
      stepRegression(this.#model, one);
      yield;
    }
    yield* this.#replay(example);
    if (isSampled) yield* this.#calibrate();
    return best;
  }

  predict(text: string, top = Number.POSITIVE_INFINITY): Score[] {
    if (this.#model.examples === 0) return [];
    const example = this.#encodeKnown(extractFeatures(text));
    return bestScores(this.#model, this.#probabilities({ example, vector: this.#vectorOf(text) }), top);
  }

  async forget(classId: string, pause: Pause): Promise<void> {
    const index = this.#indexes.get(classId);
    const own = index === undefined ? undefined : this.#model.classes[index];
    if (index === undefined || !own) return;
    await this.#model.table.dropClass(index, pause);
    this.#model.dense.dropClass(index);
    this.#model.mass -= own.mass;
    this.#model.examples -= own.examples;
    this.#replayBuffer.drop(index);
    // Removing the examples of the class one by one would take too long. The log is learnt again soon anyway.
    this.#smallSample = undefined;
    this.#indexes.delete(classId);
    this.#model.classes[index] = null;
  }

  /** The text vector; empty if nothing uses it. */
  #vectorOf(text: string): Float32Array {
    return this.#smallSample === undefined && this.#model.dense.isOver
      ? noVector
      : this.#toVector(simplifyText(withoutExcessMarks(text.slice(0, readCharactersMax))));
  }

  /** True for all examples while there are few classes. The multiples of an irrational number are spread evenly. */
  #isSampled(): boolean {
    const { classes, examples } = this.#model;
    if (classes.length <= manyClasses) return true;
    return (Math.imul(examples, 0x9e3779b1) >>> 0) / 2 ** 32 < manyClasses / classes.length;
  }

  /** Predicts the best class before the example is learnt, and calibrates the ensemble with the example. */
  #predictBefore(point: VectorExample, classId: string): Score | undefined {
    if (this.#model.examples === 0) return undefined;
    if (point.example.rows.length === 0) return bestScore(this.#model, this.#priors());
    if (this.#smallSample !== undefined && this.#model.examples < calibratedFrom) {
      return bestScore(this.#model, this.#smallSample.predict(this.#model, point));
    }
    const scores = this.#ensemble.score(this.#model, point, false);
    const probabilities =
      this.#smallSample?.predict(this.#model, point) ?? this.#ensemble.predict(this.#model, scores);
    const best = bestScore(this.#model, probabilities);
    const classIndex = this.#indexes.get(classId);
    const isRepeated = classIndex === this.#lastIndex;
    if (classIndex !== undefined && !isRepeated) {
      const steps = newSteps[this.#replayBuffer.heldOutCount < heldOutEnough ? 'alone' : 'beside'];
      this.#ensemble.fit(this.#model, scores, { classIndex, steps });
    }
    return best;
  }

  #indexOf(classId: string): number {
    const known = this.#indexes.get(classId);
    if (known !== undefined) return known;
    const free = this.#model.classes.indexOf(null);
    const index = free < 0 ? this.#model.classes.length : free;
    this.#model.classes[index] = { classId, examples: 0, mass: 0, bias: 0, biasGradient: 0 };
    this.#indexes.set(classId, index);
    return index;
  }

  /** Adds rows for new features while the table has room. */
  #encode(features: Features, classIndex: number): EncodedExample {
    const { hashes, weights, words } = features;
    const rows = new Int32Array(hashes.length);
    for (let i = 0; i < hashes.length; i++) rows[i] = this.#model.table.findOrAdd(hashes[i] as number);
    if (!this.#model.table.isFull) return { rows, weights, words, classIndex };
    const known = this.#encodeKnown(features);
    // The views are copied, because they would keep the buffers of the whole text in memory.
    return { ...known, rows: known.rows.slice(), weights: known.weights.slice(), classIndex };
  }

  /** Encodes the features that have a row, and adds up the squared weights of the others. */
  #encodeKnown({ hashes, weights, words }: Features): EncodedExample {
    const rows = new Int32Array(hashes.length);
    const known = new Float32Array(hashes.length);
    const strange = { words: 0, characters: 0 };
    let size = 0;
    let knownWords = 0;
    for (let i = 0; i < hashes.length; i++) {
      const row = this.#model.table.find(hashes[i] as number);
      if (row < 0) {
        strange[i < words ? 'words' : 'characters'] += (weights[i] as number) ** 2;
        continue;
      }
      rows[size] = row;
      known[size++] = weights[i] as number;
      if (i < words) knownWords = size;
    }
    return {
      rows: rows.subarray(0, size),
      weights: known.subarray(0, size),
      words: knownWords,
      classIndex: -1,
      strange,
    };
  }

  /** Learns earlier examples again: more while there are few examples, fewer after a long text. */
  *#replay({ rows, classIndex }: EncodedExample): Generator<void, void> {
    const { classes, examples } = this.#model;
    const ofClass = (classes[classIndex] as ClassNumbers).examples / examples;
    const least = ofClass ** this.#runLength > runChanceMax ? replaysMin : replaysInRun;
    const wanted = Math.max(least, Math.min(replaysMax, Math.floor(8_000 / examples)));
    const affordable = Math.max(1, Math.floor(replayFeaturesMax / Math.max(1, rows.length)));
    const share = Math.min(1, manyClasses / classes.length);
    for (let i = Math.max(1, Math.floor(share * Math.min(wanted, affordable))); i > 0; i--) {
      const example = this.#replayBuffer.draw(i % 2 === 0);
      if (example !== undefined) stepRegression(this.#model, example);
      yield;
    }
  }

  /** Fits the ensemble to a few held-out examples. */
  *#calibrate(): Generator<void, void> {
    for (let i = 0; i < calibrations; i++) {
      const point = this.#replayBuffer.drawHeldOut();
      if (point === undefined) return;
      const { classIndex } = point.example;
      const own = this.#model.classes[classIndex] as ClassNumbers;
      own.examples--;
      this.#model.examples--;
      if (own.examples > 0) {
        const scores = this.#ensemble.score(this.#model, point, true);
        this.#ensemble.fit(this.#model, scores, { classIndex, steps: 1 });
      }
      own.examples++;
      this.#model.examples++;
      yield;
    }
  }

  #probabilities(point: VectorExample): Float64Array {
    if (point.example.rows.length === 0) return this.#priors();
    if (this.#smallSample !== undefined) return this.#smallSample.predict(this.#model, point);
    return this.#ensemble.predict(this.#model, this.#ensemble.score(this.#model, point, false));
  }

  #priors(): Float64Array {
    const { classes, examples } = this.#model;
    const priors = new Float64Array(classes.length);
    for (let i = 0; i < priors.length; i++) priors[i] = (classes[i]?.examples ?? 0) / examples;
    return priors;
  }
}

const formatOf = ({ length }: readonly unknown[]) => (length > manyClasses ? formats.many : formats.few);
