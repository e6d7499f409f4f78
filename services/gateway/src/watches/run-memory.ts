/**
 * Bounds the memory of runs of watches. A run keeps what it compares and tells until it has ended, tens of megabytes at
 * most, while nearly all keep little. So a run that keeps much waits until few others do.
 */

import type { CallSignal } from '@datahub/service-kit/call/call';
import { createFairSemaphore, type FairSemaphore } from '@datahub/service-kit/fair-semaphore';

/** A run that keeps no more than this does not wait. */
const smallBytes = 262_144;

/** A permit for each large run. An account has one at a time. */
export const createLargeRuns = (): FairSemaphore =>
  createFairSemaphore({ allMax: 2, accountMax: 1, waitingMax: Number.POSITIVE_INFINITY });

/** What one run keeps. Its end gives the memory back. */
export class RunMemory implements Disposable {
  readonly #permits: FairSemaphore;
  readonly #accountId: string;
  readonly #signal: CallSignal;
  #release: (() => void) | undefined;
  #hasEnded = false;

  constructor(permits: FairSemaphore, accountId: string, signal: CallSignal) {
    this.#permits = permits;
    this.#accountId = accountId;
    this.#signal = signal;
  }

  /** `bytes`: what the run keeps by now, or will at once. Rejects with the reason of the signal if it fires first. */
  async keep(bytes: number): Promise<void> {
    if (bytes <= smallBytes || this.#release !== undefined) return;
    const release = await this.#permits.acquire(this.#accountId, this.#signal);
    // The run may have failed meanwhile.
    if (this.#hasEnded) release();
    else this.#release = release;
  }

  [Symbol.dispose](): void {
    this.#hasEnded = true;
    this.#release?.();
  }
}
