/**
 * One execution for all calls that want the same answer at the same time. It belongs to none of them: it fills a buffer
 * as fast as the database sends, and ends when the last caller has left, or at its own deadline.
 */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { CallStop } from '@datahub/service-kit/call/abort-signal';
import { HubError } from '@datahub/service-kit/call/error';
import type { AnswerStore, CacheEntry } from './answer-store.ts';

/** Undefined: the answer is too large to keep. */
export type FlightResult = CacheEntry | undefined;

export interface FlightOptions {
  store: AnswerStore;
  accountId: string;
  startedAt: number;
  /** It began for a caller who got an older answer, so it needs nobody to wait for it. */
  isRefresh: boolean;
}

/** Collects the answer of its execution. */
export class Flight implements ExecutionReply {
  readonly startedAt: number;
  readonly isRefresh: boolean;
  /** Ends the execution. */
  readonly stop = new CallStop();
  /** Settled by the execution, or before it ends if the answer is too large. */
  readonly result = Promise.withResolvers<FlightResult>();
  /** A limit cut the rows. */
  isTruncated = false;
  /** The answer alone is larger than any that is kept. */
  isTooLarge = false;
  /** Too large, or there was no room for it beside others. */
  hasOverflowed = false;
  /** An entry was renewed, and nothing collected. */
  isValidated = false;
  serverTiming: string | undefined;
  waiting = 0;
  readonly #store: AnswerStore;
  readonly #accountId: string;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor({ store, accountId, startedAt, isRefresh }: FlightOptions) {
    this.#store = store;
    this.#accountId = accountId;
    this.startedAt = startedAt;
    this.isRefresh = isRefresh;
    // There may be nobody who waits.
    this.result.promise.catch(() => {});
  }

  chunk(bytes: Buffer): boolean {
    if (this.hasOverflowed) return true;
    this.isTooLarge = this.#bytes + bytes.length > this.#store.answerBytesMax;
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

  /** The whole answer, in memory of its own. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(bytes, at);
    this.#free();
    return bytes;
  }

  /** Gives up what was collected. */
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
      return await Promise.race([this.result.promise, left]);
    } finally {
      this.waiting--;
      if (this.waiting === 0 && !this.isRefresh)
        this.stop.abort(new HubError('CANCELLED', 'All callers have left.'));
    }
  }
}
