/**
 * The executor's end of a session: many executions over one stream, everything that became ready in one turn of the
 * event loop, or in a few while many are under way, in one message. grpc-js costs per message and per stream, so this is
 * what makes the hop cheap.
 */

import type {
  ExecuteRequest,
  ExecuteResponse,
  SessionCall,
  SessionReply,
  SessionRequest,
  SessionResponse,
} from '@datahub/proto/executor/v1/executor';
import { CallStop } from '@datahub/service-kit/call/abort-signal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { type Deadline, Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { toErrorDetail } from '@datahub/service-kit/grpc/error-status';
import { noteBuffers } from '@datahub/service-kit/process/heap';
import { createTurnQueue, type TurnQueue } from './batch-queue.ts';
import type { ExecutionReply, Executor } from './executor.ts';
import { CallsUnderWay } from './in-flight-calls.ts';

/** How often a session pings, with an empty message that is answered by one, and how long either side bears silence. */
export const pings = { everyMs: 5_000, silenceMaxMs: 15_000 };

/** Calls `onSilence` when nothing was heard for too long. */
export function watchOver(onSilence: () => void): { now(): void; stop(): void } {
  let heardAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - heardAt > pings.silenceMaxMs) onSilence();
  }, pings.everyMs);
  timer.unref();
  return {
    now: () => {
      heardAt = performance.now();
    },
    stop: () => clearInterval(timer),
  };
}

/**
 * How many turns of the event loop a message gathers calls or answers, where so many are under way: it costs as much as
 * several of them. Turns are as long as there is work in them, so on a machine with time to spare this is no wait.
 */
export function turnsFor(underWay: number): number {
  return underWay > 8 ? 6 : 1;
}

/** Bytes of one answer that may be on their way before the receiver says that it took some. */
export const windowBytes = 1_048_576;

interface Running {
  readonly sequence: number;
  stop: CallStop;
  deadline: Deadline;
  /** Bytes that the receiver has not taken yet. */
  outstanding: number;
  onDrain: () => void;
}

export interface SessionServerOptions {
  /** Executions of one session at the same time. */
  callsMax: number;
  /** Fires when no new calls should come: the process is stopping. */
  draining: AbortSignal;
  onFailure: (err: unknown, requestId: string) => void;
}

/** The `session` method of the executor's service. */
export async function* serveSession(
  executor: Pick<Executor, 'execute'>,
  requests: AsyncIterable<SessionRequest>,
  ctx: CallContext & { options: SessionServerOptions },
): AsyncIterable<SessionResponse> {
  const running = new CallsUnderWay<Running>();
  const replies = createTurnQueue<SessionReply>(() => turnsFor(running.size));
  const session = { executor, replies, running, options: ctx.options };
  const drain = () => replies.wake();
  ctx.options.draining.addEventListener('abort', drain);
  const end = () => replies.close();
  ctx.signal.addEventListener('abort', end);
  const heard = watchOver(end);
  readRequests(session, requests, heard.now).then(end, end);
  let toldDraining = ctx.options.draining.aborted;
  try {
    // A caller sends nothing before it was greeted, so what never got that far was never run.
    yield { replies: [], draining: toldDraining };
    for (;;) {
      const draining = ctx.options.draining.aborted && !toldDraining;
      const batch = await replies.take(draining);
      if (batch === undefined) return;
      toldDraining ||= ctx.options.draining.aborted;
      yield { replies: batch, draining: toldDraining };
    }
  } finally {
    heard.stop();
    ctx.options.draining.removeEventListener('abort', drain);
    ctx.signal.removeEventListener('abort', end);
    for (const call of running) call.stop.abort(new HubError('CANCELLED', 'The gateway has gone.'));
  }
}

interface Session {
  executor: Pick<Executor, 'execute'>;
  replies: TurnQueue<SessionReply>;
  running: CallsUnderWay<Running>;
  options: SessionServerOptions;
}

async function readRequests(
  session: Session,
  requests: AsyncIterable<SessionRequest>,
  onHeard: () => void,
): Promise<void> {
  for await (const { calls, cancelled, windows } of requests) {
    onHeard();
    const isPing = calls.length === 0 && cancelled.length === 0 && windows.length === 0;
    if (isPing) session.replies.wake();
    for (const call of calls) startCall(session, call);
    for (const sequence of cancelled) {
      session.running.get(sequence)?.stop.abort(new HubError('CANCELLED', 'The client has gone.'));
    }
    for (const { sequence, bytes } of windows) {
      const call = session.running.get(sequence);
      if (call === undefined) continue;
      const wasFull = call.outstanding >= windowBytes;
      call.outstanding -= bytes;
      if (wasFull && call.outstanding < windowBytes) call.onDrain();
    }
  }
}

const deadlines = new Deadlines();

function startCall(session: Session, call: SessionCall): void {
  const { sequence, request, deadlineMs, requestId } = call;
  const { running, replies, options } = session;
  const stop = new CallStop();
  const timeout = () =>
    stop.abort(new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.'));
  const own: Running = {
    sequence,
    stop,
    deadline: deadlines.add(deadlineMs, timeout),
    outstanding: 0,
    onDrain: () => {},
  };
  const finish = (reply: SessionReply) => {
    deadlines.remove(own.deadline);
    running.remove(own);
    replies.push(reply);
  };
  if (running.size >= options.callsMax || request === undefined) {
    const err = new HubError('SOURCE_BUSY', 'The executor is busy. Try again.', {
      stage: 'queue',
      retryable: true,
    });
    finish(failed(sequence, err));
    return;
  }
  running.add(own);
  const last = new LastChunk(own, replies);
  session.executor.execute(request, contextOf(call, stop), last).then(
    () => finish({ sequence, chunk: last.rest(), done: true, ...last.cut }),
    (err) => {
      if (!(err instanceof HubError)) options.onFailure(err, requestId);
      finish(failed(sequence, toHubError(err)));
    },
  );
}

function failed(sequence: number, err: HubError): SessionReply {
  return { sequence, chunk: nothing, done: false, error: toErrorDetail(err) };
}

const nothing = Buffer.alloc(0);

function contextOf(call: SessionCall, signal: CallStop): CallContext {
  return {
    principal: call.principal,
    requestId: call.requestId,
    traceparent: call.traceparent === '' ? undefined : call.traceparent,
    deadlineAt: performance.now() + call.deadlineMs,
    signal,
  };
}

/** From here on a chunk is no small answer. */
const largeChunkBytes = 16_384;

/** Holds a small chunk back for a turn, so that a small answer travels together with the word that it is whole. */
class LastChunk implements ExecutionReply {
  readonly #call: Running;
  readonly #replies: TurnQueue<SessionReply>;
  #held: Buffer | undefined;
  cut: Pick<SessionReply, 'truncated'> | undefined;

  constructor(call: Running, replies: TurnQueue<SessionReply>) {
    this.#call = call;
    this.#replies = replies;
  }

  chunk(bytes: Buffer, last = false): boolean {
    this.#send();
    this.#held = bytes;
    this.#call.outstanding += bytes.length;
    if (bytes.length >= largeChunkBytes) this.#send();
    else if (!last) setImmediate(() => this.#send());
    return this.#call.outstanding < windowBytes;
  }

  onDrain(listener: () => void): void {
    this.#call.onDrain = listener;
  }

  unknownContext(unknownContext: string): void {
    this.#replies.push({ sequence: this.#call.sequence, chunk: nothing, done: false, unknownContext });
  }

  truncated(): void {
    this.cut = { truncated: true };
  }

  rest(): Buffer {
    const rest = this.#held ?? nothing;
    this.#held = undefined;
    return rest;
  }

  #send(): void {
    if (this.#held === undefined) return;
    this.#replies.push({ sequence: this.#call.sequence, chunk: this.#held, done: false });
    // It is copied into a message.
    noteBuffers(2 * this.#held.length);
    this.#held = undefined;
  }
}

/** The `execute` method of the executor's service, for consumers that want one stream a call. */
export async function* serveExecute(
  executor: Pick<Executor, 'execute'>,
  request: ExecuteRequest,
  ctx: CallContext,
): AsyncIterable<ExecuteResponse> {
  const messages = createTurnQueue<ExecuteResponse>();
  let outstanding = 0;
  let onDrain = () => {};
  let truncated = false;
  const reply: ExecutionReply = {
    chunk: (bytes) => {
      messages.push({ chunk: bytes });
      outstanding += bytes.length;
      return outstanding < windowBytes;
    },
    onDrain: (listener) => {
      onDrain = listener;
    },
    unknownContext: (unknownContext) => messages.push({ chunk: nothing, unknownContext }),
    truncated: () => {
      truncated = true;
    },
  };
  let failure: unknown;
  executor.execute(request, ctx, reply).then(
    () => messages.close(),
    (err) => {
      failure = err;
      messages.close();
    },
  );
  for (let batch = await messages.take(false); batch !== undefined; batch = await messages.take(false)) {
    for (const message of batch) {
      yield message;
      const wasFull = outstanding >= windowBytes;
      outstanding -= message.chunk.length;
      if (wasFull && outstanding < windowBytes) onDrain();
    }
  }
  if (failure !== undefined) throw failure;
  if (truncated) yield { chunk: nothing, truncated };
}
