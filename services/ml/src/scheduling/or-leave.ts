/** Ends a call whose caller no longer waits, while its work goes on. */

import type { CallSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { cancelled } from './time-slices.ts';

/** Settles as the work does, or rejects with `toError(reason)` if the caller leaves or its deadline passes first. */
export async function orLeave<T>(
  work: Promise<T>,
  signal: CallSignal,
  toError: (reason: HubError) => HubError = (reason) => reason,
): Promise<T> {
  const left = Promise.withResolvers<never>();
  const leave = () =>
    left.reject(toError(signal.reason instanceof HubError ? signal.reason : cancelled(signal)));
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  // Nobody waits for the work that goes on.
  work.catch(() => {});
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
