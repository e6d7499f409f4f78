/** A budget of bytes for each key and for the process: of the bodies, or of the responses, that are in progress. */

import { HubError } from '@datahub/service-kit/call/error';
import { Usage } from '@datahub/service-kit/usage';
import type { FastifyRequest } from 'fastify';

export interface ByteBudgetOptions {
  bytesMax: number;
  keyBytesMax: number;
  /** The last quarter of the budget is for what has at most this many bytes, so that large ones do not block it. */
  smallBytesMax: number;
  /** The sentences of the errors. */
  exceeded: { key: string; all: string };
}

const largeShare = 0.75;

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  readonly #usage = new Usage();

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  /** Adds bytes to the `held` ones of a request. Throws RATE_LIMITED, UNAVAILABLE, or CANCELLED if its client has left. */
  reserve(request: FastifyRequest, held: number, bytes: number): void {
    request.context.requireOpen();
    const { bytesMax, keyBytesMax, smallBytesMax, exceeded } = this.#options;
    const key = budgetOf(request);
    if (this.#usage.of(key) + bytes > keyBytesMax) throw busy('RATE_LIMITED', exceeded.key);
    const available = held + bytes <= smallBytesMax ? bytesMax : bytesMax * largeShare;
    if (this.#usage.all + bytes > available) throw busy('UNAVAILABLE', exceeded.all);
    this.#usage.add(key, bytes);
  }

  release(request: FastifyRequest, bytes: number): void {
    this.#usage.add(budgetOf(request), -bytes);
  }
}

/** Keys made with a key that has a rate share its budget. */
function budgetOf({ context: { principal } }: FastifyRequest): string {
  return principal?.budgets?.budgets[0]?.id ?? principal?.keyId ?? '';
}

const busy = (code: 'RATE_LIMITED' | 'UNAVAILABLE', message: string) =>
  new HubError(code, `${message} Try again later.`, { retryable: true, retryAfterMs: 1_000 });
