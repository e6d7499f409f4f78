/** Bounds the bytes of large rows that wait for their readers, of all answers of a process. */

import { HubError } from '@datahub/service-kit/call/error';
import { Usage } from '@datahub/service-kit/usage';

const bytesMaxDefault = 268_435_456;

export class HeldBytes {
  readonly #usage = new Usage();
  readonly #bytesMax: number;

  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax;
  }

  /** Throws UNAVAILABLE. The only row of an account, or of all, may be of any size. An account holds at most half. */
  hold(accountId: string, bytes: number): void {
    const own = this.#usage.of(accountId);
    if (own > 0 && own + bytes > this.#bytesMax / 2) throw busy('of this account wait for their readers');
    if (this.#usage.all > 0 && this.#usage.all + bytes > this.#bytesMax) throw busy('wait for their readers');
    this.#usage.add(accountId, bytes);
  }

  release(accountId: string, bytes: number): void {
    this.#usage.add(accountId, -bytes);
  }
}

const busy = (what: string) =>
  new HubError('UNAVAILABLE', `Too many large rows ${what}. Try again later.`, {
    retryable: true,
    retryAfterMs: 1_000,
  });
