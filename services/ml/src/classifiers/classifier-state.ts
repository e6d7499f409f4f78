/** The state of one classifier: classes with their counts, learner, evaluation. It follows from the log of events alone. */

import { deserialize, serialize } from 'node:v8';
import type { EventDoc } from '../documents.ts';
import { inSlices, type NextSlice } from '../scheduling/time-slices.ts';
import { createEvaluation, type Evaluation, type EvaluationState } from './evaluation.ts';
import type { Learner, LearnerFactory, Score } from './learner.ts';

export interface ClassState {
  classId: string;
  label: string;
  observations: number;
}

/** A change of it, other than of `learner`, needs a new `format`. In format 2, `evaluation` has no figures by class. */
interface Snapshot {
  format: number;
  applied: number;
  updatedAt: number | null;
  classes: ClassState[];
  recent: [string, CallResult[]][];
  stale: boolean;
  evaluation: Partial<EvaluationState>;
  learner: Uint8Array;
}

export interface LabelledScore extends Score {
  label: string;
}

export interface Prediction {
  /** The best classes, most likely first. */
  scores: LabelledScore[];
  /** The sum of the scores of all other classes. */
  otherScore: number;
}

/** The result of training one example. */
export interface CallResult {
  classId: string;
  observations: number;
}

const format = 3;
const formatWithoutClassFigures = 2;
/** Train calls that are recognized when they are repeated, and their results. The last call always is. */
const recentMax = 1_000;
const recentResultsMax = 20_000;
const bytesPerResult = 64;
const bytesPerClass = 512;

export class ClassifierState {
  /** The number of the last event that was applied; 0 for none. */
  applied = 0;
  updatedAt: number | null = null;
  /**
   * A class was deleted, and its examples still influence what the learner knows of the others; or the state comes from an
   * old snapshot, and only the log tells the figures by class.
   */
  needsRebuild = false;
  readonly classes = new Map<string, ClassState>();
  readonly evaluation: Evaluation;
  readonly #byLabel = new Map<string, string>();
  readonly #recent: Map<string, CallResult[]>;
  #recentResults = 0;
  readonly #learner: Learner;
  /** Set during a rebuild: examples of all other classes are skipped. */
  #remainingClasses: Set<string> | undefined;

  constructor(learner: Learner, from?: Omit<Snapshot, 'learner' | 'format'>) {
    this.#learner = learner;
    this.evaluation = createEvaluation(from?.evaluation);
    this.#recent = new Map(from?.recent ?? []);
    this.#recentResults = countResults(this.#recent);
    if (from === undefined) return;
    this.applied = from.applied;
    this.updatedAt = from.updatedAt;
    this.needsRebuild = from.stale;
    for (const one of from.classes) this.#addClass(one);
  }

  /** An empty state that the log is applied to again, as if the deleted classes had never been trained. */
  static startRebuild(old: ClassifierState, learner: Learner): ClassifierState {
    const state = new ClassifierState(learner);
    state.#remainingClasses = new Set(old.classes.keys());
    for (const [eventId, results] of old.#recent) state.#recent.set(eventId, results);
    state.#recentResults = old.#recentResults;
    return state;
  }

  /** From here on, events can add classes. */
  endRebuild(): void {
    this.#remainingClasses = undefined;
  }

  /** Undefined if the bytes have another format. The log is then applied from its start. */
  static restore(bytes: Uint8Array, learners: LearnerFactory): ClassifierState | undefined {
    try {
      const snapshot = deserialize(bytes) as Snapshot;
      const isOld = snapshot.format === formatWithoutClassFigures;
      if (snapshot.format !== format && !isOld) return undefined;
      const stale = snapshot.stale || isOld;
      return new ClassifierState(learners.restore(snapshot.learner), { ...snapshot, stale });
    } catch {
      return undefined;
    }
  }

  /** Approximate memory in bytes. */
  get size(): number {
    const results = bytesPerResult * this.#recentResults;
    return this.#learner.size + this.evaluation.size + results + bytesPerClass * this.classes.size;
  }

  /** 1 before the first event. Every process computes the same, because it counts the events of the log. */
  get version(): number {
    return this.applied + 1;
  }

  toBytes(): Uint8Array {
    const snapshot: Snapshot = {
      format,
      applied: this.applied,
      updatedAt: this.updatedAt,
      classes: [...this.classes.values()],
      recent: [...this.#recent],
      stale: this.needsRebuild,
      evaluation: this.evaluation.state,
      learner: this.#learner.toBytes(),
    };
    return serialize(snapshot);
  }

  classIdOf(label: string): string | undefined {
    return this.#byLabel.get(label);
  }

  /** The results of the call with this event id, if it is one of the recent calls. */
  resultOf(eventId: string): CallResult[] | undefined {
    return this.#recent.get(eventId);
  }

  predict(text: string, top: number): Prediction {
    const scores = this.#learner
      .predict(text, top)
      .map((score) => ({ ...score, label: this.classes.get(score.classId)?.label ?? '' }));
    if (scores.length >= this.classes.size) return { scores, otherScore: 0 };
    const sum = scores.reduce((total, { confidence }) => total + confidence, 0);
    return { scores, otherScore: Math.max(0, 1 - sum) };
  }

  /** Applies the next event, in time slices. */
  async apply(event: EventDoc, number: number, next: NextSlice): Promise<void> {
    for (const { classId, label } of event.newClasses ?? [])
      this.#addClass({ classId, label, observations: 0 });
    const { deletedClassId } = event;
    if (deletedClassId !== undefined) this.#deleteClass(deletedClassId);
    for (const { eventId, examples } of event.calls ?? []) {
      this.#recordResults(eventId, await this.#learnAll(examples, next));
    }
    this.updatedAt = event.at;
    this.applied = number;
  }

  async #learnAll(examples: { classId: string; text: string }[], next: NextSlice): Promise<CallResult[]> {
    const results: CallResult[] = [];
    await inSlices(examples, next, ({ classId, text }) => {
      results.push({ classId, observations: this.#learn(classId, text) });
    });
    return results;
  }

  #learn(classId: string, text: string): number {
    const known = this.classes.get(classId);
    // An earlier event has deleted the class.
    if (known === undefined) return 0;
    const best = this.#learner.learn(classId, text);
    if (best !== undefined) this.evaluation.record(classId, best);
    known.observations += 1;
    return known.observations;
  }

  #addClass(added: ClassState): void {
    if (this.#remainingClasses !== undefined && !this.#remainingClasses.has(added.classId)) return;
    this.classes.set(added.classId, { ...added });
    this.#byLabel.set(added.label, added.classId);
  }

  #deleteClass(classId: string): void {
    const known = this.classes.get(classId);
    if (known === undefined) return;
    this.classes.delete(classId);
    this.#byLabel.delete(known.label);
    this.#learner.forget(classId);
    this.evaluation.forget(classId);
    this.needsRebuild = true;
  }

  #recordResults(eventId: string, results: CallResult[]): void {
    // During a rebuild, the recent results are those of the first run.
    if (this.#remainingClasses !== undefined && this.#recent.has(eventId)) return;
    this.#recent.set(eventId, results);
    this.#recentResults += results.length;
    for (const [oldest, { length }] of this.#recent) {
      const isFull = this.#recent.size > recentMax || this.#recentResults > recentResultsMax;
      if (!isFull || this.#recent.size === 1) return;
      this.#recent.delete(oldest);
      this.#recentResults -= length;
    }
  }
}

function countResults(recent: Map<string, CallResult[]>): number {
  let count = 0;
  for (const { length } of recent.values()) count += length;
  return count;
}
