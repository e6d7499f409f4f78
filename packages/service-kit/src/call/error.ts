/**
 * The hub's only error class, thrown where a fault is found. The caller gets `code` and `message` unchanged. `cause` is
 * only logged for the operator.
 */

import { describeFaults, type FieldFault, fieldName, listedFaults } from '@datahub/contract/validation-error';

/** All error codes. `docs/api.md` lists them with their HTTP statuses. */
export const errorCodes = [
  'VALIDATION',
  'KEY_MISSING',
  'KEY_INVALID',
  'KEY_EXPIRED',
  'TOKEN_INVALID',
  'SCOPE_DENIED',
  'CLAIM_MISSING',
  'QUOTA_EXCEEDED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'NOT_ACCEPTABLE',
  'CONFLICT',
  'PATH_TAKEN',
  'TOOL_NAME_TAKEN',
  'CONSTRAINT',
  'MAX_AFFECTED',
  'ROWS_UNEXPECTED',
  'ROLLBACK_INCOMPLETE',
  'SOURCE_GONE',
  'NOT_TRAINED',
  'NOT_EMPTY',
  'IDEMPOTENCY_CONFLICT',
  'IDEMPOTENCY_MISMATCH',
  'VERSION_MISMATCH',
  'VERSION_CHANGED',
  'TOO_LARGE',
  'SQL_REJECTED',
  'COMMAND_MISMATCH',
  'CONTEXT_INVALID',
  'OPTION_REFUSED',
  'LIMIT_EXCEEDED',
  'RESULT_TOO_LARGE',
  'RESULT_TRUNCATED',
  'KEY_NOT_UNIQUE',
  'RATE_LIMITED',
  'CANCELLED',
  'SOURCE_UNREACHABLE',
  'SOURCE_AUTH',
  'SOURCE_TLS',
  'SOURCE_BUSY',
  'SOURCE_BROKEN',
  'CONTRACT_BROKEN',
  'UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'STATEMENT_TIMEOUT',
  'UPLOAD_TOO_SLOW',
  'INTERNAL',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** The stage at which an execution failed. */
export type Stage = 'queue' | 'connect' | 'prepare' | 'execute' | 'stream';

/** What a statement violated, the same on all engines. `RAISED`: its author raised the error with RAISE or SIGNAL. */
export const sqlConditions = [
  'UNIQUE_VIOLATION',
  'FOREIGN_KEY_VIOLATION',
  'NOT_NULL_VIOLATION',
  'CHECK_VIOLATION',
  'RAISED',
] as const;

/** A database's error about a statement. `line` and `column` count from 1 in the stored text. */
export interface SqlFault {
  state?: string;
  line?: number;
  column?: number;
  condition?: (typeof sqlConditions)[number];
  /** Names, if the server reports them. */
  constraint?: string;
  schema?: string;
  table?: string;
  columnName?: string;
  dataType?: string;
  /** The texts of RAISE or SIGNAL, which can contain values: only if the query asks for them. */
  message?: string;
  hint?: string;
}

export interface HubErrorOptions {
  /** Hidden from callers. */
  cause?: unknown;
  /** The faults, for VALIDATION and CONTEXT_INVALID. The error lists as many as `listedFaults`. */
  errors?: readonly FieldFault[];
  stage?: Stage;
  /** True if the same request may succeed later. */
  retryable?: boolean;
  sql?: SqlFault;
  /** The time to wait before a retry, for RATE_LIMITED, SOURCE_BUSY and UNAVAILABLE. */
  retryAfterMs?: number;
  /** The number of the query's present version, for VERSION_CHANGED. */
  version?: number;
  /** True for a failed write whose changes before the error may stay. */
  partial?: boolean;
  /** The index of the step of a transaction that failed. */
  step?: number | undefined;
  /** The line of a streamed body that failed, from 1. */
  line?: number | undefined;
  /** The lines of a streamed body, from its start, whose records are committed. */
  committedLines?: number | undefined;
  /** True if the call was sent and got no answer, so it may have taken effect. Only the calling side sets this. */
  lost?: boolean;
}

export class HubError extends Error {
  readonly code: ErrorCode;
  readonly errors: readonly FieldFault[] | undefined;
  readonly stage: Stage | undefined;
  readonly retryable: boolean | undefined;
  readonly sql: SqlFault | undefined;
  readonly retryAfterMs: number | undefined;
  declare readonly version?: number;
  declare readonly partial?: true;
  declare readonly step?: number;
  declare readonly line?: number;
  declare readonly committedLines?: number;
  declare readonly lost?: true;

  constructor(code: ErrorCode, message: string, options: HubErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'HubError';
    this.code = code;
    this.errors = options.errors && listedFaults(options.errors);
    this.stage = options.stage;
    this.retryable = options.retryable;
    this.sql = options.sql;
    this.retryAfterMs = options.retryAfterMs;
    if (options.version !== undefined) this.version = options.version;
    if (options.partial === true) this.partial = true;
    if (options.step !== undefined) this.step = options.step;
    if (options.line !== undefined) this.line = options.line;
    if (options.committedLines !== undefined) this.committedLines = options.committedLines;
    if (options.lost === true) this.lost = true;
  }
}

/** Whether the key, session or token of a caller was refused. */
export const isKeyRefusal = (err: unknown): err is HubError =>
  err instanceof HubError && err.code.startsWith('KEY_');

/** The same error in other words, or with further members. */
export function reword(err: HubError, message: string, more: HubErrorOptions = {}): HubError {
  const { code, cause, errors, stage, retryable, sql, retryAfterMs } = err;
  const { version, partial, step, line, committedLines, lost } = err;
  const same = { cause, errors, stage, retryable, sql, retryAfterMs };
  return new HubError(code, message, {
    ...same,
    version,
    partial,
    step,
    line,
    committedLines,
    lost,
    ...more,
  });
}

/** VALIDATION with every fault that was found in the request; `faults` is not empty. */
export function fieldError(faults: readonly FieldFault[]): HubError {
  const message = describeFaults(faults, ({ path }) => fieldName(path));
  return new HubError('VALIDATION', message, { errors: faults });
}

/** Converts any other error to INTERNAL with a fixed message, and keeps it as `cause` for the log. */
export function toHubError(err: unknown): HubError {
  if (err instanceof HubError) return err;
  return new HubError(
    'INTERNAL',
    'The hub failed to process this request. Find the request id in the log for the reason.',
    {
      cause: err,
    },
  );
}

/** Returns the unexpected error: one that is not a HubError, or the cause of INTERNAL or OUTCOME_UNKNOWN. */
export function unexpectedOf(err: unknown): unknown {
  if (!(err instanceof HubError)) return err;
  if (err.code === 'INTERNAL') return err.cause;
  if (err.code !== 'OUTCOME_UNKNOWN' || !(err.cause instanceof HubError)) return undefined;
  return err.cause.code === 'INTERNAL' ? err.cause.cause : undefined;
}

/**
 * Creates the error of a change that was sent and got no answer, so its outcome is unknown. UNAVAILABLE, in contrast,
 * means that nothing was changed.
 */
export function outcomeUnknown(cause: unknown): HubError {
  if (cause instanceof HubError && cause.code === 'OUTCOME_UNKNOWN') return cause;
  const message =
    'The change may or may not have been made. Read the resource, or repeat the request with the same Idempotency-Key.';
  return new HubError('OUTCOME_UNKNOWN', message, { cause, retryable: false });
}
