/** Executes a stored query: authorize → resolve → bind → run → rows. All access to the data of users goes through here. */

import type { ExecutionReply, Executor } from '@datahub/executor-session/executor';
import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import type { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError, type SqlFault, type Stage } from '@datahub/service-kit/call/error';
import type { Span, Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { QueryDefinition, SourceDefinition } from '../definitions/definition.ts';
import type { Definitions } from '../definitions/definition-cache.ts';
import { NeverAnswered, type Outcome, type RunOptions, type Statement } from '../engine.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import type { Lease } from '../pool/pool-types.ts';
import type { RowFormat, RowSink } from '../row-sink.ts';
import { CancelUnconfirmed, cancelReason, withCancellation } from './cancellation.ts';
import { type ErrorMapping, toFailure, withoutValues } from './execution-error.ts';
import { contextOfForm, requireRead } from './form.ts';
import { keyLimits } from './key-limits.ts';
import {
  type CompileQuery,
  type ExecutionLimits,
  leastOf,
  type PreparedQuery,
  requireAllowed,
  runOptionsOf,
  timeoutMsOf,
} from './prepare.ts';
import { toServerTiming } from './server-timing.ts';
import { toHeaderText } from './unknown-context.ts';

export type Timing = Pick<Execution, 'queueMs' | 'durationMs'>;

/** Writes one answer: its rows, then what follows them. */
export interface ResponseWriter extends RowSink {
  finish(outcome: Outcome, timing: Timing): void;
  /** Drops what was not sent yet, because the execution failed. */
  abandon(): void;
}

export interface ResponseOptions {
  format: RowFormat;
  numbers: 'auto' | 'string';
  meta: boolean;
  reply: ExecutionReply;
}

const formats: Partial<Record<Format, RowFormat>> = {
  [Format.FORMAT_NDJSON]: 'ndjson',
  [Format.FORMAT_CSV]: 'csv',
};

/** The state of one execution. Events take their figures from it. */
export class Execution implements ExecutionReply, ErrorMapping {
  readonly request: ExecuteRequest;
  readonly ctx: CallContext;
  readonly now: () => number;
  readonly startedAt: number;
  stage: Stage = 'queue';
  query: QueryDefinition | undefined;
  prepared: PreparedQuery | undefined;
  statement: Statement | undefined;
  outcome: Outcome | undefined;
  timeoutMs = 0;
  deadlineAt: number;
  /** From the start until a connection was acquired. */
  queueMs = 0;
  /** From then until the statement ended. */
  durationMs = 0;
  bytes = 0;
  /** Only where tracing is on. */
  readonly span: Span | undefined;
  /** When the query was prepared and the wait for a connection began; 0 before. */
  preparedAt = 0;
  /** When a connection was acquired; 0 before. */
  runAt = 0;
  /** The connection had run other statements before. */
  isReused = false;
  private readonly reply: ExecutionReply;

  constructor(
    request: ExecuteRequest,
    ctx: CallContext,
    { reply, now, tracing }: { reply: ExecutionReply; now: () => number; tracing?: Tracing | undefined },
  ) {
    this.request = request;
    this.ctx = ctx;
    this.reply = reply;
    this.now = now;
    this.startedAt = now();
    this.deadlineAt = ctx.deadlineAt;
    const attributes = { 'datahub.query.id': request.queryId };
    this.span = tracing?.start('execute', { parent: ctx.traceparent, kind: 'internal', attributes });
  }

  /** For calls to other services. */
  get traceparent(): string | undefined {
    return this.span?.traceparent ?? this.ctx.traceparent;
  }

  get responseOptions(): ResponseOptions {
    const { format, options } = this.request;
    return {
      format: formats[format] ?? 'json',
      numbers: options?.numbersAsStrings ? 'string' : 'auto',
      meta: options?.meta ?? false,
      reply: this,
    };
  }

  onPrepared(query: QueryDefinition, prepared: PreparedQuery, timeoutMs: number): void {
    this.query = query;
    this.preparedAt = this.now();
    this.prepared = prepared;
    this.timeoutMs = timeoutMs;
    this.deadlineAt = Math.min(this.deadlineAt, this.startedAt + timeoutMs);
  }

  onConnection({ uses }: Lease): void {
    this.stage = 'execute';
    this.isReused = uses > 1;
    this.runAt = this.now();
    this.queueMs = this.runAt - this.startedAt;
  }

  onOutcome(outcome: Outcome): void {
    this.outcome = outcome;
    if (outcome.truncated) this.reply.truncated?.();
    this.durationMs = this.now() - this.runAt;
    if (this.bytes === 0) this.reply.timings?.(toServerTiming(this, 'db', this.durationMs));
  }

  chunk(bytes: Buffer, last?: boolean): boolean {
    if (this.bytes === 0 && this.outcome === undefined)
      this.reply.timings?.(toServerTiming(this, 'first-row', this.now() - this.runAt));
    this.stage = 'stream';
    this.bytes += bytes.length;
    return this.reply.chunk(bytes, last);
  }

  onDrain(listener: () => void): void {
    this.reply.onDrain(listener);
  }

  /** Maps a position in the text that was run to the stored text. Before the run, faults are of the stored text. */
  mapLocation(fault: SqlFault): SqlFault {
    const { prepared, statement } = this;
    return prepared && statement && this.runAt > 0 ? prepared.mapLocation(fault, statement) : fault;
  }

  redactMessage(message: string): string {
    return withoutValues(this.prepared?.nameVariables(message) ?? message, this.statement?.params ?? []);
  }

  /** Replaces CANCELLED by the reason for the cancel: the caller left, or time was up. */
  causeOf(err: unknown): unknown {
    const { signal } = this.ctx;
    const cancelled = err instanceof HubError && err.code === 'CANCELLED';
    return cancelled && signal.aborted ? cancelReason(signal, this.now() >= this.deadlineAt) : err;
  }
}

export interface ExecuteDeps {
  definitions: Pick<Definitions, 'cached' | 'query'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  compile: CompileQuery;
  createWriter(options: ResponseOptions): ResponseWriter;
  limits: ExecutionLimits;
  events: {
    executed(run: Execution): void;
    failed(run: Execution, err: HubError): void;
  };
  tracing?: Tracing | undefined;
  now: () => number;
  deadlines: Deadlines;
}

export function createExecute(deps: ExecuteDeps): Executor['execute'] {
  const { definitions, pools, compile, limits, now } = deps;
  return async (request, ctx, reply) => {
    const run = new Execution(request, ctx, { reply, now, tracing: deps.tracing });
    try {
      const principal = requirePrincipal(ctx);
      const query =
        definitions.cached(request.queryId, principal) ??
        (await definitions.query(request.queryId, principal, {
          signal: ctx.signal,
          traceparent: run.traceparent,
        }));
      run.stage = 'prepare';
      const prepared = compile(query);
      run.onPrepared(query, prepared, timeoutMsOf(query, request.options, limits));
      const { form } = request;
      requireAllowed(principal, query, form === undefined ? prepared.kind : 'read');
      if (form !== undefined) requireRead(prepared);
      const options = runOptionsOf(request.options, prepared, {
        timeoutMs: run.timeoutMs,
        rowsMax: leastOf(keyLimits.maxRows(principal.limits), limits.rowsMax || undefined),
      });
      const pinnedJson = keyLimits.context(principal.limits);
      const statement = prepared.bind({
        pinnedJson,
        contextJson:
          form === undefined ? request.contextJson : contextOfForm(form, { query, prepared, pinnedJson }),
        strict: request.options?.strict || keyLimits.strict(principal.limits),
        onUnknown: (names) => reply.unknownContext?.(toHeaderText(names)),
      });
      run.statement = statement;
      if (form?.checkOnly) return run.span?.end({});
      const pool = pools.pool(query.source);
      await runOn(run, {
        pool,
        statement,
        options,
        key: principal.keyId,
        bytes: request.contextJson.length,
        deps,
      });
      deps.events.executed(run);
    } catch (err) {
      const failure = toFailure(run.causeOf(err), run.stage, run);
      deps.events.failed(run, failure);
      throw failure;
    }
  };
}

interface Work {
  pool: Pool;
  statement: Statement;
  options: RunOptions;
  key: string;
  /** Of the values. */
  bytes: number;
  deps: ExecuteDeps;
}

async function runOn(run: Execution, work: Work): Promise<void> {
  try {
    await runOnce(run, work);
  } catch (err) {
    if (!isStale(err, run, work.statement)) throw err;
    // The other idle connections are probably dead too. Close them, so that the retry opens a new one.
    work.pool.closeIdle();
    await runOnce(run, work);
  }
}

/** One function on purpose: each further await costs every execution half a microsecond. */
async function runOnce(run: Execution, { pool, statement, options, key, bytes, deps }: Work): Promise<void> {
  run.stage = 'queue';
  const { deadlineAt, now } = run;
  const { signal } = run.ctx;
  const lease = pool.tryAcquire() ?? (await pool.acquire({ key, bytes, deadlineAt, signal }));
  run.onConnection(lease);
  const { connection } = lease;
  const writer = deps.createWriter(run.responseOptions);
  try {
    if (signal.aborted) throw cancelReason(signal, now() >= deadlineAt);
    const { deadlines } = deps;
    const running = connection.run(statement, writer, options);
    const outcome = await withCancellation(running, { connection, signal, deadlineAt, now, deadlines });
    run.onOutcome(outcome);
    writer.finish(outcome, run);
  } catch (err) {
    writer.abandon();
    throw statement.kind === 'read' ? err : toUnknownOutcome(err);
  } finally {
    pool.release(lease);
  }
}

/**
 * The outcome of a write is unknown if its connection died, or was closed because the cancel was not confirmed. The hub
 * never repeats such a write, and tells the caller to check first.
 */
function toUnknownOutcome(err: unknown): unknown {
  const lost = err instanceof CancelUnconfirmed || (err instanceof HubError && err.code === 'SOURCE_BROKEN');
  if (!lost) return err;
  return new HubError(
    'OUTCOME_UNKNOWN',
    'The connection to the source was lost while the statement ran, so its outcome is unknown: it may have been carried out. Check the source before you repeat it.',
    { cause: err, retryable: false },
  );
}

/** True for a read on a pooled connection that died before the database answered: repeating it is safe. */
function isStale(err: unknown, run: Execution, statement: Statement): boolean {
  if (!(err instanceof NeverAnswered)) return false;
  return statement.kind === 'read' && run.isReused && run.bytes === 0 && !run.ctx.signal.aborted;
}
