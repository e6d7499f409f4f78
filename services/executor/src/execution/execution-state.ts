/** The state of one execution. */

import type { CsvOptions, FormatName } from '@datahub/contract/formats';
import type { Numbers } from '@datahub/contract/numbers';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import { fromProtoCsv, fromProtoFormat } from '@datahub/executor-session/formats';
import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError, type SqlFault, type Stage } from '@datahub/service-kit/call/error';
import { PauseClock } from '@datahub/service-kit/call/pause-clock';
import type { Span, Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { QueryDefinition } from '../definitions/definition.ts';
import type { Lease } from '../pool/pool-types.ts';
import type { Transfer, Transfers } from '../pool/transfers.ts';
import type { Outcome, Statement } from '../ports/engine.ts';
import type { ResponseOptions, RowFigures } from '../result/response.ts';
import {
  cancelReason,
  type ErrorMapping,
  readTooSlowly,
  timedOut,
  withoutValues,
} from './execution-error.ts';
import { hiddenValues, withoutHidden } from './hidden-values.ts';
import { keyLimits } from './key-limits.ts';
import type { PreparedQuery } from './prepare.ts';

/** How long an answer may take in all if its client reads slowly, and the least rate of such a client. */
export interface TransferLimits {
  timeoutMs: number;
  bytesPerSecondMin: number;
}

/** How often the rate of a slow client is looked at. */
const lookMsMin = 100;
const lookMsMax = 1_000;

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
  /** The values of a call over GET, as JSON. */
  formContextJson: string | undefined;
  /** In the text that runs, the length of the `EXPLAIN` in front of the statement. */
  charactersBefore = 0;
  /** Set when the statement has ended. */
  outcome: RowFigures | undefined;
  /** The records of a load that are committed, which stay if it fails. */
  committedRows = 0;
  format: FormatName = 'json';
  timeoutMs = 0;
  /** The deadline of the call; while the statement runs, no later than the end of its timeout. */
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
  #rowsBefore = 0;
  /** The deadline of a client that never makes the source wait. */
  #promptDeadlineAt = 0;
  /** Undefined until the client has made the source wait. */
  #pauses: PauseClock | undefined;
  #transfer: Transfer | undefined;

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

  get numbers(): Numbers {
    const { numbersAsStrings, exactNumbers } = this.request.options ?? {};
    return numbersAsStrings ? 'string' : exactNumbers ? 'number' : 'auto';
  }

  get csv(): CsvOptions | undefined {
    const csv = this.request.options?.csv;
    return csv && this.format === 'csv' ? fromProtoCsv(csv) : undefined;
  }

  responseOptions(maxRows: number | undefined): ResponseOptions {
    const { options, annotate } = this.request;
    return {
      format: this.format,
      numbers: this.numbers,
      csv: this.csv,
      meta: options?.meta ?? false,
      maxRows,
      allResults: options?.allResults,
      notNull: this.query?.notNull,
      reply: this,
      accountId: this.ctx.principal?.accountId,
      annotations: annotate?.members,
    };
  }

  /** Throws OPTION_REFUSED for an unknown format. */
  onPrepared(query: QueryDefinition, prepared: PreparedQuery, timeoutMs: number): void {
    this.format = fromProtoFormat(this.request.format);
    this.query = query;
    this.preparedAt = this.now();
    this.prepared = prepared;
    this.timeoutMs = timeoutMs;
  }

  onConnection({ uses }: Lease): void {
    this.stage = 'execute';
    this.isReused = uses > 1;
    this.runAt = this.now();
    this.deadlineAt = Math.min(this.ctx.deadlineAt, this.runAt + this.timeoutMs);
    this.#promptDeadlineAt = this.deadlineAt;
    this.queueMs = this.runAt - this.startedAt;
  }

  /**
   * Called when the timeout of the statement has passed. Returns its new end if the statement may go on: because it has
   * had rows since the last call, or because the client has made it wait. Otherwise returns why not.
   */
  extendTimeout(rowCount: number, transfers: Transfers, limits: TransferLimits): number | HubError {
    const isExtended = this.request.timeoutWithoutRows && rowCount > this.#rowsBefore;
    if (!isExtended || this.now() >= this.ctx.deadlineAt) return this.#extendByPauses(transfers, limits);
    this.#rowsBefore = rowCount;
    this.deadlineAt = Math.min(this.ctx.deadlineAt, this.now() + this.timeoutMs);
    return this.deadlineAt;
  }

  /** The time in which the client made the source wait does not count, up to the limits of a transfer. */
  #extendByPauses(transfers: Transfers, { timeoutMs, bytesPerSecondMin }: TransferLimits): number | HubError {
    const now = this.now();
    const promptEndAt = this.#promptDeadlineAt + (this.#pauses?.pausedMs(now) ?? 0);
    if (promptEndAt <= now) return timedOut();
    this.#transfer ??= { bytesPerSecond: () => this.#bytesPerSecond(), isCut: false };
    transfers.admit(this.#transfer);
    const endAt = this.runAt + timeoutMs;
    if (this.#transfer.isCut || now >= endAt || this.#bytesPerSecond() < bytesPerSecondMin)
      return readTooSlowly();
    const leftMs = Math.min(Math.max(promptEndAt - now, lookMsMin), lookMsMax);
    this.deadlineAt = Math.min(now + leftMs, endAt);
    return this.deadlineAt;
  }

  #bytesPerSecond(): number {
    return (this.bytes * 1_000) / Math.max(1, this.now() - this.runAt);
  }

  /** To be called when the connection is free again. */
  leave(transfers: Transfers): void {
    if (this.#transfer !== undefined) transfers.leave(this.#transfer);
  }

  onOutcome({ rowCount, truncated }: RowFigures, { moreResults = false }: Outcome): void {
    this.outcome = { rowCount, truncated };
    if (truncated || moreResults) this.reply.truncated?.({ rows: rowCount, moreResults });
    this.durationMs = this.now() - this.runAt;
    if (this.bytes === 0) this.reply.timings?.(this.#serverTiming('db', this.durationMs));
  }

  chunk(bytes: Buffer, last?: boolean): boolean {
    if (this.bytes === 0 && this.outcome === undefined)
      this.reply.timings?.(this.#serverTiming('first-row', this.now() - this.runAt));
    this.stage = 'stream';
    this.bytes += bytes.length;
    const isReady = this.reply.chunk(bytes, last);
    if (isReady) return true;
    this.#pauses ??= new PauseClock();
    this.#pauses.pause(this.now());
    return false;
  }

  onDrain(listener: () => void): void {
    this.reply.onDrain(() => {
      this.#pauses?.resume(this.now());
      listener();
    });
  }

  /**
   * Metrics of the header `Server-Timing`. `queue` is the time until the pool gave an open connection. If it had none,
   * `connect` is the time until one was opened, and `queue` ends where that begins. `name` is the metric of the work at
   * the database.
   */
  #serverTiming(name: 'db' | 'first-row', durationMs: number): string {
    const { startedAt, preparedAt, runAt } = this;
    const waits = this.isReused
      ? `queue;dur=${round(runAt - startedAt)}, connect;dur=0`
      : `queue;dur=${round(preparedAt - startedAt)}, connect;dur=${round(runAt - preparedAt)}`;
    return `${waits}, ${name};dur=${round(durationMs)}`;
  }

  /**
   * Maps a position in the text that was run to the stored text. Faults found before the run are already in the stored
   * text.
   */
  mapLocation(fault: SqlFault): SqlFault {
    const { prepared, statement } = this;
    if (prepared === undefined || statement === undefined || this.runAt === 0) return fault;
    const { column } = fault;
    const isMoved = this.charactersBefore > 0 && fault.line === 1 && column !== undefined;
    const inStatement = isMoved ? { ...fault, column: Math.max(1, column - this.charactersBefore) } : fault;
    return prepared.mapLocation(inStatement, statement);
  }

  redactMessage(message: string): string {
    const { params = [], session = [], text } = this.statement ?? {};
    // The names before the dot are those of the query's author, whose path and role are no values.
    const settings = session.flatMap(([name, value]) => (name.includes('.') ? [value] : []));
    const named = this.prepared?.nameVariables(message) ?? message;
    const hidden = hiddenValues({
      variables: this.query?.variables ?? [],
      contextJson: this.request.contextJson,
      pinnedJson: keyLimits.context(this.ctx.principal?.limits),
    });
    return withoutHidden(withoutValues(named, [...params, ...settings], text), hidden, text);
  }

  /** Replaces CANCELLED with the reason for the cancel: the caller left, or the deadline passed. */
  causeOf(err: unknown): unknown {
    const { signal } = this.ctx;
    const cancelled = err instanceof HubError && err.code === 'CANCELLED';
    const cause = cancelled && signal.aborted ? cancelReason(signal, this.now() >= this.deadlineAt) : err;
    const isLate = cause instanceof HubError && cause.code === 'STATEMENT_TIMEOUT';
    return isLate && this.#lostTimeWaiting() ? waitedTooLong(cause) : cause;
  }

  /** True if the deadline of the call passed because of the wait for a connection, and a repeat is safe. */
  #lostTimeWaiting(): boolean {
    const { preparedAt, runAt, timeoutMs } = this;
    const { deadlineAt } = this.ctx;
    if (preparedAt === 0 || this.now() < deadlineAt) return false;
    if (runAt === 0) return true;
    const isCut = deadlineAt < runAt + timeoutMs && this.prepared?.kind === 'read';
    return isCut && (deadlineAt >= preparedAt + timeoutMs || runAt - preparedAt > deadlineAt - runAt);
  }
}

function waitedTooLong(cause: HubError): HubError {
  const message = 'The call waited too long for a connection to the source. Try again.';
  return new HubError('SOURCE_BUSY', message, { cause, retryable: true });
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
