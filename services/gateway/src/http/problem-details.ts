/** Turns a HubError into `application/problem+json` (RFC 9457). Only this file maps error codes to HTTP statuses. */

import type { ErrorCode, HubError, SqlFault } from '@datahub/service-kit/call/error';
import { type Fault, type FieldPointers, inBody } from './request-error.ts';

interface Kind {
  status: number;
  title: string;
}

export const kinds: Record<ErrorCode, Kind> = {
  VALIDATION: { status: 400, title: 'The request is not valid' },
  KEY_MISSING: { status: 401, title: 'A key is needed' },
  KEY_INVALID: { status: 401, title: 'The key is not valid' },
  KEY_EXPIRED: { status: 401, title: 'The key has expired' },
  TOKEN_INVALID: { status: 401, title: 'The token of the user is not valid' },
  SCOPE_DENIED: { status: 403, title: 'The key does not allow this' },
  CLAIM_MISSING: { status: 403, title: 'A claim of the signed-in user is missing' },
  QUOTA_EXCEEDED: { status: 403, title: 'The quota of the account is used up' },
  NOT_FOUND: { status: 404, title: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method not allowed' },
  NOT_ACCEPTABLE: { status: 406, title: 'Not acceptable' },
  UPLOAD_TOO_SLOW: { status: 408, title: 'The body arrives too slowly' },
  CONFLICT: { status: 409, title: 'Conflict' },
  PATH_TAKEN: { status: 409, title: 'The path is taken' },
  TOOL_NAME_TAKEN: { status: 409, title: 'The name of the tool is taken' },
  CONSTRAINT: { status: 409, title: 'A constraint of the database is violated' },
  MAX_AFFECTED: { status: 409, title: 'Too many rows would be affected' },
  ROWS_UNEXPECTED: { status: 409, title: 'A step has another number of rows than expected' },
  ROLLBACK_INCOMPLETE: { status: 409, title: 'Some changes could not be rolled back' },
  SOURCE_GONE: { status: 409, title: 'The source of the query is gone' },
  NOT_TRAINED: { status: 409, title: 'The classifier has not been trained' },
  NOT_EMPTY: { status: 409, title: 'Not empty' },
  IDEMPOTENCY_CONFLICT: { status: 409, title: 'The idempotency key was used before' },
  VERSION_CHANGED: { status: 409, title: 'The query has another version' },
  VERSION_MISMATCH: { status: 412, title: 'The document has changed' },
  TOO_LARGE: { status: 413, title: 'Too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported media type' },
  SQL_REJECTED: { status: 422, title: 'The database rejected the statement' },
  COMMAND_MISMATCH: { status: 422, title: 'The statement does not match its command' },
  CONTEXT_INVALID: { status: 422, title: 'Variables are missing or invalid' },
  OPTION_REFUSED: { status: 422, title: 'The option cannot be used here' },
  LIMIT_EXCEEDED: { status: 422, title: 'The request asks for too much work' },
  RESULT_TOO_LARGE: { status: 422, title: 'The result is too large' },
  RESULT_TRUNCATED: { status: 422, title: 'A limit cut the result' },
  KEY_NOT_UNIQUE: { status: 422, title: 'Two rows have the same key' },
  IDEMPOTENCY_MISMATCH: { status: 422, title: 'The idempotency key was used with another body' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  CANCELLED: { status: 499, title: 'The client disconnected' },
  INTERNAL: { status: 500, title: 'The hub failed' },
  SOURCE_UNREACHABLE: { status: 502, title: 'The source cannot be reached' },
  SOURCE_AUTH: { status: 502, title: 'The source refused the log-in' },
  SOURCE_TLS: { status: 502, title: 'TLS with the source failed' },
  SOURCE_BROKEN: { status: 502, title: 'The connection to the source broke' },
  CONTRACT_BROKEN: { status: 502, title: 'The rows break a promise of the query' },
  SOURCE_BUSY: { status: 503, title: 'The source is busy' },
  UNAVAILABLE: { status: 503, title: 'A part of the hub cannot be reached' },
  OUTCOME_UNKNOWN: { status: 503, title: 'It is unknown whether the change was made' },
  STATEMENT_TIMEOUT: { status: 504, title: 'The statement or the request took too long' },
};

/** Who a failure counts against. Failures of sources do not count against the hub's own objective. */
export type Origin = 'client' | 'source' | 'hub';

/**
 * An unknown outcome with a stage comes from a statement at a source; without one, a service of the hub did not answer.
 * With the stage `connect`, it was the issuer of tokens that an account named which could not be reached.
 */
export function originOf({ code, stage }: Pick<HubError, 'code' | 'stage'>): Origin {
  const { status } = kinds[code];
  if (status < 500) return 'client';
  const isOfIssuer = code === 'UNAVAILABLE' && stage === 'connect';
  const isOfSource = status === 502 || status === 504 || code === 'SOURCE_BUSY' || isOfIssuer;
  return isOfSource || (code === 'OUTCOME_UNKNOWN' && stage !== undefined) ? 'source' : 'hub';
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  requestId: string;
  errors?: readonly Fault[];
  stage?: string;
  retryable?: boolean;
  sql?: SqlFault;
  version?: number;
  step?: number;
  line?: number;
  committedLines?: number;
}

/** `path` has no query string, because the values in it must not be repeated. */
export function toProblem(
  err: HubError,
  request: { path: string; id: string; pointers?: FieldPointers | undefined; hidesTables?: boolean },
): Problem {
  const { message, faults: errors } = inBody(err, request.pointers);
  const { status, title } = kinds[err.code];
  return {
    type: `urn:datahub:problem:${err.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    detail: message,
    instance: request.path,
    code: err.code,
    requestId: request.id,
    errors,
    stage: err.stage,
    retryable: err.retryable,
    sql: err.sql && (request.hidesTables ? withoutTable(err.sql) : err.sql),
    version: err.version,
    step: err.step,
    line: err.line,
    committedLines: err.committedLines,
  };
}

function withoutTable({ schema: _, table: __, ...rest }: SqlFault): SqlFault {
  return rest;
}

/** For every answer with data of an account: caches must not store it, and browsers must not guess its type. */
export const unstoredHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** For GET: the URL can contain values, which browsers must not send to other sites. */
export const readHeaders = { ...unstoredHeaders, 'referrer-policy': 'no-referrer' };

/** The headers of a problem. */
export function problemHeaders(err: HubError): Record<string, string> {
  const { status } = kinds[err.code];
  const headers: Record<string, string> = {
    ...unstoredHeaders,
    'content-type': 'application/problem+json; charset=utf-8',
  };
  if (status === 401)
    headers['www-authenticate'] =
      err.code === 'TOKEN_INVALID' ? 'Bearer error="invalid_token"' : 'ApiKey header="x-service-api-key"';
  if (
    status === 429 ||
    (status === 503 && err.code !== 'OUTCOME_UNKNOWN') ||
    err.retryAfterMs !== undefined
  ) {
    headers['retry-after'] = String(Math.max(1, Math.ceil((err.retryAfterMs ?? 1_000) / 1_000)));
  }
  return headers;
}
