/** What the gateway adds to a request: who calls, and for how long the caller waits. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditAction } from '@datahub/contract/audit-actions';
import type { Scope } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallSignal, CallStop } from '@datahub/service-kit/call/abort-signal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { type Deadline, Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError } from '@datahub/service-kit/call/error';
import { toRequestId } from '@datahub/service-kit/call/request-id';
import type { Span } from '@datahub/service-kit/telemetry/tracing';
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { ParsedBody } from './json-body.ts';
import type { FieldPointers } from './request-error.ts';

/** The caller's own id of a request where it is sane, else a new one. */
export function requestIdOf(raw: { headers: Record<string, unknown> }): string {
  return toRequestId(raw.headers['x-request-id']);
}

/** What checks, counts and logs ask of a route. Without a `url` there is none. */
export interface KnownRoute extends Pick<FastifyRequest['routeOptions'], 'schema'> {
  url?: string | undefined;
  config: FastifyContextConfig;
}

const deadlines = new Deadlines();

/** The context of one HTTP request. Its signal is made when somebody first asks for it: most requests never do. */
export class RequestContext implements CallContext {
  principal: Principal | undefined;
  readonly requestId: string;
  /** Of a request with an idempotency key. */
  operation: string | undefined;
  /** Of the span of this request, or what the caller sent. */
  traceparent: string | undefined;
  span: Span | undefined;
  readonly startedAt = performance.now();
  readonly deadlineAt: number;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  #route: KnownRoute | undefined;
  #stop: CallStop | undefined;
  #deadline: Deadline | undefined;

  constructor(request: FastifyRequest, options: { response: ServerResponse; timeoutMs: number }) {
    this.requestId = request.id;
    this.traceparent = traceparentOf(request.raw);
    this.deadlineAt = this.startedAt + options.timeoutMs;
    this.#request = request;
    this.#response = options.response;
  }

  /** The framework makes it anew each time it is asked. */
  get route(): KnownRoute {
    this.#route ??= this.#request.routeOptions;
    return this.#route;
  }

  /** Where it was made before, once for all requests of the route. */
  set route(route: KnownRoute) {
    this.#route = route;
  }

  /** Fires when the client has gone before its answer was whole, or the budget is used up. */
  get signal(): CallSignal {
    return this.#stop ?? this.#watch();
  }

  #watch(): CallStop {
    const stop = new CallStop();
    this.#stop = stop;
    const late = () =>
      stop.abort(new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.'));
    this.#deadline = deadlines.add(this.deadlineAt - performance.now(), late);
    if (this.#response.closed) this.closed();
    return stop;
  }

  /** The response has closed, whole or not. */
  closed(): void {
    if (this.#deadline !== undefined) deadlines.remove(this.#deadline);
    if (!this.#response.writableFinished)
      this.#stop?.abort(new HubError('CANCELLED', 'The client has gone.'));
  }
}

const traceparentShape = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function traceparentOf({ headers }: IncomingMessage): string | undefined {
  const value = headers.traceparent;
  return typeof value === 'string' && traceparentShape.test(value) ? value : undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
    /** The body as it was sent, where its numbers matter digit by digit. */
    parsed: ParsedBody | undefined;
    /** What it takes of the budget of bodies. */
    bodyBytes: number;
    /** The record of an operation asked for with an idempotency key, until it has ended. */
    operationId: string | undefined;
    /** The code of the problem that was answered, or that broke the answer off. */
    failedWith: string | undefined;
    /** The client has gone, and what it asked for is still under way. */
    disconnected: boolean;
    /** The id of what was made, where the path does not name it. */
    createdId: string | undefined;
  }
  interface FastifyContextConfig {
    /** What the key must allow; undefined for none. */
    scope?: Scope | undefined;
    /** Creates or changes something, so that an idempotency key is honoured. */
    idempotent?: boolean;
    /** Nothing is changed by it. */
    reads?: boolean;
    /** How it is found out whether it was carried out; see `BeginOperationRequest.settling`. */
    settledBy?: 'audit' | 'repeat' | undefined;
    /** Its body names a query to be executed. */
    executes?: boolean;
    /** What the audit counts it as. */
    counted?: AuditAction | undefined;
    /** Where the body has the fields that a service names. Called only for a refused request. */
    pointers?: ((body: unknown) => FieldPointers) | undefined;
    /** The answer holds what is shown once. */
    secretAnswer?: boolean;
    bodyBytesMax?: number;
    bodyOptional?: boolean;
  }
}

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function setVersion(reply: FastifyReply, version: number | undefined): void {
  if (version !== undefined) reply.header('etag', `"${version}"`);
}
