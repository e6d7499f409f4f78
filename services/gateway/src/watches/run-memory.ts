/**
 * Bounds the memory of runs of watches. A run keeps what it compares and tells until it has ended, tens of megabytes at
 * most, while nearly all keep little. A run that keeps much has one of few places. Nobody waits for the slow query of
 * another: a run that rests gives its place back to those that wait, and a run that waits for long has no connection to
 * its source. Either begins again, unless its query writes.
 */

import { onAbort } from '@datahub/service-kit/call/abort';
import { type CallSignal, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import { Usage } from '@datahub/service-kit/usage';

/** A run that keeps no more than this needs no place. */
const smallBytes = 262_144;
/** An account has one place at a time. */
const places = { allMax: 2, accountMax: 1, waitingMax: Number.POSITIVE_INFINITY };
/** How long a run waits for a place with the rows and the connection that it has, and how many runs do so at once. */
const patienceMs = 1_000;
const patientMax = { all: 8, account: 2 };
/** A run whose rows rest for so long gives its place back to one that waits. A write ends then, so it has more time. */
const restMs = 5_000;
const restOfWriteMs = 60_000;
/** A run that has its place for so long gives it back, too. */
const turnMs = 60_000;
const lookMs = 500;

/** The run has no place any more, or did not get one in time. What it keeps must go. */
export class PlaceLost extends HubError {
  constructor() {
    super(
      'UNAVAILABLE',
      'The rows of the run came slowly, and other runs with many rows waited for the memory that it took.',
      { retryable: true },
    );
  }
}

/** The places of one gateway. */
export class LargeRuns {
  readonly #permits = createFairSemaphore(places);
  readonly #holders = new Set<RunMemory>();
  readonly #waiting = new Set<RunMemory>();
  #looking: NodeJS.Timeout | undefined;
  /** Runs that wait with their rows. */
  readonly patient = new Usage();

  /** Resolves with the function that gives the place back. Rejects with the reason of the signal if it fires first. */
  async acquire(run: RunMemory, signal: CallSignal): Promise<() => void> {
    this.#waiting.add(run);
    this.#looking ??= setInterval(() => this.#look(), lookMs).unref();
    try {
      const release = await this.#permits.acquire(run.accountId, signal);
      this.#holders.add(run);
      return () => {
        this.#holders.delete(run);
        release();
      };
    } finally {
      this.#waiting.delete(run);
      if (this.#waiting.size === 0) {
        clearInterval(this.#looking);
        this.#looking = undefined;
      }
    }
  }

  /** A run that waits for the place of its own account has no use for that of another one. */
  #look(): void {
    const holding = new Set([...this.#holders].map(({ accountId }) => accountId));
    const waiting = new Set([...this.#waiting].map(({ accountId }) => accountId));
    const isAnyOfUse = [...waiting].some((accountId) => !holding.has(accountId));
    for (const holder of this.#holders)
      if (isAnyOfUse || waiting.has(holder.accountId)) holder.giveWay(performance.now());
  }
}

export interface RunMemoryOptions {
  accountId: string;
  /** False for a query that writes: it does not begin again. */
  mayRepeat: boolean;
}

/** What one run keeps. Its end gives the memory back. */
export class RunMemory implements Disposable {
  readonly accountId: string;
  readonly mayRepeat: boolean;
  readonly #places: LargeRuns;
  #release: (() => void) | undefined;
  #keptBytes = 0;
  /** Stops the execution that is under way. */
  #stop = new CallStop();
  #heldAt = 0;
  /** When rows came last. */
  #rowsAt = 0;
  #hasEnded = false;

  constructor(places: LargeRuns, { accountId, mayRepeat }: RunMemoryOptions) {
    this.accountId = accountId;
    this.#places = places;
    this.mayRepeat = mayRepeat;
  }

  /** Of an execution, which `stop` ends with PlaceLost once it must give way. */
  begin(stop: CallStop): void {
    this.#stop = stop;
    this.#keptBytes = 0;
    this.#rowsAt = performance.now();
  }

  /** `bytes`: what the run keeps by now, or will at once. Rejects with PlaceLost, or the reason of the signal. */
  async keep(bytes: number): Promise<void> {
    this.#rowsAt = performance.now();
    this.#keptBytes = bytes;
    if (bytes <= smallBytes || this.#release !== undefined) return;
    const waiting = new CallStop();
    using _ = onAbort(this.#stop, () => waiting.abort(this.#stop.reason));
    const { patient } = this.#places;
    const isPatient = patient.all < patientMax.all && patient.of(this.accountId) < patientMax.account;
    const ms = isPatient ? patienceMs : 0;
    const timer = this.mayRepeat ? setTimeout(() => waiting.abort(new PlaceLost()), ms) : undefined;
    const counted = isPatient || !this.mayRepeat ? 1 : 0;
    patient.add(this.accountId, counted);
    try {
      await this.#take(waiting);
    } finally {
      clearTimeout(timer);
      patient.add(this.accountId, -counted);
    }
  }

  /** Waits for a place after the run has lost its own, or has not got one. */
  async awaitPlace(signal: CallSignal): Promise<void> {
    this.#giveBack();
    this.#keptBytes = 0;
    await this.#take(signal);
  }

  /** Another run waits for the place. */
  giveWay(now: number): void {
    const isResting = now - this.#rowsAt > (this.mayRepeat ? restMs : restOfWriteMs);
    const isOver = this.mayRepeat && now - this.#heldAt > turnMs;
    if (!isResting && !isOver) return;
    if (this.#keptBytes <= smallBytes) this.#giveBack();
    else this.#stop.abort(new PlaceLost());
  }

  async #take(signal: CallSignal): Promise<void> {
    const release = await this.#places.acquire(this, signal);
    // The run may have failed meanwhile.
    if (this.#hasEnded) return release();
    this.#release = release;
    this.#heldAt = performance.now();
    this.#rowsAt = this.#heldAt;
  }

  #giveBack(): void {
    this.#release?.();
    this.#release = undefined;
  }

  [Symbol.dispose](): void {
    this.#hasEnded = true;
    this.#giveBack();
  }
}
