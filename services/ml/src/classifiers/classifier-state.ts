/**
 * The state of one classifier: classes with their counts, learner, evaluation. It depends only on the log of events.
 */

import { deserialize } from 'node:v8';
import { normalized } from '@datahub/service-kit/normalized';
import type { EventDoc, ExampleChange, RowSource } from '../documents.ts';
import { inSlices, inSteps, type Pause, pauseOf, type SlicedWork } from '../scheduling/time-slices.ts';
import { createEvaluation, type Evaluation, type EvaluationState } from './evaluation.ts';
import {
  digestsOfRow,
  type KnownExample,
  KnownExamples,
  type KnownExamplesState,
  type Place,
  type RowIdentity,
  withoutPlaces,
} from './known-examples.ts';
import type { Learner, LearnerFactory, Score } from './learner.ts';
import { fromBytesInPieces, isInPieces, toBytesInPieces } from './pieces.ts';
import { type CallResult, RecentCalls, type RecentCallsState } from './recent-calls.ts';

export interface ClassState {
  classId: string;
  label: string;
  observations: number;
}

/** The number of rows that a job has trained and corrected. */
export interface JobCounts {
  trained: number;
  corrected: number;
}

interface RowExample {
  classId: string;
  text: string;
}

/** True if the example has the latest form of its row. */
const isSame = (known: KnownExample | undefined, { classId }: RowExample) =>
  known?.isSameText === true && known.classId === classId;

/** A change of this type needs a new `format`, except a change of `learner`, which has a format of its own. */
interface Snapshot extends RecentCallsState {
  format: number;
  applied: number;
  updatedAt: number | null;
  classes: ClassState[];
  stale: boolean;
  evaluation: Partial<EvaluationState>;
  eventVersions: [number, number][];
  /** What `Learner.toState` returned. */
  learner: unknown;
  /** Absent in snapshots from before jobs existed. */
  known?: KnownExamplesState;
  jobs?: [string, JobCounts][];
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

/** What became of the prediction of each text. */
export interface Predicted<T> {
  predictions: T[];
  /** Of the classifier. */
  classes: number;
}

const format = 6;
/** Of snapshots whose table of rows has no seed. */
const formatWithoutSeed = 5;
/** Of snapshots whose rows have no places. */
const formatWithoutPlaces = 4;
const formats = new Set([format, formatWithoutSeed, formatWithoutPlaces]);
const bytesPerClass = 1_024;
/** The number of jobs whose counts are stored. */
const jobsMax = 1_000;
const bytesPerJob = 128;

export class ClassifierState {
  /** The number of the last event that was applied; 0 for none. */
  applied = 0;
  updatedAt: number | null = null;
  /**
   * A class was deleted or an example changed, and the learner does not show it yet; or the learning curve is not
   * whole.
   */
  needsRebuild = false;
  readonly classes = new Map<string, ClassState>();
  readonly evaluation: Evaluation;
  /** By composed labels. */
  readonly #byLabel = new Map<string, string>();
  /** The composed labels of classes from earlier versions, which stored labels as they were sent. */
  readonly #composed = new Map<string, string>();
  #recent: RecentCalls;
  readonly #learner: Learner;
  /**
   * For each applied event with changed examples, the version that `classes` counts. All other events have version 1.
   */
  readonly #eventVersions: Map<number, number>;
  readonly #known: KnownExamples;
  #jobs: Map<string, JobCounts>;
  /** Set during a rebuild. The rebuild learns only the classes and rows that this state still has. */
  #rebuilds: ClassifierState | undefined;

  constructor(learner: Learner, from?: Omit<Snapshot, 'learner' | 'format'>) {
    this.#learner = learner;
    this.evaluation = createEvaluation(from?.evaluation);
    this.#recent = new RecentCalls(from);
    this.#known = new KnownExamples(from?.known);
    this.#jobs = new Map(from?.jobs ?? []);
    this.#eventVersions = new Map(from?.eventVersions ?? []);
    if (from === undefined) return;
    this.applied = from.applied;
    this.updatedAt = from.updatedAt;
    // A snapshot of a version without curves, or one that such a version has continued, does not have the whole curve.
    this.needsRebuild = from.stale || !this.evaluation.hasWholeCurve;
  }

  /**
   * Returns an empty state to which the log is applied again, as if deleted classes had never been trained and
   * corrected examples had always been right. It must not apply events that `old` has not applied before the rebuild
   * ends.
   */
  static startRebuild(old: ClassifierState, learner: Learner): ClassifierState {
    const state = new ClassifierState(learner);
    state.#rebuilds = old;
    state.#recent = new RecentCalls(old.#recent.state);
    return state;
  }

  /** Call this when both states have applied the same events. From then on, the rebuilt state applies every event. */
  endRebuild(): void {
    if (this.#rebuilds !== undefined) this.#jobs = this.#rebuilds.#jobs;
    this.#rebuilds = undefined;
  }

  /** Returns undefined if the bytes have another format. The log must then be applied from its start. */
  static async restore(
    bytes: Uint8Array,
    learners: LearnerFactory,
    pause: Pause,
  ): Promise<ClassifierState | undefined> {
    try {
      const snapshot = await readSnapshot(bytes, pause);
      if (snapshot.format === formatWithoutPlaces && snapshot.known !== undefined) {
        // Learning the log again finds the places.
        if (snapshot.known.size > 0) snapshot.stale = true;
        snapshot.known = withoutPlaces(snapshot.known);
      } else if (!formats.has(snapshot.format)) return undefined;
      const state = new ClassifierState(await learners.restore(snapshot.learner, pause), snapshot);
      for (const one of snapshot.classes) {
        state.#addClass(one);
        await pause();
      }
      return state;
    } catch {
      return undefined;
    }
  }

  /** Approximate memory in bytes. */
  get size(): number {
    const rows = this.#known.bytes + bytesPerJob * this.#jobs.size;
    return (
      this.#learner.size + this.evaluation.size + this.#recent.size + bytesPerClass * this.classes.size + rows
    );
  }

  /** The number of examples that are rows of queries. */
  get rowCount(): number {
    return this.#known.size;
  }

  /** True if the row was learnt with this class and text. */
  hasLearnt(row: RowIdentity, example: RowExample): boolean {
    return isSame(this.#known.find(digestsOfRow(row, example.text)), example);
  }

  /** True if this example of the log is the last one of its row. */
  isLatest(row: RowIdentity, example: RowExample, { event, index }: Place): boolean {
    const known = this.#known.find(digestsOfRow(row, example.text));
    const place = known?.place ?? { event, index };
    return isSame(known, example) && place.event === event && place.index === index;
  }

  jobCounts(jobId: string): JobCounts {
    return { trained: 0, corrected: 0, ...this.#jobs.get(jobId) };
  }

  /** The number of events plus one. Every process computes the same version, because the log is the same. */
  get version(): number {
    return this.applied + 1;
  }

  /** The state must not change meanwhile. */
  async toBytes(pause: Pause): Promise<Uint8Array> {
    const snapshot: Snapshot = {
      format,
      applied: this.applied,
      updatedAt: this.updatedAt,
      classes: [...this.classes.values()],
      ...this.#recent.state,
      stale: this.needsRebuild,
      evaluation: this.evaluation.state,
      eventVersions: [...this.#eventVersions],
      learner: await this.#learner.toState(pause),
      known: this.#known.state,
      jobs: [...this.#jobs],
    };
    return toBytesInPieces(snapshot, pause);
  }

  /** The version of an applied event that `classes` counts. */
  versionOf(event: number): number {
    return this.#eventVersions.get(event) ?? 1;
  }

  /** `label` is composed. */
  classIdOf(label: string): string | undefined {
    return this.#byLabel.get(label);
  }

  composedLabelOf({ classId, label }: Pick<ClassState, 'classId' | 'label'>): string {
    return this.#composed.get(classId) ?? label;
  }

  /** True if the call with this event id was learnt. */
  hasLearntCall(eventId: string): boolean {
    return this.#recent.has(eventId);
  }

  /** True if a repetition of the call would be known for long enough. */
  hasRoomForCall(eventId: string, nowMs: number): boolean {
    return this.#recent.hasRoomFor(eventId, nowMs);
  }

  /** The results of the call with this event id; undefined if they are not stored. */
  resultOf(eventId: string): CallResult[] | undefined {
    return this.#recent.get(eventId);
  }

  get examples(): number {
    let sum = 0;
    for (const { observations } of this.classes.values()) sum += observations;
    return sum;
  }

  get hasExamples(): boolean {
    return this.examples > 0;
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
  async apply(event: EventDoc, number: number, work: SlicedWork): Promise<void> {
    await inSlices(event.newClasses ?? [], work, (added) => this.#addClass({ ...added, observations: 0 }));
    if (event.version > 1) this.#eventVersions.set(number, event.version);
    const { deletedClassId, changedExample } = event;
    if (deletedClassId !== undefined) await this.#deleteClass(deletedClassId, pauseOf(work));
    if (changedExample !== undefined) this.#changeExample(changedExample);
    let index = 0;
    for (const { eventId, examples, job } of event.calls ?? []) {
      const first = index;
      index += examples.length;
      if (job === undefined) {
        const results = await this.#learnAll(examples, work);
        // A rebuild must not overwrite the results that the first run returned.
        if (this.#rebuilds === undefined || !this.#recent.has(eventId))
          this.#recent.add(eventId, results, event.at);
      } else {
        const pause = pauseOf(work);
        await this.#known.reserve(examples.length, pause);
        for (const [i, { id = '', ...example }] of examples.entries())
          await this.#learnRow({ ...job, id, ...example }, { event: number, index: first + i }, pause);
      }
    }
    this.#recent.trim(event.calls?.length ?? 0);
    this.updatedAt = event.at;
    this.applied = number;
  }

  async #learnAll(examples: RowExample[], work: SlicedWork): Promise<CallResult[]> {
    const results: CallResult[] = [];
    for (const { classId, text } of examples)
      results.push({ classId, observations: await this.#learn(classId, text, pauseOf(work)) });
    return results;
  }

  async #learn(classId: string, text: string, pause: Pause): Promise<number> {
    await pause();
    const known = this.classes.get(classId);
    // An earlier event has deleted the class.
    if (known === undefined) return 0;
    const best = await inSteps(this.#learner.learnInSteps(classId, text), pause);
    if (best !== undefined) this.evaluation.record(classId, best);
    known.observations += 1;
    return known.observations;
  }

  /**
   * Learns a row, or corrects it if its class or text changed. Until a rebuild, the learner also contains the old form.
   */
  async #learnRow(example: RowSource & RowIdentity & RowExample, place: Place, pause: Pause): Promise<void> {
    const { jobId, classId, text } = example;
    await pause();
    const row = digestsOfRow(example, text);
    const before = this.#known.find(row);
    if (!this.classes.has(classId)) return;
    // A later event corrects the row.
    if (this.#rebuilds !== undefined && !isSame(this.#rebuilds.#known.find(row), example)) return;
    this.#known.set(row, classId, place);
    // A rebuild learns the latest form where the log first has it.
    if (isSame(before, example)) return;
    await this.#learn(classId, text, pause);
    if (before !== undefined) {
      this.needsRebuild = true;
      const old = this.classes.get(before.classId);
      if (old !== undefined) old.observations -= 1;
    }
    if (this.#rebuilds !== undefined) return;
    const counts = this.jobCounts(jobId);
    counts[before === undefined ? 'trained' : 'corrected'] += 1;
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, counts);
    for (const oldest of this.#jobs.keys()) {
      if (this.#jobs.size <= jobsMax) break;
      this.#jobs.delete(oldest);
    }
  }

  #addClass(added: ClassState): void {
    if (this.#rebuilds !== undefined && !this.#rebuilds.classes.has(added.classId)) return;
    if (this.classes.has(added.classId)) return;
    this.classes.set(added.classId, { ...added });
    const label = normalized(added.label, 'NFC');
    if (label !== added.label) this.#composed.set(added.classId, label);
    if (!this.#byLabel.has(label)) this.#byLabel.set(label, added.classId);
  }

  async #deleteClass(classId: string, pause: Pause): Promise<void> {
    const known = this.classes.get(classId);
    if (known === undefined) return;
    this.classes.delete(classId);
    this.#releaseLabel(known);
    this.#composed.delete(classId);
    await this.#learner.forget(classId, pause);
    this.evaluation.forget(classId);
    await this.#known.forget(classId, pause);
    this.needsRebuild = true;
  }

  /** The log of an earlier version can have another class whose label is the same after NFC. */
  #releaseLabel(released: ClassState): void {
    const composed = this.composedLabelOf(released);
    if (this.#byLabel.get(composed) !== released.classId) return;
    this.#byLabel.delete(composed);
    for (const other of this.classes.values()) {
      if (this.composedLabelOf(other) === composed) this.#byLabel.set(composed, other.classId);
    }
  }

  /** Does nothing if this state applied the event in its new form. */
  #changeExample({ event, version, from, to }: ExampleChange): void {
    if (this.versionOf(event) >= version) return;
    this.#eventVersions.set(event, version);
    this.#count(from, -1);
    if (to !== undefined) this.#count(to, 1);
    this.needsRebuild = true;
  }

  #count(classId: string, change: 1 | -1): void {
    const known = this.classes.get(classId);
    if (known !== undefined) known.observations += change;
  }
}

/** A snapshot of an earlier version is one value of V8, and the learner in it is another. */
async function readSnapshot(bytes: Uint8Array, pause: Pause): Promise<Snapshot> {
  if (isInPieces(bytes)) return (await fromBytesInPieces(bytes, pause)) as Snapshot;
  const snapshot = deserialize(bytes) as Snapshot & { learner: Uint8Array };
  await pause();
  return { ...snapshot, learner: deserialize(snapshot.learner) };
}
