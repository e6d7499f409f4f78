/**
 * One classifier in this process: its log of events, and the state that follows from them. Calls run one at a time.
 * Each call first applies the events that other processes appended, so a prediction uses every example whose train call
 * any process has answered. An event is appended with the next free number or not at all.
 */

import { randomUUID } from 'node:crypto';
import type { CallSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { type EventDoc, eventIdOf, type RowSource } from '../documents.ts';
import { cancelled, inSlices, pauseOf, type SlicedWork } from '../scheduling/time-slices.ts';
import type { ClassifierDeps, PredictOptions } from './classifier-deps.ts';
import { ClassifierState, type Predicted, type Prediction } from './classifier-state.ts';
import { newEvents, SnapshotSchedule } from './log/event-log.ts';
import { createLabelCount, requirePredictBounds } from './predict-bounds.ts';
import type { CallResult } from './recent-calls.ts';
import {
  type EventContent,
  type PendingCall,
  rejectExcessLabels,
  settle,
  type TrainExample,
  takeBatch,
  toEvent,
  withoutKnownRows,
  withoutLearnt,
} from './train-batch.ts';

const appendAttemptsMax = 1_000;

export class ClassifierLog {
  usedAt = performance.now();
  readonly accountId: string;
  readonly #classifierId: string;
  readonly #deps: ClassifierDeps;
  #state: ClassifierState | undefined;
  #lastCall: Promise<unknown> = Promise.resolve();
  #pending: PendingCall[] = [];
  readonly #snapshots = new SnapshotSchedule();
  #isSnapshotting = false;
  #isRebuilding = false;
  #hasPlace = false;

  constructor(accountId: string, classifierId: string, deps: ClassifierDeps) {
    this.accountId = accountId;
    this.#classifierId = classifierId;
    this.#deps = deps;
  }

  /** Approximate memory in bytes. */
  get size(): number {
    return this.#state?.size ?? 0;
  }

  /** Resolves when the examples are durable, to one result per example, or to none for rows of a job. */
  train(examples: TrainExample[], eventId = randomUUID() as string, job?: RowSource): Promise<CallResult[]> {
    const result = new Promise<CallResult[]>((resolve, reject) => {
      this.#pending.push({ eventId, examples, job, resolve, reject });
    });
    // Calls that arrive during an append share the next event.
    if (this.#pending.length === 1) this.#scheduleAppend();
    return result;
  }

  /** Rejects a `train` call whose examples are not stored yet. Returns false if they are, or may be. */
  withdraw(eventId: string, reason: HubError): boolean {
    const index = this.#pending.findIndex((call) => call.eventId === eventId);
    if (index < 0) return false;
    for (const call of this.#pending.splice(index, 1)) call.reject(reason);
    return true;
  }

  /** Resolves to the best classes of each text, with labels. Rejects with LIMIT_EXCEEDED if it would cost too much. */
  async predict(texts: string[], options: PredictOptions): Promise<Prediction[]> {
    return (await this.predictAs(texts, options, (prediction) => prediction)).predictions;
  }

  /** Resolves to what `convert` makes of each prediction, in the slice of its text, and to the number of classes. */
  predictAs<T>(
    texts: string[],
    { top, signal }: PredictOptions,
    convert: (prediction: Prediction) => T,
  ): Promise<Predicted<T>> {
    return this.#exclusive(async (state) => {
      if (signal.aborted) throw cancelled(signal);
      if (!state.hasExamples) {
        throw new HubError(
          'NOT_TRAINED',
          'The classifier has not been trained yet. Train it with an example first.',
        );
      }
      requirePredictBounds(texts.length, { classes: state.classes.size, top });
      const converted: T[] = [];
      const countLabels = createLabelCount();
      const work = this.#startWork(signal);
      if (texts.length > 1) await work.next();
      await inSlices(texts, work, (text) => {
        const prediction = state.predict(text, top);
        countLabels(prediction.scores);
        converted.push(convert(prediction));
      });
      // A long response is sent in a slice of its own.
      if (texts.length > 1) await work.next();
      return { predictions: converted, classes: state.classes.size };
    });
  }

  deleteClass(classId: string, expected: Expected = {}): Promise<void> {
    return this.append(async (state) => {
      if (!state.classes.has(classId)) throw new HubError('NOT_FOUND', 'There is no such class.');
      requireVersion(state, expected);
      return { at: this.#deps.nowMs(), characters: 0, deletedClassId: classId };
    });
  }

  /**
   * Appends the event that `toContent` returns for the current state, if any. If another process has taken the number,
   * `toContent` is called again with the new state.
   */
  append(toContent: (state: ClassifierState) => Promise<EventContent | undefined>): Promise<void> {
    return this.#exclusive(async (state) => {
      for (let attempt = 0; attempt < appendAttemptsMax; attempt++) {
        const content = await toContent(state);
        if (content === undefined || (await this.#append(state, content))) return;
        await this.#catchUp(state);
      }
      throw contended();
    });
  }

  /** Reads the current state. It includes every call that has been answered, and does not change until `use` has ended. */
  read<T>(use: (state: ClassifierState) => T | Promise<T>): Promise<T> {
    return this.#exclusive(async (state) => use(state));
  }

  /** Runs one call at a time. Each gets the current state. */
  #exclusive<T>(work: (state: ClassifierState) => Promise<T>): Promise<T> {
    this.usedAt = performance.now();
    const next = this.#lastCall.then(async () => {
      const state = await this.#current();
      return work(state);
    });
    this.#lastCall = next.catch(() => {});
    return next;
  }

  async #current(): Promise<ClassifierState> {
    const state = this.#state ?? (await this.#deps.snapshotLock(this.accountId, () => this.#load()));
    try {
      await this.#catchUp(state);
    } catch (err) {
      // The state may contain a part of an event, so the next call loads the snapshot again.
      this.#state = undefined;
      throw err;
    }
    const isLoaded = this.#state !== state;
    this.#state = state;
    if (isLoaded) this.#deps.onLoaded?.();
    if (state.needsRebuild) this.#rebuild();
    return state;
  }

  async #load(): Promise<ClassifierState> {
    const { store, learners } = this.#deps;
    const bytes = await store.snapshots.get(this.accountId, this.#classifierId);
    const pause = pauseOf(this.#startWork());
    const restored = bytes === null ? undefined : await ClassifierState.restore(bytes, learners, pause);
    return restored ?? new ClassifierState(learners.create());
  }

  async #catchUp(state: ClassifierState): Promise<void> {
    const work = this.#startWork();
    const isLoading = this.#state !== state;
    for await (const event of this.#newEvents(state)) {
      await this.#apply(state, event, work);
      // Of further events, the process that appended them writes the snapshot.
      if (isLoading) this.#snapshotIfDue(state, event);
    }
  }

  #startWork(signal?: CallSignal): SlicedWork {
    return this.#deps.slices.of(this.accountId, signal);
  }

  #newEvents(state: ClassifierState, ahead?: ClassifierState): AsyncGenerator<EventDoc> {
    const classifier = { accountId: this.accountId, classifierId: this.#classifierId };
    return newEvents(this.#deps.store, classifier, { state, ahead });
  }

  async #apply(state: ClassifierState, event: EventDoc, work: SlicedWork): Promise<void> {
    await state.apply(event, state.applied + 1, work);
    if (state.needsRebuild && this.#state === state) this.#rebuild();
  }

  #snapshotIfDue(state: ClassifierState, event: EventDoc): void {
    if (this.#snapshots.isDueAfter(event, state.examples)) this.#snapshot();
  }

  /** Resolves to false if another process has taken the number. */
  async #append(state: ClassifierState, content: EventContent): Promise<boolean> {
    const id = eventIdOf(this.#classifierId, state.applied + 1);
    const event: EventDoc = { id, accountId: this.accountId, version: 1, ...content };
    try {
      await this.#deps.store.events.insert(event);
    } catch (err) {
      if (err instanceof HubError && err.code === 'CONFLICT') return false;
      throw err;
    }
    await this.#apply(state, event, this.#startWork());
    this.#snapshotIfDue(state, event);
    return true;
  }

  /** If the state cannot be loaded, for instance because the store is down, all pending calls fail. */
  #scheduleAppend(): void {
    this.#exclusive(() => this.#appendPending()).catch((err) => {
      for (const call of this.#pending.splice(0)) call.reject(err);
    });
  }

  async #appendPending(): Promise<void> {
    const batch = takeBatch(this.#pending);
    // The calls were withdrawn.
    if (batch.length === 0) return;
    if (this.#pending.length > 0) this.#scheduleAppend();
    try {
      await this.#appendBatch(batch);
    } catch (err) {
      this.#state = undefined;
      for (const call of batch) call.reject(err);
    }
  }

  async #appendBatch(batch: PendingCall[]): Promise<void> {
    const state = this.#state as ClassifierState;
    let open = batch;
    for (let attempt = 0; attempt < appendAttemptsMax; attempt++) {
      const unknown = withoutLearnt(open, state, this.#deps.nowMs());
      open = withoutKnownRows(rejectExcessLabels(unknown, state, this.#deps.classesMax), state);
      if (open.length === 0 || (await this.#append(state, toEvent(open, state, this.#deps)))) {
        for (const call of batch) settle(call, state);
        return;
      }
      await this.#catchUp(state);
    }
    throw contended();
  }

  /**
   * Learns the log again in the background, without the deleted classes and with the changed examples. Until that is
   * done, predictions leave out the scores of deleted classes.
   */
  #rebuild(): void {
    if (this.#isRebuilding) return;
    this.#isRebuilding = true;
    this.#rebuildInTurn().then(
      (hasLog) => {
        this.#isRebuilding = false;
        if (hasLog && this.#state?.needsRebuild) this.#rebuild();
      },
      (err) => {
        // The next call tries again.
        this.#isRebuilding = false;
        this.#deps.onFailure(err);
      },
    );
  }

  /** Waits for a place, because a classifier takes its memory twice meanwhile. */
  async #rebuildInTurn(): Promise<boolean> {
    using _ = await this.#deps.rebuildPlaces(this.accountId);
    const old = this.#state;
    if (old?.needsRebuild !== true) return true;
    this.#hasPlace = true;
    try {
      return await this.#rebuildOnce(old);
    } finally {
      this.#hasPlace = false;
    }
  }

  /** The cache drops it. What waits for a place does not keep the state in memory. */
  release(): void {
    this.#lastCall = this.#lastCall.then(() => {
      if (!this.#hasPlace) this.#state = undefined;
    });
  }

  /** Resolves to false if the log is gone, because the classifier was deleted. */
  async #rebuildOnce(old: ClassifierState): Promise<boolean> {
    const rebuilt = ClassifierState.startRebuild(old, this.#deps.learners.create());
    const work = this.#startWork();
    const catchUp = async (ahead?: ClassifierState) => {
      for await (const event of this.#newEvents(rebuilt, ahead))
        await rebuilt.apply(event, rebuilt.applied + 1, work);
    };
    while (rebuilt.applied < old.applied) {
      const before = rebuilt.applied;
      await catchUp(old);
      if (rebuilt.applied === before) return false;
    }
    await this.#exclusive(async (state) => {
      if (state !== old) return;
      await catchUp(old);
      // If another class was deleted meanwhile, the rebuilt state still has it. If an example was changed meanwhile,
      // the rebuilt state may have learnt its old form. In both cases the rebuild starts again.
      if ([...rebuilt.classes.keys()].some((classId) => !old.classes.has(classId))) return;
      if (rebuilt.needsRebuild) return;
      rebuilt.endRebuild();
      await catchUp();
      this.#state = rebuilt;
      await this.#save(rebuilt);
    });
    return true;
  }

  #save(state: ClassifierState): Promise<void> {
    const [{ store, snapshotLock }, id] = [this.#deps, this.#classifierId];
    return snapshotLock(this.accountId, async () => {
      const bytes = await state.toBytes(pauseOf(this.#startWork()));
      await store.snapshots.put(this.accountId, id, bytes);
      // If the classifier was deleted meanwhile, its deletion may have come too early for this snapshot.
      if ((await store.classifiers.get(this.accountId, id)) === null)
        await store.snapshots.delete(this.accountId, id);
    });
  }

  /**
   * Writes a snapshot in the background, after the current call, so it never contains a part of an event. It may fail.
   */
  #snapshot(): void {
    if (this.#isSnapshotting) return;
    this.#isSnapshotting = true;
    this.#exclusive((state) => this.#save(state))
      .catch(this.#deps.onFailure)
      .finally(() => {
        this.#isSnapshotting = false;
      });
  }
}

const contended = () =>
  new HubError('UNAVAILABLE', 'Too many processes train this classifier at the same time. Try again.', {
    retryable: true,
  });
