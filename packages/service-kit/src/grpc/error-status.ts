/**
 * Converts between HubError and gRPC: a standard status code, and the full error in the trailer `datahub-error-bin`.
 */

import { cutText } from '@datahub/contract/limits';
import { ErrorDetail } from '@datahub/proto/common/v1/error';
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import {
  type ErrorCode,
  errorCodes,
  HubError,
  type SqlFault,
  type Stage,
  sqlConditions,
  toHubError,
} from '../call/error.ts';
import { headerBytesMax } from './metadata.ts';

const trailerName = 'datahub-error-bin';
/** More than messages of the hub have. Outside of ASCII, a character takes up to nine bytes in a header. */
const messageCharactersMax = 2_000;

/** The gRPC status of each error code. */
export const grpcStatusOf: Record<ErrorCode, status> = {
  VALIDATION: status.INVALID_ARGUMENT,
  KEY_MISSING: status.UNAUTHENTICATED,
  KEY_INVALID: status.UNAUTHENTICATED,
  KEY_EXPIRED: status.UNAUTHENTICATED,
  TOKEN_INVALID: status.UNAUTHENTICATED,
  SCOPE_DENIED: status.PERMISSION_DENIED,
  CLAIM_MISSING: status.PERMISSION_DENIED,
  QUOTA_EXCEEDED: status.RESOURCE_EXHAUSTED,
  NOT_FOUND: status.NOT_FOUND,
  METHOD_NOT_ALLOWED: status.UNIMPLEMENTED,
  UNSUPPORTED_MEDIA_TYPE: status.INVALID_ARGUMENT,
  NOT_ACCEPTABLE: status.INVALID_ARGUMENT,
  CONFLICT: status.ALREADY_EXISTS,
  PATH_TAKEN: status.ALREADY_EXISTS,
  TOOL_NAME_TAKEN: status.ALREADY_EXISTS,
  CONSTRAINT: status.FAILED_PRECONDITION,
  ROWS_UNEXPECTED: status.FAILED_PRECONDITION,
  MAX_AFFECTED: status.FAILED_PRECONDITION,
  ROLLBACK_INCOMPLETE: status.FAILED_PRECONDITION,
  SOURCE_GONE: status.FAILED_PRECONDITION,
  NOT_TRAINED: status.FAILED_PRECONDITION,
  NOT_EMPTY: status.FAILED_PRECONDITION,
  IDEMPOTENCY_CONFLICT: status.ABORTED,
  IDEMPOTENCY_MISMATCH: status.INVALID_ARGUMENT,
  VERSION_MISMATCH: status.ABORTED,
  VERSION_CHANGED: status.ABORTED,
  TOO_LARGE: status.OUT_OF_RANGE,
  SQL_REJECTED: status.INVALID_ARGUMENT,
  COMMAND_MISMATCH: status.INVALID_ARGUMENT,
  CONTEXT_INVALID: status.INVALID_ARGUMENT,
  OPTION_REFUSED: status.INVALID_ARGUMENT,
  LIMIT_EXCEEDED: status.INVALID_ARGUMENT,
  RESULT_TOO_LARGE: status.OUT_OF_RANGE,
  RESULT_TRUNCATED: status.FAILED_PRECONDITION,
  KEY_NOT_UNIQUE: status.FAILED_PRECONDITION,
  RATE_LIMITED: status.RESOURCE_EXHAUSTED,
  CANCELLED: status.CANCELLED,
  SOURCE_UNREACHABLE: status.UNAVAILABLE,
  SOURCE_AUTH: status.FAILED_PRECONDITION,
  SOURCE_TLS: status.FAILED_PRECONDITION,
  SOURCE_BUSY: status.RESOURCE_EXHAUSTED,
  SOURCE_BROKEN: status.UNKNOWN,
  CONTRACT_BROKEN: status.FAILED_PRECONDITION,
  UNAVAILABLE: status.UNAVAILABLE,
  OUTCOME_UNKNOWN: status.UNKNOWN,
  STATEMENT_TIMEOUT: status.DEADLINE_EXCEEDED,
  UPLOAD_TOO_SLOW: status.ABORTED,
  INTERNAL: status.INTERNAL,
};

const codes = new Set<string>(errorCodes);
const stages = new Set<string>(['queue', 'connect', 'prepare', 'execute', 'stream']);

export function toErrorDetail(err: HubError): ErrorDetail {
  return {
    code: err.code,
    message: err.message,
    faults: (err.errors ?? []).map(({ path, detail }) => ({
      path: path.map(String),
      detail,
      pointer: path.map((part) => `/${part}`).join(''),
    })),
    stage: err.stage ?? '',
    retryable: err.retryable,
    sql: err.sql,
    retryAfterMs: err.retryAfterMs === undefined ? undefined : Math.ceil(err.retryAfterMs),
    version: err.version,
    partial: err.partial,
    step: err.step,
    line: err.line,
  };
}

export function fromErrorDetail(detail: ErrorDetail, cause?: unknown): HubError {
  if (!codes.has(detail.code))
    return new HubError('INTERNAL', 'A service answered with an unknown error.', { cause });
  return new HubError(detail.code as ErrorCode, detail.message, {
    cause,
    ...(detail.faults.length > 0 ? { errors: detail.faults } : {}),
    ...(stages.has(detail.stage) ? { stage: detail.stage as Stage } : {}),
    retryable: detail.retryable,
    sql: detail.sql && toSqlFault(detail.sql),
    retryAfterMs: detail.retryAfterMs,
    version: detail.version,
    partial: detail.partial,
    step: detail.step,
    line: detail.line,
  });
}

/** Leaves out a condition of a newer release. */
function toSqlFault({ condition, ...rest }: NonNullable<ErrorDetail['sql']>): SqlFault {
  const known = sqlConditions.find((name) => name === condition);
  return definedMembers({ ...rest, condition: known });
}

type Defined<T> = { [M in keyof T]?: NonNullable<T[M]> };

function definedMembers<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}

/** Converts an error of a handler to a status. The caller sees only the public part of a HubError. */
export function toStatus(err: unknown): StatusObject {
  const hubError = toHubError(err);
  const metadata = new Metadata();
  const detail = toErrorDetail(hubError);
  const whole = ErrorDetail.encode(detail).finish();
  // grpc-js ends the process for half of a pair of surrogates, which the message itself can have.
  const details = cutText(hubError.message, messageCharactersMax).toWellFormed();
  const bytes =
    whole.length <= headerBytesMax
      ? whole
      : ErrorDetail.encode({ ...detail, message: details, faults: [], sql: undefined }).finish();
  metadata.set(trailerName, Buffer.from(bytes));
  return { code: grpcStatusOf[hubError.code], details, metadata };
}

/** Parts of grpc-js's messages for calls that were not sent. */
const unsent =
  /No connection established|Name resolution failed|Stream refused by server|Channel closed before call started|Channel has been shut down|Failed to start HTTP\/2 stream/;
/**
 * Parts of its messages for calls whose connection or stream ended, or that a proxy answered. Their codes are those of
 * services' own answers, too. 404 and UNIMPLEMENTED stay what they are: see `isUnimplemented`.
 */
const broken =
  /Received RST_STREAM|Received HTTP status code (?!404)|Bandwidth exhausted|Protocol not secure enough/;

/** True if the server does not know the method, because it is of an older release. */
export function isUnimplemented(err: unknown): boolean {
  const { cause } = err as { cause?: Partial<StatusObject> };
  return err instanceof HubError && cause?.code === status.UNIMPLEMENTED;
}

/** Restores the error that the other side threw. What grpc-js itself reports of connections becomes UNAVAILABLE. */
export function fromStatus(err: unknown): HubError {
  if (err instanceof HubError) return err;
  const { code, metadata, details = (err as Error).message } = err as Partial<StatusObject>;
  const [bytes] = metadata?.get(trailerName) ?? [];
  if (bytes instanceof Buffer) return fromErrorDetail(ErrorDetail.decode(bytes), err);
  if (code === status.CANCELLED) return new HubError('CANCELLED', 'The call was cancelled.', { cause: err });
  if (code === status.DEADLINE_EXCEEDED) {
    return new HubError('UNAVAILABLE', 'A service did not answer in time.', {
      cause: err,
      retryable: true,
      lost: true,
    });
  }
  const isUnsent = unsent.test(details);
  if (code === status.UNAVAILABLE || isUnsent || broken.test(details)) {
    return new HubError('UNAVAILABLE', 'A service cannot be reached. Try again.', {
      cause: err,
      retryable: true,
      retryAfterMs: 1000,
      lost: !isUnsent,
    });
  }
  return toHubError(err);
}
