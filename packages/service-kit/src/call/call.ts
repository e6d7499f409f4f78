/** How services call each other: one interface for gRPC clients and for implementations in the same process. */

import { randomFillSync } from 'node:crypto';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from './error.ts';

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
    signal: new DeadlineSignal(options.timeoutMs),
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

const traceparentShape = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The given trace context if it is valid, otherwise none. */
export const toTraceparent = (given: unknown): string | undefined =>
  typeof given === 'string' && traceparentShape.test(given) ? given : undefined;

/** 128 random bits in hexadecimal, like the trace ids of W3C Trace Context. */
export function createRequestId(): string {
  if (used === randomBytes.length) {
    randomFillSync(randomBytes);
    used = 0;
  }
  used += requestIdBytes;
  return randomBytes.toString('hex', used - requestIdBytes, used);
}

/** The part of `AbortSignal` that calls use. */
export interface CallSignal {
  readonly aborted: boolean;
  /** Undefined until it has fired. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** An `AbortController` and its signal in one, at a tenth of their cost, because every request has one. */
export class CallStop implements CallSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] | undefined;

  /** Later calls do nothing. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (let next = this.#listeners?.shift(); next; next = this.#listeners?.shift()) next();
  }

  /** Each listener is called once. A listener that is added after `abort` is not called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.aborted) return;
    // There is nearly always one listener. `push` on an empty array would allocate room for seventeen.
    if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  get hasListeners(): boolean {
    return this.#listeners !== undefined && this.#listeners.length > 0;
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const listeners = this.#listeners ?? [];
    const index = listeners.indexOf(listener);
    if (index === -1) return;
    if (listeners.length === 1) this.#listeners = undefined;
    else listeners.splice(index, 1);
  }
}

/** For APIs that accept only the platform's `AbortSignal`. */
export function toAbortSignal(signal: CallSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

export interface Deadline {
  readonly at: number;
  readonly onReached: () => void;
  /** Index in the list of pending deadlines; -1 once it is reached or removed. */
  index: number;
}

/** How many deadlines are reached in one turn of the event loop. Each one can end a call. */
const reachedMax = 16;

/** The most that one timer can wait, in milliseconds. */
const timerMaxMs = 2_147_483_647;

/**
 * Replaces a `setTimeout` and a `clearTimeout` for each call at a fraction of their cost, because the timer changes only
 * for a deadline that is earlier than all others. When it fires, it scans all pending deadlines; if all have the same
 * length, that happens once in that time.
 */
export class Deadlines {
  readonly #pending: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #timerAt = Number.POSITIVE_INFINITY;

  /** Calls `onReached` once, after `delayMs` but not before this returns, unless the deadline is removed first. */
  add(delayMs: number, onReached: () => void): Deadline {
    const at = performance.now() + Math.max(delayMs, 0);
    const deadline = { at, onReached, index: this.#pending.length };
    this.#pending.push(deadline);
    if (at < this.#timerAt) this.#setTimer(at);
    return deadline;
  }

  /** Does nothing if it was reached or removed before. */
  remove(deadline: Deadline): void {
    const { index } = deadline;
    if (index === -1) return;
    const last = this.#pending.pop() as Deadline;
    if (last !== deadline) {
      this.#pending[index] = last;
      last.index = index;
    }
    deadline.index = -1;
  }

  #setTimer(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const delayMs = Math.min(Math.max(Math.ceil(at - performance.now()), 1), timerMaxMs);
    this.#timer = setTimeout(() => this.#fire(), delayMs);
    // A pending deadline does not keep the process alive.
    this.#timer.unref();
  }

  #fire(): void {
    const now = performance.now();
    this.#reach(
      this.#pending.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at),
      0,
    );
  }

  /** Calls the listeners in groups. The timer for the deadlines that come later is set after the last group. */
  #reach(reached: readonly Deadline[], from: number): void {
    const end = from + reachedMax;
    for (const deadline of reached.slice(from, end)) {
      // It can be removed by the listener of another one, or before its turn.
      if (deadline.index === -1) continue;
      this.remove(deadline);
      deadline.onReached();
    }
    if (end < reached.length) {
      setImmediate(() => this.#reach(reached, end));
      return;
    }
    this.#timerAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#pending) next = Math.min(next, at);
    if (next < Number.POSITIVE_INFINITY) this.#setTimer(next);
  }
}

/** The reason of a signal that fires at a deadline, as `AbortSignal.timeout` has it. */
export const deadlinePassed = (): Error =>
  new DOMException('The operation was aborted due to timeout', 'TimeoutError');

/** Whether a signal fired because time is up: that of a call of a service itself, or of a request. */
export const isDeadline = (reason: unknown): boolean =>
  reason instanceof HubError
    ? reason.code === 'STATEMENT_TIMEOUT'
    : (reason as Error | undefined)?.name === 'TimeoutError';

/**
 * Fires after a time, like `AbortSignal.timeout`, but has a timer only while somebody listens, so that a call that has
 * ended does not wake the process later.
 */
class DeadlineSignal implements CallSignal {
  readonly #at: number;
  readonly #stop = new CallStop();
  #timer: NodeJS.Timeout | undefined;

  constructor(delayMs: number) {
    this.#at = performance.now() + delayMs;
  }

  get aborted(): boolean {
    if (!this.#stop.aborted && performance.now() >= this.#at) this.#fire();
    return this.#stop.aborted;
  }

  get reason(): unknown {
    return this.aborted ? this.#stop.reason : undefined;
  }

  addEventListener(type: 'abort', listener: () => void): void {
    if (this.aborted) return;
    this.#stop.addEventListener(type, listener);
    this.#timer ??= setTimeout(() => this.#fire(), this.#at - performance.now()).unref();
  }

  removeEventListener(type: 'abort', listener: () => void): void {
    this.#stop.removeEventListener(type, listener);
    if (!this.#stop.hasListeners) this.#rest();
  }

  #fire(): void {
    this.#rest();
    this.#stop.abort(deadlinePassed());
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
