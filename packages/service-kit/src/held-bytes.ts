/** Bounds the bytes of a process that wait, such as large rows for their readers. */

import { HubError } from './call/error.ts';
import { requireHeap } from './heap.ts';
import { Usage } from './usage.ts';

const bytesMaxDefault = 268_435_456;

export class HeldBytes {
  readonly #usage = new Usage();
  readonly #bytesMax: number;
  readonly #what: string;
  readonly #end: string;

  constructor(bytesMax = bytesMaxDefault, { what, end } = { what: 'large rows', end: 'their readers' }) {
    this.#bytesMax = bytesMax;
    this.#what = what;
    this.#end = end;
  }

  /** Throws UNAVAILABLE. What is alone, in an account or in all, may be of any size. An account holds at most half. */
  hold(accountId: string, bytes: number): void {
    requireHeap('grow');
    const own = this.#usage.of(accountId);
    if (own > 0 && own + bytes > this.#bytesMax / 2) throw this.#busy(' of this account');
    if (this.#usage.all > 0 && this.#usage.all + bytes > this.#bytesMax) throw this.#busy();
    this.#usage.add(accountId, bytes);
  }

  release(accountId: string, bytes: number): void {
    this.#usage.add(accountId, -bytes);
  }

  #busy(whose = ''): HubError {
    const message = `Too many ${this.#what}${whose} wait for ${this.#end}. Try again later.`;
    return new HubError('UNAVAILABLE', message, { retryable: true, retryAfterMs: 1_000 });
  }
}
