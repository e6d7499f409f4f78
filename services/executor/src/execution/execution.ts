/** The state of one execution. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { type Annotation, type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError, type SqlFault, type Stage } from '@datahub/service-kit/call/error';
import type { Span, Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { Outcome, Statement } from '../engine.ts';
import type { Lease } from '../pool/pool-types.ts';
import type { RowFormat, RowSink } from '../row-sink.ts';
import { cancelReason } from './cancellation.ts';
import { type ErrorMapping, withoutValues } from './execution-error.ts';
import type { PreparedQuery } from './prepare.ts';
import { toServerTiming } from './server-timing.ts';

export type Timing = Pick<Execution, 'queueMs' | 'durationMs'>;

/** Writes one answer: its rows, then its end. */
export interface ResponseWriter extends RowSink {
  finish(outcome: Outcome, timing: Timing): void;
  /** Drops the bytes that were not sent, because the execution failed. */
  abandon(): void;
}

export interface ResponseOptions {
  format: RowFormat;
  numbers: 'auto' | 'string';
  meta: boolean;
  /** Columns in which a NULL fails the answer. */
  notNull?: readonly string[] | undefined;
  reply: ExecutionReply;
  /** The members that the receiver adds to each row. */
  annotations?: readonly Annotation[] | undefined;
}

const formats: Partial<Record<Format, RowFormat>> = {
  [Format.FORMAT_NDJSON]: 'ndjson',
  [Format.FORMAT_CSV]: 'csv',
};

interface ExecutionOptions {
  reply: ExecutionReply;
  now: () => number;
  tracing?: Tracing | undefined;
  isShared?: boolean;
}

/** The state of one execution. Events read their figures from it. */
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
  /** The time from the start until a connection was acquired. */
  queueMs = 0;
  /** The time from then until the statement ended. */
  durationMs = 0;
  bytes = 0;
  /** Set if tracing is on. */
  readonly span: Span | undefined;
  /** The time when the query was prepared and the wait for a connection began; 0 before. */
  preparedAt = 0;
  /** The time when a connection was acquired; 0 before. */
  runAt = 0;
  /** True if the connection had run other statements before. */
  isReused = false;
  /** True if its answer is for several calls, each of which has an execution of its own. */
  readonly isShared: boolean;
  readonly reply: ExecutionReply;

  constructor(
    request: ExecuteRequest,
    ctx: CallContext,
    { reply, now, tracing, isShared = false }: ExecutionOptions,
  ) {
    this.request = request;
    this.ctx = ctx;
    this.reply = reply;
    this.isShared = isShared;
    this.now = now;
    this.startedAt = now();
    this.deadlineAt = ctx.deadlineAt;
    const attributes = { 'datahub.query.id': request.queryId };
    this.span = tracing?.start('execute', { parent: ctx.traceparent, kind: 'internal', attributes });
  }

  /** The header `traceparent` for calls to other services. */
  get traceparent(): string | undefined {
    return this.span?.traceparent ?? this.ctx.traceparent;
  }

  get responseOptions(): ResponseOptions {
    const { format, options, annotate } = this.request;
    return {
      format: formats[format] ?? 'json',
      numbers: options?.numbersAsStrings ? 'string' : 'auto',
      meta: options?.meta ?? false,
      notNull: this.query?.notNull,
      reply: this,
      annotations: annotate?.members,
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

  /**
   * Maps a position in the text that was run to the stored text. Faults found before the run are already in the stored
   * text.
   */
  mapLocation(fault: SqlFault): SqlFault {
    const { prepared, statement } = this;
    return prepared && statement && this.runAt > 0 ? prepared.mapLocation(fault, statement) : fault;
  }

  redactMessage(message: string): string {
    return withoutValues(this.prepared?.nameVariables(message) ?? message, this.statement?.params ?? []);
  }

  /** Replaces CANCELLED with the reason for the cancel: the caller left, or the deadline passed. */
  causeOf(err: unknown): unknown {
    const { signal } = this.ctx;
    const cancelled = err instanceof HubError && err.code === 'CANCELLED';
    return cancelled && signal.aborted ? cancelReason(signal, this.now() >= this.deadlineAt) : err;
  }
}
