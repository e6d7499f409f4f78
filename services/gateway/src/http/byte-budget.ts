/** A budget of bytes for each key, each account and the process: of the bodies, or of the responses, that are in progress. */

import { HubError } from '@datahub/service-kit/call/error';
import { requireHeap } from '@datahub/service-kit/heap';
import { FairUsage, Usage } from '@datahub/service-kit/usage';
import type { FastifyRequest } from 'fastify';

export interface ByteBudgetOptions {
  bytesMax: number;
  keyBytesMax: number;
  /** The last quarter of the budget is for what has at most this many bytes, so that large ones do not block it. */
  smallBytesMax: number;
  /** The sentences of the errors. */
  exceeded: { key: string; account: string; all: string };
}

const largeShare = 0.75;

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #keys = new Usage();
  readonly #large: FairUsage;
  readonly #small: FairUsage;
  readonly #parts = new WeakMap<FastifyRequest, FairUsage>();

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
    this.#large = new FairUsage(options.bytesMax * largeShare);
    this.#small = new FairUsage(options.bytesMax * (1 - largeShare));
  }

  /** Adds bytes to the `held` ones of a request. Throws RATE_LIMITED, UNAVAILABLE, or CANCELLED if its client has left. */
  reserve(request: FastifyRequest, held: number, bytes: number): void {
    request.context.requireOpen();
    requireHeap('grow');
    const { keyBytesMax, smallBytesMax, exceeded } = this.#options;
    const isSmall = held + bytes <= smallBytesMax;
    const key = budgetOf(request);
    // Large ones leave room for small ones of the same key, too.
    if (this.#keys.of(key) + bytes > (isSmall ? keyBytesMax / largeShare : keyBytesMax))
      throw busy('RATE_LIMITED', exceeded.key);
    const account = accountOf(request);
    const before = this.#parts.get(request);
    const parts = isSmall ? [this.#small, this.#large] : [this.#large];
    const own = (part: FairUsage) => (part === before ? held : 0);
    const part = parts.find((one) => one.hasRoom(account, { wanted: held + bytes, own: own(one) }));
    if (part === undefined) {
      const isFull = parts.every((one) => one.isFull({ wanted: held + bytes, own: own(one) }));
      throw isFull ? busy('UNAVAILABLE', exceeded.all) : busy('RATE_LIMITED', exceeded.account);
    }
    before?.add(account, -held);
    part.add(account, held + bytes);
    this.#parts.set(request, part);
    this.#keys.add(key, bytes);
  }

  release(request: FastifyRequest, bytes: number): void {
    this.#keys.add(budgetOf(request), -bytes);
    this.#parts.get(request)?.add(accountOf(request), -bytes);
    this.#parts.delete(request);
  }
}

/** Keys made with a key that has a rate share its budget. */
function budgetOf({ context: { principal } }: FastifyRequest): string {
  return principal?.budgets?.budgets[0]?.id ?? principal?.keyId ?? '';
}

const accountOf = ({ context: { principal } }: FastifyRequest): string => principal?.accountId ?? '';

const busy = (code: 'RATE_LIMITED' | 'UNAVAILABLE', message: string) =>
  new HubError(code, `${message} Try again later.`, { retryable: true, retryAfterMs: 1_000 });
