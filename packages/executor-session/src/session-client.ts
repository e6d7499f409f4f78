/**
 * The gateway's end of one session. The executions of one iteration of the event loop, or of several under load, share
 * one message on one stream, or as few as their size allows.
 */

import type {
  ExecuteRequest,
  ExecutorServiceService,
  RecordBatch,
  SessionCall,
  SessionInput,
  SessionReply,
  SessionRequest,
  SessionWindow,
} from '@datahub/proto/executor/v1/executor';
import { type CallContext, type Calls, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { fromErrorDetail } from '@datahub/service-kit/grpc/error-status';
import type { ReplicaHealth } from '@datahub/service-kit/grpc/replica-health';
import { noteBuffers } from '@datahub/service-kit/heap';
import { callBytes, inputBytes } from './codec.ts';
import { type ExecutionReply, Rerouted } from './executor.ts';
import {
  type BatchQueue,
  batchIterations,
  createBatchQueue,
  InFlightCalls,
  pings,
  type SilenceWatch,
  toMessages,
  watchSilence,
  windowBytes,
} from './protocol.ts';

export interface ExecutorSession {
  /** The number of executions in flight. */
  readonly pending: number;
  /** True while the executor's event loop has little time left. */
  readonly busy: boolean;
  /** True once the executor has sent its first message. */
  readonly greeted: boolean;
  /** False once the stream has ended or the executor drains. New calls must then go to another replica. */
  readonly open: boolean;
  execute(request: ExecuteRequest, ctx: CallContext, reply: ExecutionReply): Promise<void>;
  close(): void;
}

interface Pending {
  readonly sequence: number;
  reply: ExecutionReply;
  settle: (err?: unknown) => void;
  /** Bytes that were received but not yet acknowledged. */
  unacknowledged: number;
}

/** The session ended before the call was sent, so any call can be repeated on another replica. */
export class NotSentError extends HubError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'No executor can be reached. Try again.', {
      cause,
      retryable: true,
      retryAfterMs: 1_000,
    });
  }
}

/** After this time, calls are sent even without the greeting. */
const greetingTimeoutMs = 2_000;

type Item =
  | { call: SessionCall }
  | { cancelled: number }
  | { window: SessionWindow }
  | { input: SessionInput }
  | 'ping';

/** Bytes are acknowledged in portions of this size, so a small answer needs no acknowledgement. */
const creditBytes = windowBytes / 4;

type SessionCalls = Pick<Calls<typeof ExecutorServiceService>, 'session'>;

/**
 * Opens the stream at once. When it ends, `onEnd` gets the reason, or undefined after a drain. If `health` ejects the
 * executor, its calls end, but the stream stays open.
 */
export function openSession(
  calls: SessionCalls,
  onEnd: (err: unknown) => void,
  health?: Pick<ReplicaHealth, 'wait' | 'heard'>,
): ExecutorSession {
  return new SessionClient(calls, onEnd, health);
}

class SessionClient implements ExecutorSession {
  greeted = false;
  busy = false;
  open = true;
  readonly #onEnd: (err: unknown) => void;
  readonly #calls = new InFlightCalls<Pending>();
  readonly #outgoing: BatchQueue<Item> = createBatchQueue(() => batchIterations(this.#calls.size));
  readonly #abort = new AbortController();
  readonly #greeting = Promise.withResolvers<void>();
  readonly #greetingTimer: NodeJS.Timeout;
  readonly #pingTimer: NodeJS.Timeout;
  readonly #silence: SilenceWatch;
  readonly #health: Pick<ReplicaHealth, 'wait' | 'heard'> | undefined;
  #endWait: (() => void) | undefined;
  #lastSequence = 0;
  /** As the greeting says. */
  #notesCommit = false;

  constructor(
    calls: SessionCalls,
    onEnd: (err: unknown) => void,
    health: Pick<ReplicaHealth, 'wait' | 'heard'> | undefined,
  ) {
    this.#onEnd = onEnd;
    this.#health = health;
    this.#greetingTimer = setTimeout(() => this.#greet(), greetingTimeoutMs).unref();
    this.#pingTimer = setInterval(() => this.#outgoing.push('ping'), pings.everyMs).unref();
    this.#silence = watchSilence(() =>
      this.#abort.abort(new HubError('UNAVAILABLE', 'The executor stopped responding.')),
    );
    this.#read(calls).then(
      () => this.#end(undefined),
      (err) => this.#end(err),
    );
  }

  get pending(): number {
    return this.#calls.size;
  }

  execute(request: ExecuteRequest, ctx: CallContext, reply: ExecutionReply): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (ctx.signal.aborted) return reject(ctx.signal.reason);
      this.#lastSequence = (this.#lastSequence + 1) >>> 0;
      const sequence = this.#lastSequence;
      const cancel = () => {
        this.#outgoing.push({ cancelled: sequence });
        call.settle(unanswered(ctx.signal.reason));
      };
      const call: Pending = {
        sequence,
        reply,
        unacknowledged: 0,
        settle: (err) => {
          this.#calls.remove(call);
          if (this.#calls.size === 0) this.#stopWaiting();
          ctx.signal.removeEventListener('abort', cancel);
          if (err === undefined) return resolve();
          if (this.#notesCommit) reply.notesCommit?.();
          reject(err);
        },
      };
      this.#calls.add(call);
      this.#endWait ??= this.#health?.wait(this.#cut);
      ctx.signal.addEventListener('abort', cancel, { once: true });
      reply.onDrain(() => this.#acknowledge(call));
      this.#outgoing.push({ call: toCall(sequence, request, ctx) });
      if (reply.input !== undefined) void this.#feed(call, reply.input);
    });
  }

  /** Sends the records of a load. If they cannot be read, the load is cancelled. */
  async #feed(call: Pending, input: AsyncIterable<RecordBatch>): Promise<void> {
    const { sequence } = call;
    const isOver = () => this.#calls.get(sequence) !== call;
    // If the session ends before, the call goes to another executor, and its records can be read once only.
    await this.#greeting.promise;
    if (isOver()) return;
    try {
      for await (const batch of input) {
        if (isOver()) return;
        this.#outgoing.push({ input: { sequence, batch } });
      }
      this.#outgoing.push({ input: { sequence } });
    } catch (err) {
      if (isOver()) return;
      this.#outgoing.push({ cancelled: sequence });
      call.settle(err);
    }
  }

  /** Ends the calls of an executor that does not respond. If it wakes, it cancels them. */
  readonly #cut = (): void => {
    if (!this.greeted) {
      // Nothing was sent yet, so the calls can go elsewhere.
      this.#abort.abort(new HubError('UNAVAILABLE', 'The executor does not respond.'));
      return;
    }
    for (const call of this.#calls) {
      this.#outgoing.push({ cancelled: call.sequence });
      call.settle(answerLost(undefined));
    }
  };

  #stopWaiting(): void {
    this.#endWait?.();
    this.#endWait = undefined;
  }

  close(): void {
    this.#stopWaiting();
    clearTimeout(this.#greetingTimer);
    clearInterval(this.#pingTimer);
    this.#silence.stop();
    this.#outgoing.close();
    this.#abort.abort();
  }

  async #read(calls: SessionCalls): Promise<void> {
    const ctx = {
      ...createCallContext({ timeoutMs: 1 }),
      deadlineAt: Infinity,
      signal: this.#abort.signal,
    };
    const requests = toRequests(this.#outgoing, this.#greeting.promise);
    for await (const { replies, draining, busy = false, notesCommit } of calls.session(requests, ctx)) {
      this.#notesCommit ||= notesCommit === true;
      if (!this.greeted) this.#greet();
      this.#silence.reset();
      this.#health?.heard();
      this.busy = busy;
      for (const reply of replies) this.#take(reply);
      if (draining) this.open = false;
      if (!this.open && this.#calls.size === 0) break;
    }
  }

  #greet(): void {
    this.greeted = true;
    clearTimeout(this.#greetingTimer);
    this.#greeting.resolve();
  }

  #end(err: unknown): void {
    this.#silence.stop();
    clearInterval(this.#pingTimer);
    if (!this.open && this.#calls.size === 0) return;
    this.open = false;
    this.#outgoing.close();
    const failure = this.greeted ? answerLost(err) : new NotSentError(err);
    this.#greet();
    for (const call of this.#calls) call.settle(failure);
    this.#onEnd(err);
  }

  #take(message: SessionReply): void {
    const { sequence, chunk, done, error, truncated, unknownContext, serverTiming, cache, sourceId, reads } =
      message;
    const call = this.#calls.get(sequence);
    if (call === undefined) return;
    if (sourceId !== undefined) call.reply.source?.(sourceId, reads ?? false);
    if (cache !== undefined) call.reply.cached?.(cache);
    if (serverTiming !== undefined) call.reply.timings?.(serverTiming);
    if (unknownContext !== undefined) call.reply.unknownContext?.(unknownContext);
    if (chunk.length > 0) this.#deliver(call, chunk, done);
    if (truncated) {
      const { rows = 0, moreResults = false } = message;
      call.reply.truncated?.({ rows, moreResults });
    }
    if (message.reroute) call.settle(new Rerouted());
    else if (error !== undefined) call.settle(fromErrorDetail(error));
    else if (done) call.settle();
  }

  #deliver(call: Pending, chunk: Buffer, last: boolean): void {
    call.unacknowledged += chunk.length;
    // The bytes exist twice: in the HTTP/2 frames, and in the message that was assembled from them.
    noteBuffers(2 * chunk.length);
    const ready = call.reply.chunk(chunk, last);
    if (ready && call.unacknowledged >= creditBytes) this.#acknowledge(call);
  }

  #acknowledge(call: Pending): void {
    if (call.unacknowledged === 0) return;
    this.#outgoing.push({ window: { sequence: call.sequence, bytes: call.unacknowledged } });
    call.unacknowledged = 0;
  }
}

function toCall(sequence: number, request: ExecuteRequest, ctx: CallContext): SessionCall {
  return {
    sequence,
    principal: ctx.principal,
    request,
    deadlineMs: Math.max(1, Math.ceil(ctx.deadlineAt - performance.now())),
    requestId: ctx.requestId,
    traceparent: ctx.traceparent ?? '',
  };
}

/** The error of a lost answer. The caller determines whether the statement reads, so that it can be repeated. */
function answerLost(cause: unknown): HubError {
  return new HubError('SOURCE_BROKEN', 'The connection to the executor was lost while the statement ran.', {
    cause,
    lost: true,
  });
}

/** The error if the deadline passed before the executor could report whether the database cancelled the statement. */
function unanswered(reason: unknown): unknown {
  if (!(reason instanceof HubError) || reason.code !== 'STATEMENT_TIMEOUT') return reason;
  return new HubError(reason.code, reason.message, { cause: reason, retryable: false, lost: true });
}

async function* toRequests(
  outgoing: BatchQueue<Item>,
  greeting: Promise<void>,
): AsyncIterable<SessionRequest> {
  await greeting;
  for (let batch = await outgoing.take(false); batch !== undefined; batch = await outgoing.take(false))
    for (const items of toMessages(batch, itemBytes)) yield* toRequest(items);
}

function itemBytes(item: Item): number {
  if (item === 'ping') return 0;
  return 'call' in item ? callBytes(item.call) : 'input' in item ? inputBytes(item.input) : 0;
}

function* toRequest(items: readonly Item[]): Iterable<SessionRequest> {
  const request: SessionRequest = { calls: [], cancelled: [], windows: [], inputs: [] };
  let pings = 0;
  for (const item of items) {
    if (item === 'ping') pings++;
    else if ('call' in item) request.calls.push(item.call);
    else if ('cancelled' in item) request.cancelled.push(item.cancelled);
    else if ('input' in item) request.inputs.push(item.input);
    else request.windows.push(item.window);
  }
  if (items.length > pings) yield request;
  // A ping is an empty message, which the executor always answers.
  if (pings > 0) yield { calls: [], cancelled: [], windows: [], inputs: [] };
}
