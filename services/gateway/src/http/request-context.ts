/** The context that the gateway adds to a request: the caller, the deadline and the trace. */

import type { ServerResponse } from 'node:http';
import { consoleForm, formHeader } from '@datahub/contract/call-form';
import type { Principal } from '@datahub/proto/common/v1/principal';
import {
  type CallContext,
  type CallSignal,
  CallStop,
  type Deadline,
  type Deadlines,
  toRequestId,
  toTraceparent,
} from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { PauseClock } from '@datahub/service-kit/call/pause-clock';
import type { Span } from '@datahub/service-kit/telemetry/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ParsedBody } from './json-body.ts';
import type { Route } from './route.ts';

/** The caller's request id if it is valid, else a new one. */
export function requestIdOf(raw: { headers: Record<string, unknown> }): string {
  return toRequestId(raw.headers['x-request-id']);
}

export interface RequestContextOptions {
  timeoutMs: number;
  /** The longest time of a request whose client reads slowly. */
  transferMs: number;
  /** Shared by all requests. */
  deadlines: Deadlines;
  /** See `RequestContext.requireCaller`. */
  requireCaller(request: FastifyRequest): Promise<void>;
}

/** How soon a deadline is looked at again. */
const lookMsMin = 100;

/** The context of one HTTP request. The signal is created on first use, since most requests never need it. */
export class RequestContext implements CallContext {
  principal: Principal | undefined;
  /** Set once the caller was refused while the request was running. */
  refusedAs: HubError | undefined;
  /** The rate of each signed-in user of the key. */
  userRatePerMinute: number | undefined;
  readonly requestId: string;
  /** The operation of a request with an idempotency key. */
  operation: string | undefined;
  /** The span of this request, or the header `traceparent` that the caller sent. */
  traceparent: string | undefined;
  span: Span | undefined;
  /** Gives back the place among large answers if the request has one. */
  leavePlace: () => void = () => {};
  readonly startedAt = performance.now();
  deadlineAt: number;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  readonly #options: RequestContextOptions;
  #route: Route | undefined;
  #stop: CallStop | undefined;
  #deadline: Deadline | undefined;
  /** Undefined until the client has made the answer wait. */
  #pauses: PauseClock | undefined;
  /** What the pauses have added to the deadline. */
  #addedMs = 0;

  constructor(request: FastifyRequest, response: ServerResponse, options: RequestContextOptions) {
    this.requestId = request.id;
    this.traceparent = toTraceparent(request.headers.traceparent);
    this.deadlineAt = this.startedAt + options.timeoutMs;
    this.#request = request;
    this.#response = response;
    this.#options = options;
  }

  /** The route of `/v1`. Cached, because Fastify creates its options on each access. */
  get route(): Route | undefined {
    this.#route ??= this.#request.routeOptions.config.route;
    return this.#route;
  }

  set route(route: Route) {
    this.#route = route;
  }

  /** The pattern of the path, outside of `/v1` too. Undefined for an unknown path. */
  get path(): string | undefined {
    return this.route?.path ?? this.#request.routeOptions.url;
  }

  /** Fires when the client disconnects before the answer is complete, or at the deadline. */
  get signal(): CallSignal {
    return this.#stop ?? this.#watch();
  }

  /**
   * A request that does many things calls this before each: its key may have been revoked or have expired. Rejects with
   * KEY_INVALID, KEY_EXPIRED, TOKEN_INVALID, SCOPE_DENIED, or UNAVAILABLE. Mostly it costs a hash and a look-up.
   */
  requireCaller(): Promise<void> {
    return this.#options.requireCaller(this.#request);
  }

  /** Restarts the time limit. For requests without a total limit that must keep making progress. */
  renewDeadline(): void {
    this.deadlineAt = performance.now() + this.#options.timeoutMs;
    if (this.#deadline === undefined || this.#response.closed) return;
    this.#options.deadlines.remove(this.#deadline);
    this.#addDeadline();
  }

  /** The client does not read the answer. Until `resumed`, the time limit stands still. */
  paused(): void {
    this.#pauses ??= new PauseClock();
    this.#pauses.pause(performance.now());
  }

  resumed(): void {
    this.#pauses?.resume(performance.now());
  }

  /** True if the deadline moved, because the client made the answer wait. */
  #movesDeadline(): boolean {
    const now = performance.now();
    const pausedMs = this.#pauses?.pausedMs(now) ?? 0;
    const deadlineAt = this.deadlineAt + pausedMs - this.#addedMs;
    const lastAt = this.startedAt + Math.max(this.#options.transferMs, this.#options.timeoutMs);
    if (deadlineAt <= now || now >= lastAt) return false;
    this.#addedMs = pausedMs;
    this.deadlineAt = Math.min(Math.max(deadlineAt, now + lookMsMin), lastAt);
    return true;
  }

  #watch(): CallStop {
    this.#stop = new CallStop();
    this.#addDeadline();
    if (this.#response.closed) this.closed();
    return this.#stop;
  }

  #addDeadline(): void {
    const onDeadline = () => {
      if (this.#movesDeadline()) this.#addDeadline();
      else
        this.#stop?.abort(new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.'));
    };
    this.#deadline = this.#options.deadlines.add(this.deadlineAt - performance.now(), onDeadline);
  }

  /**
   * Throws CANCELLED once the response is closed. What it held was given back then, so what is counted later would be
   * counted for ever.
   */
  requireOpen(): void {
    if (this.#response.closed) throw new HubError('CANCELLED', 'The client disconnected.');
  }

  /** Called when the response closes, complete or not. */
  closed(): void {
    if (this.#deadline !== undefined) this.#options.deadlines.remove(this.#deadline);
    if (!this.#response.writableFinished)
      this.#stop?.abort(new HubError('CANCELLED', 'The client disconnected.'));
  }
}

/** True for a call of the console, which is no call of a program. */
export const isFromConsole = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers[formHeader] === consoleForm;

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
    /** The parsed body, with its text if the digits of its numbers matter. */
    parsed: ParsedBody | undefined;
    /** The number of bytes that the request uses of the budget for bodies. */
    bodyBytes: number;
    /** The number of bytes of its body if it needs no key. */
    openBytes: number;
    /** The number of bytes that its response uses of the budget for responses. */
    responseBytes: number;
    /** The record of an operation with an idempotency key, until it is finished. */
    operationId: string | undefined;
    /** Names this start of the operation. */
    operationAttempt: string | undefined;
    /** True if the executor notes each COMMIT of this start at PostgreSQL. */
    notesCommit: boolean;
    /** The code of the problem that was sent, or that interrupted the answer. */
    failedWith: string | undefined;
    /** True if the failed operation may have made a part of its changes. */
    failedPartly: boolean;
    /** The time that the hub itself took until the head of the answer to an execution. */
    overheadMs: number | undefined;
    /** The client disconnected while the request was running. */
    disconnected: boolean;
    /** True once it has an answer or an error, so that nothing more is done for it. */
    isDone: boolean;
    /** When a request that was running as its client left gives back what it holds, if it does not end before. */
    heldUntil: Deadline | undefined;
    /** The id of the created resource, if the path does not name it. */
    createdId: string | undefined;
  }
  interface FastifyContextConfig {
    route?: Route;
  }
}

export function setVersion(reply: FastifyReply, version: number | undefined): void {
  if (version !== undefined) reply.header('etag', `"${version}"`);
}
