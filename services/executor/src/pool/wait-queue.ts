/** The queue of executions that wait for a connection to one source, and how long they will wait. */

import { type CallSignal, Deadlines, isDeadline } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { FairQueue } from '@datahub/service-kit/fair-queue';
import { goOnWith } from '@datahub/service-kit/yield-to-loop';
import type { AcquireOptions, Lease, Member } from './pool-types.ts';

interface Waiter {
  resolve(lease: Lease): void;
  reject(err: HubError): void;
}

interface WaitOptions {
  waitMs: number;
  timeoutError: () => HubError;
  /** Called when the wait has ended, in whatever way. */
  onSettled: () => void;
}

/** A fair queue that drops waiters whose time is up or whose caller has left. */
export class WaitQueue {
  readonly #waiters = new FairQueue<Waiter>();
  readonly #deadlines = new Deadlines();

  get size(): number {
    return this.#waiters.size;
  }

  /** Rejects with `timeoutError()` after `waitMs` or at the deadline of the call, and with CANCELLED when the caller leaves. */
  wait({ key, signal }: AcquireOptions, { waitMs, timeoutError, onSettled }: WaitOptions): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const leave = (err: HubError) => {
        if (this.#waiters.remove(key, waiter)) waiter.reject(err);
      };
      const abort = () => leave(abortError(signal, timeoutError));
      const deadline = this.#deadlines.add(waitMs, () => leave(timeoutError()));
      const done = () => {
        this.#deadlines.remove(deadline);
        signal.removeEventListener('abort', abort);
        onSettled();
      };
      const waiter: Waiter = {
        resolve: (lease) => {
          done();
          resolve(lease);
        },
        reject: (err) => {
          done();
          // A server that goes away ends all waits.
          goOnWith(() => reject(err));
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiters.push(key, waiter);
    });
  }

  shift(): Waiter | undefined {
    return this.#waiters.shift();
  }

  rejectAll(err: HubError): void {
    for (let waiter = this.shift(); waiter; waiter = this.shift()) waiter.reject(err);
  }
}

/** The error of a caller that left, of one whose deadline has passed, or of one that has to make way. */
export function abortError({ reason }: CallSignal, timeoutError: () => HubError): HubError {
  if (isDeadline(reason)) return timeoutError();
  if (reason instanceof HubError && reason.code === 'SOURCE_BUSY') return reason;
  return new HubError('CANCELLED', 'The caller stopped waiting.', { stage: 'queue' });
}

export function stopping(): HubError {
  return new HubError('UNAVAILABLE', 'The hub is stopping. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}

const retryMinMs = 250;
const retryMaxMs = 30_000;
/** The estimate covers about this much time of use of each connection. */
const memoryMs = 1_000;
const leaseMinMs = 0.01;

export class WaitEstimator {
  /** Leases per millisecond of use of one connection; 0 before the first release. */
  #pace = 0;
  /** When the caller who was rejected last should retry. */
  #lastRetryAt = 0;
  readonly #members: Iterable<Member>;
  readonly #sizeMax: number;
  readonly #random: () => number;

  constructor(members: Iterable<Member>, sizeMax: number, random: () => number) {
    this.#members = members;
    this.#sizeMax = sizeMax;
    this.#random = random;
  }

  /**
   * Leases count by their length, so the average is the rate at which the source really serves: when everything stands
   * still for a moment, the few leases of that moment outweigh neither the many before them nor those that follow.
   */
  released(leaseMs: number): void {
    const ms = Math.max(leaseMs, leaseMinMs);
    const share = this.#pace === 0 ? 1 : 1 - Math.exp(-ms / (memoryMs * this.#sizeMax));
    this.#pace += (1 / ms - this.#pace) * share;
  }

  /**
   * How many executions will have a connection within `waitMs`, from the members and from `further` connections. A
   * connection that has been busy for longer than usual is expected to stay busy for as long again, and to serve at the
   * usual pace from then on.
   */
  servedWithin(waitMs: number, further: number, now: number): number {
    const usualMs = this.#usualMs;
    let usableMs = further * waitMs;
    for (const { busy, leasedAt } of this.#members) {
      const overdueMs = busy ? Math.max(0, now - leasedAt - usualMs) : 0;
      usableMs += Math.max(0, waitMs - overdueMs);
    }
    // Before the first release there is no pace to judge by.
    if (this.#pace === 0) return usableMs > 0 ? Number.POSITIVE_INFINITY : 0;
    return usableMs * this.#pace;
  }

  /**
   * When a caller should retry who was rejected by a queue of this length: once the queue is empty, and one place after
   * the caller who was rejected before. If all retried at once, they would be a burst and be rejected again.
   */
  retryAfterMs(waiting: number, now: number): number {
    const estimatedMs = this.#advanceMs(now);
    // Before the first release there is nothing to estimate from.
    const advanceMs = this.#pace > 0 ? estimatedMs : Math.max(estimatedMs, retryMinMs / this.#sizeMax);
    const queueEndsAt = now + Math.max(waiting * estimatedMs, retryMinMs);
    this.#lastRetryAt = Math.max(queueEndsAt, this.#lastRetryAt + advanceMs);
    const latest = now + retryMaxMs;
    if (this.#lastRetryAt > latest) {
      this.#lastRetryAt = latest;
      return Math.round(retryMaxMs * (1 - this.#random() / 2));
    }
    return Math.round(this.#lastRetryAt - now);
  }

  /** How long the queue takes to advance by one place, judging by past leases and by those in progress. */
  #advanceMs(now: number): number {
    let leaseMs = this.#usualMs;
    for (const { busy, leasedAt } of this.#members)
      if (busy) leaseMs = Math.max(leaseMs, (now - leasedAt) / 2);
    return leaseMs / this.#sizeMax;
  }

  get #usualMs(): number {
    return this.#pace === 0 ? 0 : 1 / this.#pace;
  }
}
