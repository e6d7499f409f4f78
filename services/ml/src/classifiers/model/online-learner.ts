/**
 * The learner: naive Bayes on words and a sparse logistic regression on words and characters, blended and calibrated
 * on examples that the regression has not seen; while examples are few, an exact model in the regression's place. One
 * pass, one example at a time, with replay of earlier examples so that the order of training hardly matters. AdaGrad:
 * Duchi, Hazan, Singer, JMLR 12 (2011); smoothing after Jelinek and Mercer; reservoirs: Vitter, ACM TOMS 11 (1985).
 */

import { deserialize, serialize } from 'node:v8';
import { bestOf } from '../best-scores.ts';
import type { LearnerFactory } from '../classifier-state.ts';
import type { Learner, Score } from '../learner.ts';
import { Blend, type BlendState } from './ensemble.ts';
import { Tables, type TablesState } from './feature-table.ts';
import { extractFeatures, type Features } from './features.ts';
import type { ClassNumbers, Model } from './model.ts';
import { countExample } from './naive-bayes.ts';
import { stepRegression } from './regression.ts';
import { createMemory, type Kept, type Memory, type MemoryState } from './replay-buffer.ts';
import { FewExamples, type FewExamplesState } from './small-sample.ts';

const format = 8;
const replaysMin = 4;
const replaysMax = 12;
/**
 * Where examples come class by class, each of them pulls the same way, and it takes more earlier ones to hold against
 * it. So many, once a class came so often in a row that its share would bring it about with this chance at most: mixed
 * examples never do.
 */
const replaysInRun = 8;
const runChanceMax = 1e-6;
/** Features that the replays of one call may cost. */
const replayFeaturesMax = 4_000;
/** Held-out examples that one call calibrates with. */
const calibrations = 4;
/**
 * With fewer held out, as where classes are many, what comes is calibrated with, too, before it is learnt; not when its
 * class comes twice in a row, for if classes come one after the other, that of the last example is always right.
 */
const heldOutEnough = 50;
const calibratedFrom = 200;

/** Of an example that is kept: a row and a weight. */
const bytesPerFeature = 8;

interface State {
  format: number;
  tables: TablesState;
  classes: (ClassNumbers | null)[];
  examples: number;
  mass: number;
  blend: BlendState;
  memory: MemoryState;
  last: number;
  run: number;
  few: FewExamplesState | null;
}

export const learners: LearnerFactory = {
  create: () => new Classifier(),
  restore: (bytes) => Classifier.restore(bytes),
};

class Classifier implements Learner {
  readonly #model: Model = { tables: new Tables(), classes: [], examples: 0, mass: 0 };
  readonly #indexes = new Map<string, number>();
  #blend = new Blend();
  #memory: Memory = createMemory();
  /** The class index of the last example. */
  #last = -1;
  /** How often it has come in a row. */
  #run = 0;
  /** Absent once examples are many. */
  #few: FewExamples | undefined = new FewExamples();

  static restore(bytes: Uint8Array): Classifier {
    const state = deserialize(bytes) as State;
    if (state.format !== format) throw new Error('The snapshot is of another version.');
    const classifier = new Classifier();
    classifier.#model.tables = Tables.from(state.tables);
    classifier.#model.classes = state.classes;
    for (const [i, one] of state.classes.entries()) if (one !== null) classifier.#indexes.set(one.classId, i);
    classifier.#model.examples = state.examples;
    classifier.#model.mass = state.mass;
    classifier.#blend = new Blend(state.blend);
    classifier.#memory = createMemory(state.memory);
    classifier.#last = state.last;
    classifier.#run = state.run;
    classifier.#few = state.few === null ? undefined : new FewExamples(state.few);
    return classifier;
  }

  toBytes(): Uint8Array {
    const state: State = {
      format,
      tables: this.#model.tables.toState(),
      classes: this.#model.classes,
      examples: this.#model.examples,
      mass: this.#model.mass,
      blend: this.#blend.state,
      memory: this.#memory.state,
      last: this.#last,
      run: this.#run,
      few: this.#few?.toState() ?? null,
    };
    return serialize(state);
  }

  get size(): number {
    return this.#model.tables.size + bytesPerFeature * this.#memory.features + (this.#few?.size ?? 0);
  }

  learn(classId: string, text: string): Score | undefined {
    const features = extractFeatures(text);
    const best = this.#answer(this.#look(features), classId);
    const index = this.#indexOf(classId);
    this.#run = index === this.#last ? this.#run + 1 : 1;
    this.#last = index;
    const own = this.#model.classes[index] as ClassNumbers;
    own.examples++;
    this.#model.examples++;
    const kept = this.#keep(features, index);
    countExample(this.#model, kept, 1);
    if (this.#few?.add(this.#model, kept) === false) this.#few = undefined;
    const { learn } = this.#memory.add(kept, own.examples);
    for (const one of learn) stepRegression(this.#model, one);
    this.#replay(kept);
    this.#calibrate();
    return best;
  }

  predict(text: string, top = Number.POSITIVE_INFINITY): Score[] {
    if (this.#model.examples === 0) return [];
    return bestOf(this.#model, this.#probabilities(this.#look(extractFeatures(text))), top);
  }

  forget(classId: string): void {
    const index = this.#indexes.get(classId);
    const own = index === undefined ? undefined : this.#model.classes[index];
    if (index === undefined || !own) return;
    this.#model.tables.dropClass(index);
    this.#model.mass -= own.mass;
    this.#model.examples -= own.examples;
    this.#memory.drop(index);
    // To take examples out of it costs more than a call may; who forgets a class learns the others again anyway.
    this.#few = undefined;
    this.#indexes.delete(classId);
    this.#model.classes[index] = null;
  }

  /** The first of what would be predicted, before it is learnt what is right. */
  #answer(kept: Kept, rightId: string): Score | undefined {
    if (this.#model.examples === 0) return undefined;
    if (kept.rows.length === 0) return this.#best(this.#priors());
    if (this.#few !== undefined && this.#model.examples < calibratedFrom) {
      return this.#best(this.#few.predict(this.#model, kept));
    }
    const said = this.#blend.say(this.#model, kept, false);
    const best = this.#best(this.#few?.predict(this.#model, kept) ?? said.probabilities);
    const right = this.#indexes.get(rightId);
    if (right !== undefined && right !== this.#last && this.#memory.heldOut < heldOutEnough) {
      this.#blend.fit(this.#model, said, { classIndex: right, steps: calibrations });
    }
    return best;
  }

  #best(probabilities: Float64Array): Score | undefined {
    let best: Score | undefined;
    for (let i = 0; i < probabilities.length; i++) {
      const confidence = probabilities[i] as number;
      const classId = this.#model.classes[i]?.classId;
      if (classId === undefined || (best !== undefined && confidence < best.confidence)) continue;
      if (confidence !== best?.confidence || classId < best.classId) best = { classId, confidence };
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

  /** Rows for all features, made where there are none and the tables have room. */
  #keep(features: Features, classIndex: number): Kept {
    const { hashes, weights, words } = features;
    const rows = new Int32Array(hashes.length);
    for (let i = 0; i < hashes.length; i++) rows[i] = this.#model.tables.findOrAdd(hashes[i] as number);
    if (!this.#model.tables.isFull) return { rows, weights, words, classIndex };
    const known = this.#look(features);
    // Copies, for the arrays that it looked into are as long as the text.
    return { ...known, rows: known.rows.slice(), weights: known.weights.slice(), classIndex };
  }

  /** Rows of the features that are known. */
  #look({ hashes, weights, words }: Features): Kept {
    const rows = new Int32Array(hashes.length);
    const kept = new Float32Array(hashes.length);
    const strange = { words: 0, characters: 0 };
    let size = 0;
    let wordsKept = 0;
    for (let i = 0; i < hashes.length; i++) {
      const row = this.#model.tables.find(hashes[i] as number);
      if (row < 0) {
        strange[i < words ? 'words' : 'characters'] += (weights[i] as number) ** 2;
        continue;
      }
      rows[size] = row;
      kept[size++] = weights[i] as number;
      if (i < words) wordsKept = size;
    }
    return {
      rows: rows.subarray(0, size),
      weights: kept.subarray(0, size),
      words: wordsKept,
      classIndex: -1,
      strange,
    };
  }

  /** Earlier examples once more: many while there are few, fewer for long texts. */
  #replay({ rows, classIndex }: Kept): void {
    const { classes, examples } = this.#model;
    const share = (classes[classIndex] as ClassNumbers).examples / examples;
    const least = share ** this.#run > runChanceMax ? replaysMin : replaysInRun;
    const wanted = Math.max(least, Math.min(replaysMax, Math.floor(8_000 / examples)));
    const affordable = Math.max(1, Math.floor(replayFeaturesMax / Math.max(1, rows.length)));
    for (let i = Math.min(wanted, affordable); i > 0; i--) {
      const example = this.#memory.draw(i % 2 === 0);
      if (example !== undefined) stepRegression(this.#model, example);
    }
  }

  /** Fits the blend to a few examples that the regression has not seen and that naive Bayes leaves out. */
  #calibrate(): void {
    for (let i = 0; i < calibrations; i++) {
      const example = this.#memory.drawHeldOut();
      if (example === undefined) return;
      const own = this.#model.classes[example.classIndex] as ClassNumbers;
      own.examples--;
      this.#model.examples--;
      if (own.examples > 0) {
        const said = this.#blend.say(this.#model, example, true);
        this.#blend.fit(this.#model, said, { classIndex: example.classIndex, steps: 1 });
      }
      own.examples++;
      this.#model.examples++;
    }
  }

  /** A step, or one as long as several, towards the factors with which what was said would have been right. */
  #probabilities(kept: Kept): Float64Array {
    if (kept.rows.length === 0) return this.#priors();
    if (this.#few !== undefined) return this.#few.predict(this.#model, kept);
    return this.#blend.say(this.#model, kept, false).probabilities;
  }

  #priors(): Float64Array {
    const { classes, examples } = this.#model;
    return Float64Array.from(classes, (one) => (one === null ? 0 : one.examples / examples));
  }
}
