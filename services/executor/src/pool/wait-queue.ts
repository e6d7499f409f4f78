/** The line of executions that wait for a connection of one source. */

import { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError } from '@datahub/service-kit/call/error';
import type { AcquireOptions, Lease } from './pool-types.ts';

/** Keys take turns, and within a key whoever came first. */
export class FairQueue<T> {
  size = 0;
  private readonly lines = new Map<string, T[]>();

  push(key: string, item: T): void {
    const line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, [item]);
    else line.push(item);
    this.size++;
  }

  shift(): T | undefined {
    for (const [key, line] of this.lines) {
      const item = line.shift();
      // The key goes to the end of the round, where there are others in it.
      if (line.length === 0 || this.lines.size > 1) this.lines.delete(key);
      if (line.length > 0) this.lines.set(key, line);
      this.size--;
      return item;
    }
    return undefined;
  }

  remove(key: string, item: T): boolean {
    const line = this.lines.get(key);
    const index = line?.indexOf(item) ?? -1;
    if (line === undefined || index === -1) return false;
    line.splice(index, 1);
    if (line.length === 0) this.lines.delete(key);
    this.size--;
    return true;
  }
}

interface Waiter {
  resolve(lease: Lease): void;
  reject(err: HubError): void;
}

interface Patience {
  waitMs: number;
  late: () => HubError;
  /** Called when the wait is over, however it ended. */
  left: () => void;
}

/** A fair queue whose members leave by themselves when their time is up or their caller has gone. */
export class PoolQueue {
  private readonly waiters = new FairQueue<Waiter>();
  private readonly deadlines = new Deadlines();

  get size(): number {
    return this.waiters.size;
  }

  /** Rejects with `late()` after `waitMs`, and with CANCELLED when the caller has gone. */
  join({ key, signal }: AcquireOptions, { waitMs, late, left }: Patience): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const leave = (err: HubError) => {
        if (this.waiters.remove(key, waiter)) waiter.reject(err);
      };
      const abort = () => leave(callerGone());
      const deadline = this.deadlines.add(waitMs, () => leave(late()));
      const done = () => {
        this.deadlines.remove(deadline);
        signal.removeEventListener('abort', abort);
        left();
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

export function callerGone(): HubError {
  return new HubError('CANCELLED', 'The caller stopped waiting.', { stage: 'queue' });
}

export function stopping(): HubError {
  return new HubError('UNAVAILABLE', 'The hub is stopping. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}
