/** Executions that the gateway can stop while the request goes on. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import { onAbort } from '@datahub/service-kit/call/abort';
import { type CallContext, CallStop } from '@datahub/service-kit/call/call';
import type { Upstreams } from '../upstreams.ts';

/** A context with its own signal. `stop` fires it; so does the signal of `context`. */
export function stoppable(context: CallContext): { ctx: CallContext; stop: CallStop } {
  const { principal, requestId, traceparent, deadlineAt, signal } = context;
  const stop = new CallStop();
  onAbort(signal, () => stop.abort(signal.reason));
  return { ctx: { principal, requestId, traceparent, deadlineAt, signal: stop }, stop };
}

/** Takes chunks, and works on them after the last one has arrived. */
export interface WorkingReply extends ExecutionReply {
  /** Resolves when all work is done. */
  finish(): Promise<void>;
}

export interface ExecuteIntoOptions {
  executor: Pick<Upstreams['executor'], 'execute'>;
  execution: ExecuteRequest;
  ctx: CallContext;
}

/** Resolves when `reply` has finished. If the signal of `ctx` has fired, rejects with its reason. */
export async function executeInto(
  reply: WorkingReply,
  { executor, execution, ctx }: ExecuteIntoOptions,
): Promise<void> {
  try {
    await executor.execute(execution, ctx, reply);
    await reply.finish();
  } catch (err) {
    throw ctx.signal.aborted ? ctx.signal.reason : err;
  }
}
