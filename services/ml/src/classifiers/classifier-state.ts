/** One classifier in memory: classes and counts, the learner, the evaluation; all of it made from the log alone. */

import { deserialize, serialize } from 'node:v8';
import type { EventDoc } from '../documents.ts';
import { inSlices, type NextSlice } from '../scheduling/slices.ts';
import { createEvaluation, type Evaluation, type EvaluationState } from './evaluation.ts';
import type { Learner, LearnerFactory, Score } from './learner.ts';

export interface ClassState {
  classId: string;
  label: string;
  observations: number;
}

interface Snapshot {
  format: number;
  applied: number;
  updatedAt: number | null;
  classes: ClassState[];
  recent: [string, CallResult[]][];
  stale: boolean;
  evaluation: EvaluationState;
  learner: Uint8Array;
}

export interface LabelledScore extends Score {
  label: string;
}

export interface Prediction {
  /** The best classes, most likely first. */
  scores: LabelledScore[];
  /** What the other classes have together. */
  otherScore: number;
}

/** What a train call answers for each of its examples. */
export interface CallResult {
  classId: string;
  observations: number;
}

const format = 2;
/** Train calls remembered by their event id, and their results together; the last call is always remembered. */
const recentMax = 1_000;
const recentResultsMax = 20_000;
const bytesPerResult = 64;
const bytesPerClass = 512;

export class ReplicaState {
  /** The number of the last event that is in here; 0 for none. */
  applied = 0;
  updatedAt: number | null = null;
  /** A class was deleted: what the learner knows of the others still shows that it had been there. */
  stale = false;
  readonly classes = new Map<string, ClassState>();
  readonly evaluation: Evaluation;
  readonly #byLabel = new Map<string, string>();
  readonly #recent: Map<string, CallResult[]>;
  #recentResults = 0;
  readonly #learner: Learner;
  /** While set, classes beside these are passed over. */
  #only: Set<string> | undefined;

  constructor(learner: Learner, from?: Omit<Snapshot, 'learner' | 'format'>) {
    this.#learner = learner;
    this.evaluation = createEvaluation(from?.evaluation);
    this.#recent = new Map(from?.recent ?? []);
    this.#recentResults = countResults(this.#recent);
    if (from === undefined) return;
    this.applied = from.applied;
    this.updatedAt = from.updatedAt;
    this.stale = from.stale;
    for (const one of from.classes) this.#addClass(one);
  }

  /** An empty state to be filled from the log again, in which deleted classes were never there. */
  static successor(of: ReplicaState, learner: Learner): ReplicaState {
    const state = new ReplicaState(learner);
    state.#only = new Set(of.classes.keys());
    for (const [eventId, results] of of.#recent) state.#recent.set(eventId, results);
    state.#recentResults = of.#recentResults;
    return state;
  }

  /** The successor has caught up: from here on new classes are let in. */
  complete(): void {
    this.#only = undefined;
  }

  /** Undefined when the bytes are of another version: then the log is read from its start. */
  static restore(bytes: Uint8Array, learners: LearnerFactory): ReplicaState | undefined {
    try {
      const snapshot = deserialize(bytes) as Snapshot;
      return snapshot.format === format
        ? new ReplicaState(learners.restore(snapshot.learner), snapshot)
        : undefined;
    } catch {
      return undefined;
    }
  }

  /** About the memory it takes, in bytes. */
  get size(): number {
    return this.#learner.size + bytesPerResult * this.#recentResults + bytesPerClass * this.classes.size;
  }

  /** 1 before the first event; of the state that the log makes, so the same on every replica. */
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
      stale: this.stale,
      evaluation: this.evaluation.state,
      learner: this.#learner.toBytes(),
    };
    return serialize(snapshot);
  }

  classIdOf(label: string): string | undefined {
    return this.#byLabel.get(label);
  }

  /** What a call with this id was answered, if it is in the log and not long ago. */
  resultOf(eventId: string): CallResult[] | undefined {
    return this.#recent.get(eventId);
  }

  predict(text: string, top: number): Prediction {
    const scores = this.#learner
      .predict(text, top)
      .map((score) => ({ ...score, label: this.classes.get(score.classId)?.label ?? '' }));
    if (scores.length >= this.classes.size) return { scores, otherScore: 0 };
    const named = scores.reduce((sum, { confidence }) => sum + confidence, 0);
    return { scores, otherScore: Math.max(0, 1 - named) };
  }

  /** Takes the next event in, in slices. */
  async apply(event: EventDoc, number: number, next: NextSlice): Promise<void> {
    for (const { classId, label } of event.newClasses ?? [])
      this.#addClass({ classId, label, observations: 0 });
    const { deletedClassId } = event;
    if (deletedClassId !== undefined) this.#deleteClass(deletedClassId);
    for (const { eventId, examples } of event.calls ?? []) {
      this.#remember(eventId, await this.#learnAll(examples, next));
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
    // The class was deleted by an event before this one.
    if (known === undefined) return 0;
    const best = this.#learner.learn(classId, text);
    if (best !== undefined) this.evaluation.note(best.confidence, best.classId === classId);
    known.observations += 1;
    return known.observations;
  }

  #addClass(added: ClassState): void {
    if (this.#only !== undefined && !this.#only.has(added.classId)) return;
    this.classes.set(added.classId, { ...added });
    this.#byLabel.set(added.label, added.classId);
  }

  #deleteClass(classId: string): void {
    const known = this.classes.get(classId);
    if (known === undefined) return;
    this.classes.delete(classId);
    this.#byLabel.delete(known.label);
    this.#learner.forget(classId);
    this.stale = true;
  }

  #remember(eventId: string, results: CallResult[]): void {
    // A successor knows what was answered then.
    if (this.#only !== undefined && this.#recent.has(eventId)) return;
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
