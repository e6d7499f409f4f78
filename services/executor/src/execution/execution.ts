/** One execution on its way, and what it answers with. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError, type SqlFault, type Stage } from '@datahub/service-kit/call/error';
import type { Span, Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { QueryDefinition } from '../definitions/definition-cache.ts';
import type { Outcome, Statement } from '../engine.ts';
import type { Lease } from '../pool/pool-types.ts';
import type { RowFormat, RowSink } from '../row-sink.ts';
import { reasonOf } from './cancellation.ts';
import type { PreparedQuery } from './compiled-query.ts';
import { withoutValues } from './execution-error.ts';

/** Turns rows into the bytes of one answer, and the outcome into its end. */
export interface AnswerSink extends RowSink {
  finish(outcome: Outcome, timing: { queueMs: number; durationMs: number }): void;
  /** The execution failed: nothing more is sent, and nothing is left behind. */
  abandon(): void;
}

export interface AnswerOptions {
  format: RowFormat;
  numbers: 'auto' | 'string';
  meta: boolean;
  reply: ExecutionReply;
}

const formats: Partial<Record<Format, RowFormat>> = {
  [Format.FORMAT_NDJSON]: 'ndjson',
  [Format.FORMAT_CSV]: 'csv',
};

/** One execution on its way; events read from it what happened. */
export class Execution implements ExecutionReply {
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
  /** Before a connection was there. */
  queueMs = 0;
  /** With it. */
  durationMs = 0;
  bytes = 0;
  /** Where traces are made. */
  readonly span: Span | undefined;
  /** When the query was known and its turn for a connection began; 0 before. */
  admittedAt = 0;
  /** When a connection was there; 0 before. */
  runAt = 0;
  /** That connection had served others before. */
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

  /** For what is asked on the way. */
  get traceparent(): string | undefined {
    return this.span?.traceparent ?? this.ctx.traceparent;
  }

  get answerOptions(): AnswerOptions {
    const { format, options } = this.request;
    return {
      format: formats[format] ?? 'json',
      numbers: options?.numbersAsStrings ? 'string' : 'auto',
      meta: options?.meta ?? false,
      reply: this,
    };
  }

  admitted(query: QueryDefinition, prepared: PreparedQuery, timeoutMs: number): void {
    this.query = query;
    this.admittedAt = this.now();
    this.prepared = prepared;
    this.timeoutMs = timeoutMs;
    this.deadlineAt = Math.min(this.deadlineAt, this.startedAt + timeoutMs);
  }

  started({ uses }: Lease): void {
    this.stage = 'execute';
    this.isReused = uses > 1;
    this.runAt = this.now();
    this.queueMs = this.runAt - this.startedAt;
  }

  ended(outcome: Outcome): void {
    this.outcome = outcome;
    if (outcome.truncated) this.reply.truncated?.();
    this.durationMs = this.now() - this.runAt;
  }

  chunk(bytes: Buffer, last?: boolean): boolean {
    this.stage = 'stream';
    this.bytes += bytes.length;
    return this.reply.chunk(bytes, last);
  }

  onDrain(listener: () => void): void {
    this.reply.onDrain(listener);
  }

  /** Moves a fault's place from the text that was run to the stored one; the same fault while nothing was run. */
  place(fault: SqlFault): SqlFault {
    const { prepared, statement } = this;
    return prepared && statement && this.runAt > 0 ? prepared.toStored(fault, statement) : fault;
  }

  /** Names variables where the database counts placeholders, and no values. */
  word(message: string): string {
    return withoutValues(this.prepared?.toWords(message) ?? message, this.statement?.params ?? []);
  }

  /** What ended the wait, where a call only says that it was cancelled. */
  causeOf(err: unknown): unknown {
    const { signal } = this.ctx;
    const cancelled = err instanceof HubError && err.code === 'CANCELLED';
    return cancelled && signal.aborted ? reasonOf(signal, this.now() >= this.deadlineAt) : err;
  }
}
