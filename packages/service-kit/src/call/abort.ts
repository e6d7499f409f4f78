/** What happens when a signal aborts. */

import type { CallSignal } from './call.ts';

/** Calls `listener` once the signal aborts, or at once if it has. Disposing of the result removes the listener. */
export function onAbort(signal: CallSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

/** Settles as `work` does, or rejects with the reason of the signal once it aborts. The work itself goes on. */
export async function orAborted<T>(
  work: Promise<T>,
  signal: CallSignal,
  toError: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  using _listening = onAbort(signal, () => aborted.reject(toError(signal.reason)));
  // Nobody waits for work that goes on.
  work.catch(() => {});
  return await Promise.race([work, aborted.promise]);
}
