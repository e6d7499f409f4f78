/** The queue of executions that wait for a connection to one source, and the estimate of how long it takes. */

import { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError } from '@datahub/service-kit/call/error';
import type { AcquireOptions, Lease, Member } from './pool-types.ts';

/** Serves the keys round-robin, and the items of one key in order. */
class FairQueue<T> {
  size = 0;
  private readonly queues = new Map<string, T[]>();

  push(key: string, item: T): void {
    const queue = this.queues.get(key);
    if (queue === undefined) this.queues.set(key, [item]);
    else queue.push(item);
    this.size++;
  }

  shift(): T | undefined {
    for (const [key, queue] of this.queues) {
      const item = queue.shift();
      // Moves the key behind the others, if there are any.
      if (queue.length === 0 || this.queues.size > 1) this.queues.delete(key);
      if (queue.length > 0) this.queues.set(key, queue);
      this.size--;
      return item;
    }
    return undefined;
  }

  remove(key: string, item: T): boolean {
    const queue = this.queues.get(key);
    const index = queue?.indexOf(item) ?? -1;
    if (queue === undefined || index === -1) return false;
    queue.splice(index, 1);
    if (queue.length === 0) this.queues.delete(key);
    this.size--;
    return true;
  }
}

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
  private readonly waiters = new FairQueue<Waiter>();
  private readonly deadlines = new Deadlines();

  get size(): number {
    return this.waiters.size;
  }

  /** Rejects with `timeoutError()` after `waitMs`, and with CANCELLED when the caller leaves. */
  wait({ key, signal }: AcquireOptions, { waitMs, timeoutError, onSettled }: WaitOptions): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const leave = (err: HubError) => {
        if (this.waiters.remove(key, waiter)) waiter.reject(err);
      };
      const abort = () => leave(callerLeft());
      const deadline = this.deadlines.add(waitMs, () => leave(timeoutError()));
      const done = () => {
        this.deadlines.remove(deadline);
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
          reject(err);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.waiters.push(key, waiter);
    });
  }

  shift(): Waiter | undefined {
    return this.waiters.shift();
  }

  rejectAll(err: HubError): void {
    for (let waiter = this.shift(); waiter; waiter = this.shift()) waiter.reject(err);
  }
}

/** A queue that empties within this time is a burst at a fast source, however many wait in it. */
const burstMs = 250;

const retryMinMs = 250;
const retryMaxMs = 30_000;

/** Estimates from the leases of late how long the queue takes, and when a rejected caller should retry. */
export class RetryEstimator {
  /** Moving average of the time from lease to release; 0 before the first release. */
  private leaseMs = 0;
  /** When the caller who was rejected last should retry. */
  private lastRetryAt = 0;
  private readonly members: Iterable<Member>;
  private readonly sizeMax: number;
  private readonly random: () => number;

  constructor(members: Iterable<Member>, sizeMax: number, random: () => number) {
    this.members = members;
    this.sizeMax = sizeMax;
    this.random = random;
  }

  released(leaseMs: number): void {
    this.leaseMs += (leaseMs - this.leaseMs) / 8;
  }

  /**
   * When a caller should retry who was rejected by a queue of this length: once the queue is empty, and one place after
   * the caller who was rejected before. If all retried at once, they would be a burst and be rejected again.
   */
  retryAfterMs(waiting: number, now: number): number {
    const estimatedMs = this.advanceMs(now);
    // Before the first release there is nothing to estimate from.
    const advanceMs = this.leaseMs > 0 ? estimatedMs : Math.max(estimatedMs, retryMinMs / this.sizeMax);
    const queueEndsAt = now + Math.max(waiting * estimatedMs, retryMinMs);
    this.lastRetryAt = Math.max(queueEndsAt, this.lastRetryAt + advanceMs);
    const latest = now + retryMaxMs;
    if (this.lastRetryAt > latest) {
      this.lastRetryAt = latest;
      return Math.round(retryMaxMs * (1 - this.random() / 2));
    }
    return Math.round(this.lastRetryAt - now);
  }

  /** How long the queue takes to advance by one place, judging by past leases and by those in progress. */
  private advanceMs(now: number): number {
    let leaseMs = this.leaseMs;
    for (const { busy, leasedAt } of this.members)
      if (busy) leaseMs = Math.max(leaseMs, (now - leasedAt) / 2);
    return leaseMs / this.sizeMax;
  }

  /** True if a queue of this length is known to empty within `burstMs`. */
  isBurst(waiting: number, now: number): boolean {
    return this.leaseMs > 0 && waiting * this.advanceMs(now) <= burstMs;
  }
}

export function callerLeft(): HubError {
  return new HubError('CANCELLED', 'The caller stopped waiting.', { stage: 'queue' });
}

export function stopping(): HubError {
  return new HubError('UNAVAILABLE', 'The hub is stopping. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}
