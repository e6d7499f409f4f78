/**
 * One execution for all concurrent calls with the same cache key. It belongs to none of them: it fills a buffer as fast
 * as the database sends, and ends when the last caller has left, or at its own deadline.
 */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import type { CacheEntry, ResponseStore } from './response-store.ts';

/** Undefined if the answer is too large to cache. */
export type FlightResult = CacheEntry | undefined;

export interface FlightOptions {
  store: ResponseStore;
  accountId: string;
  startedAt: number;
  /** True if it was started for a caller who got a stale answer, so it goes on without waiting callers. */
  isRefresh: boolean;
}

/** Collects the answer of its execution. */
export class Flight implements ExecutionReply {
  readonly startedAt: number;
  readonly isRefresh: boolean;
  /** Ends the execution. */
  readonly stop = new CallStop();
  /** Settles when the execution ends, or earlier if the answer is too large. */
  readonly result = Promise.withResolvers<FlightResult>();
  /** True if a limit cut the rows. */
  isTruncated = false;
  /** True if the answer is larger than the limit for one answer. */
  isTooLarge = false;
  /** True if the answer is too large, or the cache had no room for it. */
  hasOverflowed = false;
  /** True if the validation renewed the entry, so the query did not run. */
  isValidated = false;
  serverTiming: string | undefined;
  waiting = 0;
  readonly #store: ResponseStore;
  readonly #accountId: string;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor({ store, accountId, startedAt, isRefresh }: FlightOptions) {
    this.#store = store;
    this.#accountId = accountId;
    this.startedAt = startedAt;
    this.isRefresh = isRefresh;
    // If no caller waits, a rejection would be unhandled.
    this.result.promise.catch(() => {});
  }

  chunk(bytes: Buffer): boolean {
    if (this.hasOverflowed) return true;
    this.isTooLarge = this.#bytes + bytes.length > this.#store.responseBytesMax;
    if (this.isTooLarge || !this.#store.reserve(this.#accountId, bytes.length)) {
      this.hasOverflowed = true;
      this.#free();
      this.result.resolve(undefined);
      this.stop.abort(new HubError('CANCELLED', 'The answer is too large to keep.'));
      return true;
    }
    this.#bytes += bytes.length;
    this.#chunks.push(bytes);
    return true;
  }

  onDrain(): void {}

  timings(metrics: string): void {
    this.serverTiming = metrics;
  }

  truncated(): void {
    this.isTruncated = true;
  }

  /** Returns a copy of the whole answer, and frees the chunks. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(bytes, at);
    this.#free();
    return bytes;
  }

  /** Frees the chunks and rejects the result. */
  fail(err: unknown): void {
    this.#free();
    this.result.reject(err);
  }

  #free(): void {
    this.#store.release(this.#accountId, this.#bytes);
    this.#bytes = 0;
    this.#chunks = [];
  }

  /** Settles with the result, or when `left` rejects because the caller left. */
  async wait(left: Promise<never>): Promise<FlightResult> {
    this.waiting++;
    try {
      return await joined(Promise.race([this.result.promise, left]));
    } finally {
      this.waiting--;
      if (this.waiting === 0 && !this.isRefresh)
        this.stop.abort(new HubError('CANCELLED', 'All callers have left.'));
    }
  }
}
