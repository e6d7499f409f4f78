/**
 * `Idempotency-Key`: a repeated request is carried out once. The catalog stores a record before the operation begins. It
 * stores no body, only an HMAC of it, with a key that is stored nowhere: the caller's API key, or for people, whose
 * sessions and tokens change, one that is derived from the hub's secret at their provider.
 */

import { createHmac, hash, hkdfSync, randomUUID } from 'node:crypto';
import {
  BeginOperationRequest_Settling as Settling,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import type { Operation } from '@datahub/proto/executor/v1/executor';
import { audienceOfToken } from '@datahub/service-kit/api-key';
import { HubError, type HubErrorOptions } from '@datahub/service-kit/call/error';
import { IncomingMessage } from '@datahub/service-kit/node-http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Upstreams } from '../upstreams.ts';
import { createCommitQuestions } from './operation-commits.ts';
import { createOperationEnds, type OperationEnds } from './operation-ends.ts';
import { validationError } from './request-error.ts';
import { isReading, takesIdempotencyKey } from './route.ts';

export interface FinishedResponse {
  payload: unknown;
  /** The reason why the answer is not stored, shown to a client that repeats the request. */
  unstored?: string | undefined;
}

export interface Idempotency {
  /** Call this before the operation. Resolves to true if it has sent the first answer again. */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** Call this after the operation. Stores the answer, or frees the key if nothing was changed. */
  finish(request: FastifyRequest, reply: FastifyReply, answer: FinishedResponse): Promise<void>;
  close(): void;
}

const keyShape = /^[\x21-\x7e]{1,255}$/;
/** A larger answer is not stored. */
export const responseBytesMax = 65_536;
/** For the end of an operation whose time is up. The catalog waits as long. */
const endingMs = 240_000;
/**
 * After these failures it is unknown whether the operation was carried out. An IDEMPOTENCY_CONFLICT is of an operation
 * that meets what its first attempt has made.
 */
const unknownCodes = new Set([
  'OUTCOME_UNKNOWN',
  'SOURCE_BROKEN',
  'CANCELLED',
  'INTERNAL',
  'IDEMPOTENCY_CONFLICT',
]);
const settlings = {
  audit: Settling.SETTLING_AUDIT,
  repeat: Settling.SETTLING_REPEAT,
  nothing: Settling.SETTLING_UNSPECIFIED,
};

interface Options extends Pick<Upstreams, 'catalog' | 'executor'> {
  oidc?: { clientSecret: string } | undefined;
  /** No operation runs longer than its request. */
  requestTimeoutMs: number;
}

export function createIdempotency(options: Options): Idempotency {
  const { catalog, requestTimeoutMs } = options;
  const ends = createOperationEnds({ catalog, giveUpMs: requestTimeoutMs + endingMs });
  const beginRecord = createBegin(options, ends);
  return {
    begin: async (request, reply) => {
      const key = readKey(request);
      if (key === undefined) return false;
      if (request.body instanceof IncomingMessage) {
        const detail = 'is not accepted with a streamed body';
        throw validationError([{ pointer: 'header/idempotency-key', detail }]);
      }
      const answer = await beginRecord(request, key);
      switch (answer.state) {
        case State.STATE_NEW:
          request.operationId = answer.recordId;
          request.context.operation = answer.operation;
          return false;
        case State.STATE_UNRECORDED:
          return false;
        case State.STATE_DONE:
          if (!answer.kept) throw conflict(answer.note);
          reply
            .code(answer.status)
            .headers({
              'content-type': answer.contentType,
              'idempotency-replayed': 'true',
              ...(answer.etag === '' ? {} : { etag: answer.etag }),
            })
            .send(answer.body);
          return true;
        case State.STATE_OTHER_BODY:
          if (hasTokenOfKey(request)) throw conflict(otherToken);
          throw new HubError(
            'IDEMPOTENCY_MISMATCH',
            'This Idempotency-Key was used before with another body.',
          );
        case State.STATE_UNKNOWN:
          throw conflict(
            'The first request with this key was interrupted. It is unknown whether it was carried out.',
          );
        default:
          throw conflict(
            'The first request with this key is still running. Try again when it has been answered.',
            { retryable: true, retryAfterMs: 1_000 },
          );
      }
    },

    finish: async (request, reply, answer) => {
      const { operationId: recordId, operationAttempt: attempt = '', context } = request;
      if (recordId === undefined) return;
      request.operationId = undefined;
      const named = { recordId, attempt, ...notedOf(request), idempotencyKey: '', operation: '' };
      const outcome = { ...outcomeOf(request, reply, answer), ...named };
      await ends.tell({ outcome, principal: context.principal });
    },

    close: ends.close,
  };
}

/** Begins the operation. If the record may exist although there is no answer, it is removed. */
function createBegin({ catalog, executor, oidc, requestTimeoutMs }: Options, ends: OperationEnds) {
  const ask = createCommitQuestions(executor);
  const macOf = createMac(oidc?.clientSecret);
  return async (request: FastifyRequest, idempotencyKey: string) => {
    const attempt = randomUUID();
    const operation = operationOf(request);
    const { context } = request;
    request.operationAttempt = attempt;
    const record = {
      idempotencyKey,
      operation,
      bodyMac: macOf(request),
      settling: settlings[context.route?.settledBy ?? 'nothing'],
      queryId: request.target?.queryId ?? '',
      longestMs: requestTimeoutMs,
      attempt,
    };
    try {
      const begun = await catalog.beginOperation(record, context);
      if (begun.state !== State.STATE_COMMITTING) return begun;
      const end = await ask(begun, context);
      return typeof end === 'object'
        ? await catalog.beginOperation({ ...record, end }, context)
        : { ...begun, state: end };
    } catch (err) {
      if (!mayHaveBegun(err)) throw err;
      const outcome = { ...nothing, recordId: '', status: 0, attempt, idempotencyKey, operation };
      ends.release({ outcome, principal: context.principal });
      if (err.code === 'CANCELLED') throw err;
      throw new HubError(
        'UNAVAILABLE',
        'The request was not carried out, because its Idempotency-Key could not be recorded. Try again.',
        { cause: err, retryable: true, retryAfterMs: 1_000 },
      );
    }
  };
}

/** True if the record of an operation may have been written although its answer is an error. */
function mayHaveBegun(err: unknown): err is HubError {
  if (!(err instanceof HubError)) return false;
  return err.lost === true || err.code === 'OUTCOME_UNKNOWN' || err.code === 'CANCELLED';
}

function notedOf({ notesCommit, steps, target }: FastifyRequest) {
  const isTransaction = steps !== undefined;
  const queryId = isTransaction ? steps[0] : target?.queryId;
  return { notedQueryId: (notesCommit && queryId) || '', isTransaction };
}

/** What the executor needs to note the transactions of a request; undefined without an idempotency key. */
export function operationToNote(
  { operationId: recordId, operationAttempt: attempt = '' }: FastifyRequest,
  { contentType, isPlain = true }: { contentType: string; isPlain?: boolean },
): Operation | undefined {
  if (recordId === undefined) return undefined;
  return { recordId, attempt, contentType, answerBytesMax: isPlain ? responseBytesMax : 0 };
}

const nothing = {
  contentType: '',
  body: Buffer.alloc(0),
  kept: false,
  note: '',
  etag: '',
  unknown: false,
  notedQueryId: '',
  isTransaction: false,
};

/** A caller who believes that a change runs once must not learn from a second one that it does not. */
export function requireNoIdempotencyKey({ method, headers, context: { route } }: FastifyRequest): void {
  if (headers['idempotency-key'] === undefined || route === undefined) return;
  const { keyRefusal } = route;
  if (takesIdempotencyKey(route) || (isReading(route) && keyRefusal === undefined)) return;
  const detail =
    keyRefusal ??
    `applies to POST only. A ${method} can be repeated${route.versioned ? '; with If-Match it changes one version only' : ''}`;
  throw validationError([{ pointer: 'header/idempotency-key', detail }]);
}

function readKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && keyShape.test(key)) return key;
  const detail = 'must be 1 to 255 visible ASCII characters, sent once';
  throw validationError([{ pointer: 'header/idempotency-key', detail }]);
}

/**
 * Names the record. The same idempotency key with another operation, another API key, or another user or claims of a
 * user names another record. A key that replaces another one by rotation names the records of that one.
 */
function operationOf({ method, url, context }: FastifyRequest): string {
  const { keyId, firstKeyId = keyId, user, limits } = context.principal ?? {};
  const ofKey = `${method} ${url.split('?', 1)[0]} ${firstKeyId}`;
  if (user === undefined) return ofKey;
  const { issuer, subject, claimsJson } = user;
  const named = [issuer, subject, limits?.contextJson, claimsJson && lastingClaims(claimsJson)];
  return `${ofKey} ${hash('sha256', JSON.stringify(named), 'base64url')}`;
}

/** Claims that differ between two tokens of one user although they give the same rights. */
const claimsOfToken = new Set([
  'exp',
  'iat',
  'nbf',
  'jti',
  'auth_time',
  'amr',
  'sid',
  'session_id',
  'nonce',
  'at_hash',
]);

/** Settings of a session can read each claim. A repeat may come with a newer token. */
const lastingClaims = (json: string) =>
  Object.entries(JSON.parse(json) as object).filter(([name]) => !claimsOfToken.has(name));

function createMac(clientSecret: string | undefined): (request: FastifyRequest) => Buffer {
  const ofPeople = clientSecret && Buffer.from(hkdfSync('sha256', clientSecret, '', 'bodies of people', 32));
  return ({ parsed, body, headers, context: { principal } }) => {
    const { person, keyId } = principal ?? {};
    const isPerson = person !== undefined && person.id === keyId;
    const secret = isPerson ? ofPeople : headers['x-service-api-key'];
    if (!secret) throw new HubError('INTERNAL', 'There is no secret for the digest of the body.');
    const mac = createHmac('sha256', secret as string | Buffer);
    if (isPerson) mac.update(`${person.id}\n`);
    return mac.update(parsed?.exactText ?? JSON.stringify(body) ?? '').digest();
  };
}

/** True for the token of a sign-in with a key: it is renewed, and the digest of the body depends on it. */
function hasTokenOfKey({ headers, context: { principal } }: FastifyRequest): boolean {
  const { person, keyId } = principal ?? {};
  return person?.id !== keyId && audienceOfToken(String(headers['x-service-api-key'])) !== undefined;
}

const otherToken =
  'This Idempotency-Key was used before, with another body or before your sign-in was renewed. Nothing was carried out again. Look at what the first request has changed.';

function conflict(message: string, options: HubErrorOptions = {}): HubError {
  return new HubError('IDEMPOTENCY_CONFLICT', message, options);
}

/** A status of 0 means that the operation was not carried out and the key is free again. */
function outcomeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { payload, unstored = 'The answer was too large to be stored.' }: FinishedResponse,
) {
  const status = reply.statusCode;
  // An interrupted answer failed too, although its status 200 was sent before.
  if (request.failedWith !== undefined) {
    const unknown = request.failedPartly || unknownCodes.has(request.failedWith);
    return { status: unknown ? status : 0, ...nothing, unknown };
  }
  if (request.context.route?.secretResponse) {
    const made = request.createdId === undefined ? '' : ` and created ${request.createdId}`;
    return {
      status,
      ...nothing,
      note: `The request was carried out${made}. Its answer had a secret and was not stored. If you lost it, rotate it.`,
    };
  }
  const body =
    typeof payload === 'string' ? Buffer.from(payload) : payload instanceof Buffer ? payload : undefined;
  if (body === undefined || body.length > responseBytesMax) {
    return { status, ...nothing, note: `The request was carried out. ${unstored}` };
  }
  return {
    ...nothing,
    status,
    contentType: String(reply.getHeader('content-type') ?? 'application/json'),
    body,
    kept: true,
    note: '',
    etag: String(reply.getHeader('etag') ?? ''),
  };
}
