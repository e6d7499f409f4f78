/**
 * `Idempotency-Key`: an operation that was asked for twice is done once. The record stands in the catalog before the
 * operation begins; the body is kept there only as an HMAC under the caller's own key, which is stored nowhere.
 */

import { createHmac } from 'node:crypto';
import {
  BeginOperationRequest_Settling as Settling,
  BeginOperationResponse_State as State,
} from '@datahub/proto/catalog/v1/catalog';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Upstreams } from '../upstreams.ts';
import { validationError } from './request-error.ts';

export interface Idempotency {
  /** Before the operation. True when the answer was given already. */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** After it: keeps the answer, or frees the key when nothing happened. `unkept` is why there is no answer to keep. */
  finish(request: FastifyRequest, reply: FastifyReply, payload: unknown, unkept?: string): Promise<void>;
}

const keyShape = /^[\x21-\x7e]{1,255}$/;
/** A larger answer is not kept. */
export const answerBytesMax = 65_536;
const finishTimeoutMs = 5_000;
/** Failures after which nobody knows whether it happened. */
const unknownCodes = new Set(['OUTCOME_UNKNOWN', 'SOURCE_BROKEN', 'CANCELLED', 'INTERNAL']);
const settlings = {
  audit: Settling.SETTLING_AUDIT,
  repeat: Settling.SETTLING_REPEAT,
  nothing: Settling.SETTLING_UNSPECIFIED,
};

export function createIdempotency(catalog: Upstreams['catalog']): Idempotency {
  return {
    begin: async (request, reply) => {
      const key = readKey(request);
      if (key === undefined) return false;
      const answer = await catalog.beginOperation(
        {
          idempotencyKey: key,
          operation: operationOf(request),
          bodyMac: macOf(request),
          settling: settlings[request.context.route.config.settledBy ?? 'nothing'],
          queryId: request.context.route.config.executes ? (request.body as { queryId: string }).queryId : '',
        },
        request.context,
      );
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
          throw new HubError(
            'IDEMPOTENCY_MISMATCH',
            'This Idempotency-Key was used before with another body.',
          );
        case State.STATE_UNKNOWN:
          throw conflict(
            'The first request with this key was cut off. Whether it was carried out is not known.',
          );
        default:
          throw conflict(
            'The first request with this key is still under way. Ask again when it has been answered.',
          );
      }
    },

    finish: async (request, reply, payload, unkept) => {
      const { operationId } = request;
      if (operationId === undefined) return;
      request.operationId = undefined;
      const ctx = createCallContext({ timeoutMs: finishTimeoutMs, ...principalOf(request) });
      const outcome = outcomeOf(request, reply, { payload, unkept });
      await catalog.finishOperation({ recordId: operationId, ...outcome }, ctx);
    },
  };
}

function principalOf({ context }: FastifyRequest) {
  return context.principal === undefined ? {} : { principal: context.principal };
}

function readKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && keyShape.test(key)) return key;
  const detail = 'must be 1 to 255 visible ASCII characters, sent once';
  throw validationError([{ pointer: 'header/idempotency-key', detail }]);
}

/** The same key on another operation, or by another API key, is another record. */
function operationOf({ method, url, context }: FastifyRequest): string {
  return `${method} ${url.split('?', 1)[0]} ${context.principal?.keyId}`;
}

function macOf(request: FastifyRequest): Buffer {
  const text = request.parsed?.exactText ?? JSON.stringify(request.body);
  return createHmac('sha256', String(request.headers['x-service-api-key']))
    .update(text ?? '')
    .digest();
}

function conflict(message: string): HubError {
  return new HubError('IDEMPOTENCY_CONFLICT', message);
}

/** A status of 0: it did not happen, and the key is free again. */
function outcomeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    payload,
    unkept = 'The answer was too large to be kept.',
  }: { payload: unknown; unkept?: string | undefined },
) {
  const status = reply.statusCode;
  const nothing = {
    contentType: '',
    body: Buffer.alloc(0),
    kept: false,
    note: '',
    etag: '',
    unknown: false,
  };
  // Also of an answer that broke off: its status had gone out before.
  if (request.failedWith !== undefined) {
    const unknown = unknownCodes.has(request.failedWith);
    return { status: unknown ? status : 0, ...nothing, unknown };
  }
  if (request.context.route.config.secretAnswer) {
    return {
      status,
      ...nothing,
      note: `It was carried out and made ${request.createdId}. The answer held a secret and is not kept: if it was lost, rotate the key.`,
    };
  }
  const body =
    typeof payload === 'string' ? Buffer.from(payload) : payload instanceof Buffer ? payload : undefined;
  if (body === undefined || body.length > answerBytesMax) {
    return { status, ...nothing, note: `It was carried out. ${unkept}` };
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
