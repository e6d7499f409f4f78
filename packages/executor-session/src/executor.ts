/**
 * PORT between gateway and executor. In one process the gateway holds the executor itself; apart it holds a client
 * that gathers the executions of a turn or a few of the event loop in one message. Either way this is what it sees.
 */

import type { ExecuteRequest, ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';

/** Takes the bytes of one answer. */
export interface ExecutionReply {
  /**
   * A run of bytes, at most 256 KiB, owned by the receiver from now on. False: the receiver is behind, send no more
   * before the listener of `onDrain` was called. `last`: no more come, so that they can wait for the word that the
   * answer is whole.
   */
  chunk(bytes: Buffer, last?: boolean): boolean;
  /** One listener at a time, called each time the receiver has caught up. */
  onDrain(listener: () => void): void;
  /** Said before the answer is whole: a bound cut the rows. For formats that have no place to say it in their bytes. */
  truncated?(): void;
  /** Said before the first chunk: names in the context that the query does not know, percent-encoded and bounded. */
  unknownContext?(names: string): void;
}

export interface Executor
  extends Pick<Calls<typeof ExecutorServiceService>, 'testSource' | 'readSchema' | 'describeQuery'> {
  /**
   * Runs a stored query. Resolves when the answer is whole. Rejects with a HubError: before the first chunk nothing was
   * answered; after it the answer is broken and must not look complete. `ctx.signal` stops it at the database.
   */
  execute(request: ExecuteRequest, ctx: CallContext, reply: ExecutionReply): Promise<void>;
}
