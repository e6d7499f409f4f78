/**
 * Long rows of a connection. Few of an account are collected at a time, because each takes megabytes until it is whole, and
 * what is made of one, which can take a hundred milliseconds, is made in a turn of its own.
 */

import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { TakeLongRow } from '../ports/server-stream.ts';
import type { LongMessage } from './shared-read-buffer.ts';

/** Rows that the connections of one account collect at a time. Other accounts never wait for them. */
const accountMax = 8;

/** Returns a function that takes a place of an account. */
export function createLongRows(): (accountId: string) => Promise<() => void> {
  const places = createFairSemaphore({ allMax: Infinity, accountMax, waitingMax: Infinity });
  const { signal } = new AbortController();
  return (accountId) => places.acquire(accountId, signal);
}

/** What one connection waits for before it reads on. */
export class LongRows {
  isWaiting = false;
  readonly #take: TakeLongRow | undefined;
  readonly #readOn: () => void;
  #giveBack: (() => void) | undefined;
  #isClosed = false;

  /** `readOn` is called at the end of a wait. */
  constructor(take: TakeLongRow | undefined, readOn: () => void) {
    this.#take = take;
    this.#readOn = readOn;
  }

  /** To be called after each read, and before the next one. True if that must wait. */
  look(message: LongMessage, isPaused: boolean): boolean {
    // A reader that is behind could keep the place for hours.
    if (message === undefined || (message === 'begun' && isPaused)) this.#release();
    if (message === undefined || isPaused || this.isWaiting) return this.isWaiting;
    if (message === 'whole') this.#await(nextTurn());
    else if (this.#giveBack === undefined && this.#take !== undefined) this.#await(this.#begin(this.#take));
    return this.isWaiting;
  }

  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #await(wait: Promise<void>): void {
    this.isWaiting = true;
    void wait.then(() => {
      this.isWaiting = false;
      this.#readOn();
    });
  }

  async #begin(take: TakeLongRow): Promise<void> {
    this.#giveBack = await take();
    if (this.#isClosed) this.#release();
  }

  #release(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }
}
