/** How services call each other: one interface for gRPC clients and for implementations in the same process. */

import { randomFillSync } from 'node:crypto';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from './error.ts';
import type { CallSignal } from './stop.ts';

/** Metadata of every request. */
export interface CallContext {
  /** Absent only for methods whose contract allows it. */
  principal?: Principal | undefined;
  requestId: string;
  /** Identifies an operation that can be repeated, as `<ms since 1970 of the first attempt>:<id>`; see `Idempotency-Key`. */
  operation?: string | undefined;
  /** W3C trace context. */
  traceparent?: string | undefined;
  /** When the caller stops waiting, in milliseconds of `performance.now()`. */
  deadlineAt: number;
  /** Fires at the deadline, or when the caller cancels. */
  signal: CallSignal;
}

// biome-ignore format: one line a case reads best.
interface Method<Req, Res> {
  path: string;
  requestStream: boolean;
  responseStream: boolean;
  requestSerialize: (value: Req) => Buffer;
  requestDeserialize: (bytes: Buffer) => Req;
  responseSerialize: (value: Res) => Buffer;
  responseDeserialize: (bytes: Buffer) => Res;
}

/** A service as ts-proto describes it. Its parameter is contravariant, hence `never`. */
export type ServiceDescription = Record<string, Method<never, unknown>>;

type RequestOf<M> = M extends { requestDeserialize: (bytes: Buffer) => infer Req } ? Req : never;
type ResponseOf<M> = M extends { responseDeserialize: (bytes: Buffer) => infer Res } ? Res : never;

type CallOf<M> = M extends { responseStream: true }
  ? M extends { requestStream: true }
    ? (requests: AsyncIterable<RequestOf<M>>, ctx: CallContext) => AsyncIterable<ResponseOf<M>>
    : (request: RequestOf<M>, ctx: CallContext) => AsyncIterable<ResponseOf<M>>
  : (request: RequestOf<M>, ctx: CallContext) => Promise<ResponseOf<M>>;

/** The methods of a service: what an implementation provides and what a client offers. */
export type Calls<Service> = { [Name in keyof Service]: CallOf<Service[Name]> };

/** The caller's principal. Throws KEY_MISSING without one. */
export function requirePrincipal(ctx: CallContext): Principal {
  if (ctx.principal === undefined || ctx.principal.accountId === '') {
    throw new HubError('KEY_MISSING', 'This call carries no principal.');
  }
  return ctx.principal;
}

/** A context for calls that the service makes on its own behalf. */
export function createCallContext(options: {
  timeoutMs: number;
  principal?: Principal;
  requestId?: string;
}): CallContext {
  return {
    principal: options.principal,
    requestId: options.requestId ?? createRequestId(),
    deadlineAt: performance.now() + options.timeoutMs,
    signal: AbortSignal.timeout(options.timeoutMs),
  };
}

const requestIdBytes = 16;
/** Random bytes for 256 ids at once, because a system call for each id would cost more than all the rest. */
const randomBytes = Buffer.alloc(256 * requestIdBytes);
let used = randomBytes.length;

const validId = /^[\w.:-]{1,128}$/;

/** The given request id if it is valid, otherwise a new one. */
export function toRequestId(given: unknown): string {
  return typeof given === 'string' && validId.test(given) ? given : createRequestId();
}

/** 128 random bits in hexadecimal, like the trace ids of W3C Trace Context. */
export function createRequestId(): string {
  if (used === randomBytes.length) {
    randomFillSync(randomBytes);
    used = 0;
  }
  used += requestIdBytes;
  return randomBytes.toString('hex', used - requestIdBytes, used);
}
