/** Repeats calls that failed with a retryable error. */

import { setTimeout as wait } from 'node:timers/promises';
import { type CallSignal, toAbortSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';

const triesMax = 5;
const pauseMs = { default: 200, max: 1_000 };

/**
 * Repeats a call up to 5 times while its error is retryable. The call must be idempotent. When the signal aborts, rejects
 * at once with the last error.
 */
export async function repeated<T>(call: () => Promise<T>, signal: CallSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (err) {
      if (!(err instanceof HubError) || !err.retryable || tries === triesMax || signal.aborted) throw err;
      const pause = Math.min(err.retryAfterMs ?? pauseMs.default, pauseMs.max);
      await wait(pause, undefined, { signal: toAbortSignal(signal) }).catch(() => {
        throw err;
      });
    }
  }
}
