/** The queue of executions that wait for a connection to one source. */

import { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError } from '@datahub/service-kit/call/error';
import type { AcquireOptions, Lease } from './pool-types.ts';

/** Serves the keys round-robin, and the items of one key in order. */
class FairQueue<T> {
  size = 0;
  readonly #queues = new Map<string, T[]>();

  push(key: string, item: T): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
    this.size++;
  }

  shift(): T | undefined {
    for (const [key, queue] of this.#queues) {
      const item = queue.shift();
      // Moves the key behind the others, if there are any.
      if (queue.length === 0 || this.#queues.size > 1) this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      this.size--;
      return item;
    }
    return undefined;
  }

  remove(key: string, item: T): boolean {
    const queue = this.#queues.get(key);
    const index = queue?.indexOf(item) ?? -1;
    if (queue === undefined || index === -1) return false;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(key);
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
  readonly #waiters = new FairQueue<Waiter>();
  readonly #deadlines = new Deadlines();

  get size(): number {
    return this.#waiters.size;
  }

  /** Rejects with `timeoutError()` after `waitMs`, and with CANCELLED when the caller leaves. */
  wait({ key, signal }: AcquireOptions, { waitMs, timeoutError, onSettled }: WaitOptions): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const leave = (err: HubError) => {
        if (this.#waiters.remove(key, waiter)) waiter.reject(err);
      };
      const abort = () => leave(callerLeft());
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
          reject(err);
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

export function callerLeft(): HubError {
  return new HubError('CANCELLED', 'The caller stopped waiting.', { stage: 'queue' });
}

export function stopping(): HubError {
  return new HubError('UNAVAILABLE', 'The hub is stopping. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}
