/**
 * Bounds the memory of lists. The bytes of a list count against the budget of responses as they are written, and what
 * they are written from takes several times as much. So few lists are made at a time, and accounts take turns.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import type { Handler } from '../http/route.ts';

/** In one gateway. */
const places = { allMax: 6, accountMax: 2, waitingMax: 200 };

/** Returns a function that makes handlers of lists wait for a place. They answer 429 if too many of the account wait. */
export function createListPlaces(): (handler: Handler) => Handler {
  const semaphore = createFairSemaphore(places);
  return (handler) => async (request, reply) => {
    const { principal, signal } = request.context;
    const release = await semaphore.acquire(principal?.accountId ?? '', signal).catch((err) => {
      if (signal.aborted) throw err;
      const message = `${places.waitingMax} lists of this account are waiting. Try again later.`;
      throw new HubError('RATE_LIMITED', message, { cause: err, retryable: true, retryAfterMs: 1_000 });
    });
    try {
      return await handler(request, reply);
    } finally {
      release();
    }
  };
}
