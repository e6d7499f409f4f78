/**
 * The learner: naive Bayes on words and a sparse logistic regression on words and characters, blended and calibrated
 * on examples that the regression has not seen; while examples are few, an exact model in the regression's place. One
 * pass, one example at a time, with replay of earlier examples so that the order of training hardly matters. AdaGrad:
 * Duchi, Hazan, Singer, JMLR 12 (2011); smoothing after Jelinek and Mercer; reservoirs: Vitter, ACM TOMS 11 (1985).
 */

import { deserialize, serialize } from 'node:v8';
import { extractFeatures, type Features } from './features.ts';
import { FewExamples, type FewExamplesState } from './few-examples.ts';
import type { Learner, Score } from './learner.ts';
import { createMemory, type Kept, type Memory, type MemoryState } from './memory.ts';
import { type ClassNumbers, type Model, softmax } from './model.ts';
import { countExample, scoreBayes, scoreBayesWithout } from './naive-bayes.ts';
import { scoreRegression, stepRegression, toInputs } from './regression.ts';
import type { LearnerFactory } from './replica-state.ts';
import { Tables, type TablesState } from './tables.ts';

const format = 4;
const replaysMin = 4;
const replaysMax = 32;
/** Features that the replays of one call may cost. */
const replayFeaturesMax = 4_000;
/** Held-out examples that one call calibrates with, and how far each moves the factors. */
const calibrations = 4;
const calibrationRate = 0.004;
/** Bounds of the two factors. */
const bounds = { a: [0.1, 9], b: [0.02, 2.7] } as const;

interface State {
  format: number;
  tables: TablesState;
  classes: (ClassNumbers | null)[];
  examples: number;
  mass: number;
  blend: [number, number, number, number];
  memory: MemoryState;
  few: FewExamplesState | null;
}

export const learners: LearnerFactory = {
  create: () => new Blend(),
  restore: (bytes) => Blend.restore(bytes),
};

class Blend implements Learner {
  readonly #model: Model = { tables: new Tables(), classes: [], examples: 0, mass: 0 };
  readonly #indexes = new Map<string, number>();
  /** ln a, ln b and their running squared gradients. */
  #blend: [number, number, number, number] = [Math.log(2), Math.log(0.15), 0, 0];
  #memory: Memory = createMemory();
  /** Absent once examples are many. */
  #few: FewExamples | undefined = new FewExamples();

  static restore(bytes: Uint8Array): Blend {
    const state = deserialize(bytes) as State;
    if (state.format !== format) throw new Error('The snapshot is of another version.');
    const blend = new Blend();
    blend.#model.tables = Tables.from(state.tables);
    blend.#model.classes = state.classes;
    for (const [i, one] of state.classes.entries()) if (one !== null) blend.#indexes.set(one.classId, i);
    blend.#model.examples = state.examples;
    blend.#model.mass = state.mass;
    blend.#blend = state.blend;
    blend.#memory = createMemory(state.memory);
    blend.#few = state.few === null ? undefined : new FewExamples(state.few);
    return blend;
  }

  toBytes(): Uint8Array {
    const state: State = {
      format,
      tables: this.#model.tables.toState(),
      classes: this.#model.classes,
      examples: this.#model.examples,
      mass: this.#model.mass,
      blend: this.#blend,
      memory: this.#memory.state,
      few: this.#few?.toState() ?? null,
    };
    return serialize(state);
  }

  learn(classId: string, text: string): Score | undefined {
    const features = extractFeatures(text);
    const best = this.#bestOf(features);
    const index = this.#indexOf(classId);
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

  predict(text: string): Score[] {
    if (this.#model.examples === 0) return [];
    const probabilities = this.#probabilities(this.#look(extractFeatures(text)));
    const scores: Score[] = [];
    for (const [i, one] of this.#model.classes.entries()) {
      if (one !== null) scores.push({ classId: one.classId, confidence: probabilities[i] as number });
    }
    return scores.sort((x, y) => y.confidence - x.confidence || (x.classId < y.classId ? -1 : 1));
  }

  forget(classId: string): void {
    const index = this.#indexes.get(classId);
    const own = index === undefined ? undefined : this.#model.classes[index];
    if (index === undefined || !own) return;
    this.#model.mass -= this.#model.tables.dropClass(index);
    this.#model.examples -= own.examples;
    this.#memory.drop(index);
    // To take examples out of it costs more than a call may; who forgets a class learns the others again anyway.
    this.#few = undefined;
    this.#indexes.delete(classId);
    this.#model.classes[index] = null;
  }

  /** The first of what would be predicted. */
  #bestOf(features: Features): Score | undefined {
    if (this.#model.examples === 0) return undefined;
    const probabilities = this.#probabilities(this.#look(features));
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

  /** Rows for all features, made where there are none. */
  #keep({ hashes, weights, words }: Features, classIndex: number): Kept {
    const rows = new Int32Array(hashes.length);
    for (let i = 0; i < hashes.length; i++) rows[i] = this.#model.tables.findOrAdd(hashes[i] as number);
    return { rows, weights, words, classIndex };
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
  #replay({ rows }: Kept): void {
    const wanted = Math.max(replaysMin, Math.min(replaysMax, Math.floor(8_000 / this.#model.examples)));
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
      if (own.examples > 0) this.#fit(example);
      own.examples++;
      this.#model.examples++;
    }
  }

  #fit(example: Kept): void {
    const trust = this.#trust();
    const { z, parts } = this.#blended(example, true);
    softmax(z);
    let [slopeA, slopeB] = [0, 0];
    for (let c = 0; c < z.length; c++) {
      if (this.#model.classes[c] === null) continue;
      const gradient = (z[c] as number) - (c === example.classIndex ? 1 : 0);
      slopeA += gradient * (parts.regression[c] as number);
      slopeB += gradient * (parts.bayes[c] as number);
    }
    this.#blend[0] = this.#move(0, slopeA * trust * Math.exp(this.#blend[0]), bounds.a);
    this.#blend[1] = this.#move(1, slopeB * trust * Math.exp(this.#blend[1]), bounds.b);
  }

  /** RMSProp on the logarithm of a factor. */
  #move(which: 0 | 1, slope: number, [least, most]: readonly [number, number]): number {
    const memory = which === 0 ? 2 : 3;
    const squares = 0.99 * this.#blend[memory] + 0.01 * slope * slope;
    this.#blend[memory] = squares;
    const moved = this.#blend[which] - (calibrationRate * slope) / (Math.sqrt(squares) + 1e-6);
    return Math.min(Math.log(most), Math.max(Math.log(least), moved));
  }

  /** What both halves say, and together; of an example that was counted, as if it had not been. */
  #blended(
    kept: Kept,
    counted: boolean,
  ): { z: Float64Array; parts: { regression: Float64Array; bayes: Float64Array } } {
    const size = this.#model.classes.length;
    const regression = new Float64Array(size);
    const bayes = new Float64Array(size);
    const inputs = toInputs(this.#model, kept, counted ? 1 : 0);
    scoreRegression(this.#model, { rows: kept.rows, inputs }, regression);
    if (counted) scoreBayesWithout(this.#model, kept, bayes);
    else scoreBayes(this.#model, kept, bayes);
    const trust = this.#trust();
    const [a, b] = [trust * Math.exp(this.#blend[0]), trust * Math.exp(this.#blend[1])];
    const z = new Float64Array(size);
    for (let c = 0; c < size; c++) {
      // Only differences count; a common zero keeps the factors' gradients small.
      z[c] =
        this.#model.classes[c] === null
          ? Number.NEGATIVE_INFINITY
          : a * (regression[c] as number) + b * (bayes[c] as number);
    }
    return { z, parts: { regression, bayes } };
  }

  /** Few examples a class make both halves surer than they should be, the more so the fewer classes there are. */
  #trust(): number {
    const classes = this.#indexes.size;
    const mean = this.#model.examples / Math.max(1, classes);
    return mean / (mean + Math.min(4, 24 / Math.max(1, classes)));
  }

  #probabilities(kept: Kept): Float64Array {
    if (kept.rows.length === 0) return this.#priors();
    if (this.#few !== undefined) return this.#few.predict(this.#model, kept);
    const { z } = this.#blended(kept, false);
    softmax(z);
    return z;
  }

  #priors(): Float64Array {
    const { classes, examples } = this.#model;
    return Float64Array.from(classes, (one) => (one === null ? 0 : one.examples / examples));
  }
}
