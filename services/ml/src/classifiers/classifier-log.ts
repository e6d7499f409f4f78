/**
 * One classifier on this replica. Calls take turns; each first reads what other replicas appended, so a prediction uses
 * every example whose call has answered anywhere, and an event gets the next free number or none.
 */

import { randomUUID } from 'node:crypto';
import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import { HubError } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { type EventDoc, eventIdOf } from '../documents.ts';
import { cancelled, inSlices } from '../scheduling/slices.ts';
import type { ReplicaDeps } from './classifier-deps.ts';
import { type CallResult, type Prediction, ReplicaState } from './classifier-state.ts';
import { type LogPart, readLog } from './event-log.ts';
import { createLabelCount, requireAffordable } from './predict-bounds.ts';
import {
  type EventContent,
  type TrainExample,
  takeBatch,
  takeFitting,
  toEvent,
  type Waiting,
} from './train-batch.ts';

export interface PredictOptions {
  /** Scores of each text. */
  top: number;
  signal: CallSignal;
}

/** Examples after which a new snapshot is worth its cost. */
const snapshotEvery = 600;
const appendAttemptsMax = 1_000;

export class Replica {
  usedAt = performance.now();
  readonly #accountId: string;
  readonly #classifierId: string;
  readonly #deps: ReplicaDeps;
  #state: ReplicaState | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting: Waiting[] = [];
  #learntSinceSnapshot = 0;
  #snapshotting = false;
  #rebuilding = false;

  constructor(accountId: string, classifierId: string, deps: ReplicaDeps) {
    this.#accountId = accountId;
    this.#classifierId = classifierId;
    this.#deps = deps;
  }

  get accountId(): string {
    return this.#accountId;
  }

  /** About the memory it takes, in bytes. */
  get size(): number {
    return this.#state?.size ?? 0;
  }

  /** Durable when it resolves, with one result an example. */
  train(examples: TrainExample[], eventId = randomUUID() as string): Promise<CallResult[]> {
    const result = new Promise<CallResult[]>((resolve, reject) => {
      this.#waiting.push({ eventId, examples, resolve, reject });
    });
    // Whoever comes while an append is under way rides along with the next one.
    if (this.#waiting.length === 1) this.#scheduleAppend();
    return result;
  }

  /** The best classes with their labels for each text. Refuses with LIMIT_EXCEEDED what would be too much work. */
  predict(texts: string[], { top, signal }: PredictOptions): Promise<Prediction[]> {
    return this.#inTurn(async (state) => {
      if (signal.aborted) throw cancelled(signal);
      if (state.classes.size === 0) {
        throw new HubError(
          'NOT_TRAINED',
          'The classifier has not been trained yet. Train it with an example first.',
        );
      }
      requireAffordable(texts.length, { classes: state.classes.size, top });
      const predictions: Prediction[] = [];
      const count = createLabelCount();
      await inSlices(texts, this.#deps.slices.of(this.#accountId, signal), (text) => {
        const prediction = state.predict(text, top);
        count(prediction.scores);
        predictions.push(prediction);
      });
      return predictions;
    });
  }

  deleteClass(classId: string, expected: Expected = {}): Promise<void> {
    return this.#inTurn(async (state) => {
      for (let attempt = 0; attempt < appendAttemptsMax; attempt++) {
        if (!state.classes.has(classId)) throw new HubError('NOT_FOUND', 'There is no such class.');
        requireVersion(state, expected);
        if (await this.#append(state, { at: this.#deps.nowMs(), characters: 0, deletedClassId: classId }))
          return;
        await this.#catchUp(state);
      }
      throw contended();
    });
  }

  /** The state as it is now, everything that was answered included. */
  read<T>(use: (state: ReplicaState) => T): Promise<T> {
    return this.#inTurn(async (state) => use(state));
  }

  /** One call at a time, each on the state as the log has it. */
  #inTurn<T>(work: (state: ReplicaState) => Promise<T>): Promise<T> {
    this.usedAt = performance.now();
    const next = this.#turn.then(async () => {
      const state = await this.#current();
      return work(state);
    });
    this.#turn = next.catch(() => {});
    return next;
  }

  async #current(): Promise<ReplicaState> {
    const state = this.#state ?? (await this.#deps.loading(this.#accountId, () => this.#load()));
    try {
      await this.#catchUp(state);
    } catch (err) {
      // Half an event may be in: the next call starts from the snapshot again.
      this.#state = undefined;
      throw err;
    }
    const isLoaded = this.#state !== state;
    this.#state = state;
    if (isLoaded) this.#deps.onLoaded?.(this);
    if (state.stale) this.#rebuild(state);
    return state;
  }

  async #load(): Promise<ReplicaState> {
    const { store, learners } = this.#deps;
    const bytes = await store.snapshots.get(this.#accountId, this.#classifierId);
    const restored = bytes === null ? undefined : ReplicaState.restore(bytes, learners);
    return restored ?? new ReplicaState(learners.create());
  }

  async #catchUp(state: ReplicaState): Promise<void> {
    // Numbers follow each other without gaps, and to look for one event costs a fraction of a search.
    const nextId = eventIdOf(this.#classifierId, state.applied + 1);
    if ((await this.#deps.store.events.get(this.#accountId, nextId)) === null) return;
    for await (const { events } of this.#read(state.applied)) {
      for (const event of events) await this.#apply(state, event);
    }
  }

  #learn(state: ReplicaState, event: EventDoc): Promise<void> {
    return state.apply(event, state.applied + 1, this.#deps.slices.of(this.#accountId));
  }

  async #apply(state: ReplicaState, event: EventDoc): Promise<void> {
    await this.#learn(state, event);
    this.#learntSinceSnapshot += (event.calls ?? []).reduce((sum, { examples }) => sum + examples.length, 0);
    if (this.#learntSinceSnapshot >= snapshotEvery) this.#snapshot(state);
    if (state.stale && this.#state === state) this.#rebuild(state);
  }

  /** False when the number was taken by another replica meanwhile. */
  async #append(state: ReplicaState, content: EventContent): Promise<boolean> {
    const id = eventIdOf(this.#classifierId, state.applied + 1);
    const event: EventDoc = { id, accountId: this.#accountId, version: 1, ...content };
    try {
      await this.#deps.store.events.insert(event);
    } catch (err) {
      if (err instanceof HubError && err.code === 'CONFLICT') return false;
      throw err;
    }
    await this.#apply(state, event);
    return true;
  }

  /** A turn that fails before it appends, because the store is away, fails everybody who waits. */
  #scheduleAppend(): void {
    this.#inTurn(() => this.#appendWaiting()).catch((err) => {
      for (const call of this.#waiting.splice(0)) call.reject(err);
    });
  }

  async #appendWaiting(): Promise<void> {
    const batch = takeBatch(this.#waiting);
    // What is left over waits for its own turn.
    if (this.#waiting.length > 0) this.#scheduleAppend();
    try {
      await this.#inOrder(batch);
    } catch (err) {
      this.#state = undefined;
      for (const call of batch) call.reject(err);
    }
  }

  async #inOrder(batch: Waiting[]): Promise<void> {
    const state = this.#state as ReplicaState;
    for (let attempt = 0; attempt < appendAttemptsMax; attempt++) {
      const known = ({ eventId }: Waiting) => state.resultOf(eventId) !== undefined;
      const open = takeFitting(
        batch.filter((call) => !known(call)),
        state,
        this.#deps.classesMax,
      );
      if (open.length === 0 || (await this.#append(state, toEvent(open, state, this.#deps)))) {
        for (const call of batch) call.resolve(state.resultOf(call.eventId) ?? []);
        return;
      }
      await this.#catchUp(state);
    }
    throw contended();
  }

  /**
   * Learns the log once more without the classes that were deleted, beside the calls that go on meanwhile; until then a
   * deleted class is only left out of the answers.
   */
  #rebuild(old: ReplicaState): void {
    if (this.#rebuilding) return;
    this.#rebuilding = true;
    const run = async () => {
      const fresh = ReplicaState.successor(old, this.#deps.learners.create());
      while (fresh.applied < old.applied) {
        const before = fresh.applied;
        await this.#follow(fresh);
        if (fresh.applied === before) return;
      }
      await this.#inTurn(async (state) => {
        // Another class went meanwhile: this one is stale before it began.
        if (state !== old || [...fresh.classes.keys()].some((classId) => !old.classes.has(classId))) return;
        fresh.complete();
        await this.#follow(fresh);
        fresh.stale = false;
        this.#state = fresh;
        await this.#save(fresh);
      });
    };
    run().then(
      () => {
        this.#rebuilding = false;
        if (this.#state?.stale) this.#rebuild(this.#state);
      },
      (err) => {
        // The next call tries again.
        this.#rebuilding = false;
        this.#deps.onFailure(err);
      },
    );
  }

  async #follow(fresh: ReplicaState): Promise<void> {
    for await (const { events } of this.#read(fresh.applied)) {
      for (const event of events) await this.#learn(fresh, event);
    }
  }

  #read(applied: number): AsyncIterable<LogPart> {
    const classifier = { accountId: this.#accountId, classifierId: this.#classifierId };
    return readLog(this.#deps.store, classifier, applied);
  }

  #save(state: ReplicaState): Promise<void> {
    const { store, loading } = this.#deps;
    return loading(this.#accountId, () =>
      store.snapshots.put(this.#accountId, this.#classifierId, state.toBytes()),
    );
  }

  /** In the background: the log is what counts, a snapshot only shortens the way. */
  #snapshot(state: ReplicaState): void {
    if (this.#snapshotting) return;
    this.#snapshotting = true;
    this.#learntSinceSnapshot = 0;
    // Between events, so that no half of one is in it.
    this.#inTurn(async () => {
      await this.#save(state);
    })
      .catch(this.#deps.onFailure)
      .finally(() => {
        this.#snapshotting = false;
      });
  }
}

function contended(): HubError {
  return new HubError('UNAVAILABLE', 'Too many replicas train this classifier at once. Try again.', {
    retryable: true,
  });
}
