/** A call on behalf of a request that can be stopped before the request. */

import { CallStop } from '@datahub/service-kit/call/abort-signal';
import type { CallContext } from '@datahub/service-kit/call/call';

/** The signal of `ctx` also fires when that of `context` does. */
export function stoppable(context: CallContext): { ctx: CallContext; stop: CallStop } {
  const { principal, requestId, traceparent, deadlineAt, signal } = context;
  const stop = new CallStop();
  const forward = () => stop.abort(signal.reason);
  if (signal.aborted) forward();
  else signal.addEventListener('abort', forward, { once: true });
  return { ctx: { principal, requestId, traceparent, deadlineAt, signal: stop }, stop };
}
