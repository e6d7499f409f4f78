/** Places for calls that take much memory or time. Those of an account wait for each other, and accounts take turns. */

import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore, type SemaphoreSettings } from '@datahub/service-kit/fair-semaphore';

/** Resolves once the call has a place, which its first disposal gives back. Rejects with the reason of the signal if it fires. */
export type TakePlace = (call: Pick<CallContext, 'principal' | 'signal'>) => Promise<Disposable>;

/** `busy`: the message of RATE_LIMITED if too many calls of the account wait. */
export function createPlaces(bounds: SemaphoreSettings, busy: string): TakePlace {
  const semaphore = createFairSemaphore(bounds);
  return async ({ principal, signal }) => {
    const release = await semaphore.acquire(principal?.accountId ?? '', signal).catch((err) => {
      if (signal.aborted) throw err;
      throw new HubError('RATE_LIMITED', busy, { cause: err, retryable: true, retryAfterMs: 1_000 });
    });
    let isHeld = true;
    const giveBack = () => {
      if (isHeld) release();
      isHeld = false;
    };
    return { [Symbol.dispose]: giveBack };
  };
}
