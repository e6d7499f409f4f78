/** Repeats calls that failed, or whose outcome is unknown. */

import { setTimeout as wait } from 'node:timers/promises';
import { type CallSignal, toAbortSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';

const triesDefault = 5;
const pauseMs = { default: 200, max: 1_000 };

/**
 * Repeats a call while its error is retryable or its outcome is unknown. The call must be idempotent. When the signal
 * aborts, rejects at once with the last error.
 */
export async function repeated<T>(
  call: () => Promise<T>,
  signal: CallSignal,
  triesMax = triesDefault,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (err) {
      const mayPass = err instanceof HubError && (err.retryable === true || err.code === 'OUTCOME_UNKNOWN');
      if (!mayPass || tries === triesMax || signal.aborted) throw err;
      const pause = Math.min(err.retryAfterMs ?? pauseMs.default, pauseMs.max);
      await wait(pause, undefined, { signal: toAbortSignal(signal) }).catch(() => {
        throw err;
      });
    }
  }
}
