/**
 * The port between gateway and executor. In one process, the gateway calls the executor directly. Between processes, it
 * calls a client, which sends all executions of one iteration of the event loop in one message.
 */

import type {
  CacheInfo,
  ExecuteRequest,
  ExecutorServiceService,
  ReadStatisticsRequest,
  RecordBatch,
} from '@datahub/proto/executor/v1/executor';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FleetStatistics } from './fleet-statistics.ts';

/** What a truncated answer contains, and lacks. */
export interface Cut {
  rows: number;
  /** True if the statement returned further results. */
  moreResults: boolean;
}

/** Receives the bytes of one answer. */
export interface ExecutionReply {
  /**
   * Passes at most 256 KiB, which the receiver then owns. Returns false if the receiver is behind: send no more until it
   * calls the listener of `onDrain`. If `last` is true, no more chunks follow, so the receiver may delay this one until
   * `execute` resolves.
   */
  chunk(bytes: Buffer, last?: boolean): boolean;
  /** Sets the one listener, which is called each time the receiver has caught up. */
  onDrain(listener: () => void): void;
  /**
   * Called before `execute` resolves if a limit cut the rows, or if there are further results, for formats whose bytes
   * cannot say so.
   */
  truncated?(cut: Cut): void;
  /** Called before the first chunk with the unknown names in the context, percent-encoded and bounded. */
  unknownContext?(names: string): void;
  /** Called before the first chunk with the times of the execution so far, as metrics of the header `Server-Timing`. */
  timings?(metrics: string): void;
  /** The records of a request with `load`. A batch is read only after a chunk has asked for it. */
  input?: AsyncIterable<RecordBatch>;
  /** Called before the first chunk if the request has `tellSource`. */
  source?(sourceId: string, reads: boolean): void;
  /** Called at the latest before `execute` rejects, if the executor takes `ExecuteRequest.operation` into account. */
  notesCommit?(): void;
  /** Called before the first chunk, or if there is none, for a query that has a cache. */
  cached?(info: CacheInfo): void;
}

export interface Executor
  extends Pick<
    Calls<typeof ExecutorServiceService>,
    | 'testSource'
    | 'readSchema'
    | 'describeQuery'
    | 'checkQuery'
    | 'checkSource'
    | 'findCommit'
    | 'fetchIssuerKeys'
    | 'fetchClientDocument'
  > {
  /**
   * Runs a stored query and resolves when the answer is complete. If it rejects, with a HubError, after the first
   * chunk, the answer must not look complete. `ctx.signal` cancels the statement at the database.
   */
  execute(request: ExecuteRequest, ctx: CallContext, reply: ExecutionReply): Promise<void>;
  /** Never rejects because of an executor that does not answer. */
  readStatistics(request: ReadStatisticsRequest, ctx: CallContext): Promise<FleetStatistics>;
}

/**
 * Nothing was run. The query has a cache, so the caller must send the call to the executor that it chooses for the
 * query.
 */
export class Rerouted extends HubError {
  constructor() {
    super('UNAVAILABLE', 'Another executor caches the answers of this query. Try again.', {
      retryable: true,
    });
  }
}
