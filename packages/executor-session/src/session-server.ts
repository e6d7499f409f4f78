/**
 * The executor's end of a session: many executions over one stream. All replies of one iteration of the event loop, or
 * of several under load, are sent in one message, or in as few as their size allows, because grpc-js has a high cost per
 * message and per stream.
 */

import type {
  CacheInfo,
  ExecuteRequest,
  ExecuteResponse,
  RecordBatch,
  SessionCall,
  SessionReply,
  SessionRequest,
  SessionResponse,
} from '@datahub/proto/executor/v1/executor';
import { onAbort } from '@datahub/service-kit/call/abort';
import {
  type CallContext,
  CallStop,
  type Deadline,
  Deadlines,
  toRequestId,
  toTraceparent,
} from '@datahub/service-kit/call/call';
import { HubError, toHubError, unexpectedOf } from '@datahub/service-kit/call/error';
import { PauseClock } from '@datahub/service-kit/call/pause-clock';
import { toErrorDetail } from '@datahub/service-kit/grpc/error-status';
import { noteBuffers } from '@datahub/service-kit/heap';
import type { BusyWatch } from './busy-watch.ts';
import { type Cut, type ExecutionReply, type Executor, Rerouted } from './executor.ts';
import {
  type BatchQueue,
  batchIterations,
  createBatchQueue,
  InFlightCalls,
  toMessages,
  watchSilence,
  windowBytes,
} from './protocol.ts';

/** How soon a deadline is looked at again. */
const lookMsMin = 100;

interface Running {
  readonly sequence: number;
  stop: CallStop;
  deadline: Deadline;
  /** Starts the deadline anew. */
  renew: () => void;
  /** Bytes that were sent but not yet acknowledged. */
  outstanding: number;
  /** Times without room for more of them; undefined until the first. They do not count towards the deadline. */
  pauses: PauseClock | undefined;
  onDrain: () => void;
  /** The records of a call with `load`. */
  input: BatchQueue<RecordBatch>;
}

export interface SessionServerOptions {
  /** The most executions of one session at the same time. */
  callsMax: number;
  /** Fires when the process shuts down and accepts no new calls. */
  draining: AbortSignal;
  onFailure: (err: unknown, requestId: string) => void;
  busy: BusyWatch;
}

/** The `session` method of the executor's service. */
export async function* serveSession(
  executor: Pick<Executor, 'execute'>,
  requests: AsyncIterable<SessionRequest>,
  ctx: CallContext & { options: SessionServerOptions },
): AsyncIterable<SessionResponse> {
  const running = new InFlightCalls<Running>();
  const replies = createBatchQueue<SessionReply>(() => batchIterations(running.size));
  const session = { executor, replies, running, options: ctx.options, deadlines: new Deadlines() };
  const drain = () => replies.wake();
  const { busy } = ctx.options;
  const busyNow = () => (busy.isBusy ? { busy: true } : undefined);
  using _draining = ctx.options.draining.aborted ? undefined : onAbort(ctx.options.draining, drain);
  busy.onChange(drain);
  const end = () => replies.close();
  using _ended = onAbort(ctx.signal, end);
  const silence = watchSilence(end);
  readRequests(session, requests, silence.reset).then(end, end);
  let announcedDraining = ctx.options.draining.aborted;
  try {
    // This is the greeting. A gateway sends no calls before it, so no call was run on a session without it.
    yield { replies: [], draining: announcedDraining, notesCommit: true, ...busyNow() };
    for (;;) {
      const draining = ctx.options.draining.aborted && !announcedDraining;
      const batch = await replies.take(draining);
      if (batch === undefined) return;
      announcedDraining ||= ctx.options.draining.aborted;
      for (const replies of toMessages(batch, replyBytes))
        yield { replies, draining: announcedDraining, ...busyNow() };
    }
  } finally {
    silence.stop();
    busy.offChange(drain);
    for (const call of running)
      call.stop.abort(new HubError('CANCELLED', 'The gateway closed the connection.'));
  }
}

const replyBytes = ({ chunk }: SessionReply): number => chunk.length;

interface ServedSession {
  executor: Pick<Executor, 'execute'>;
  replies: BatchQueue<SessionReply>;
  running: InFlightCalls<Running>;
  options: SessionServerOptions;
  deadlines: Deadlines;
}

async function readRequests(
  session: ServedSession,
  requests: AsyncIterable<SessionRequest>,
  onMessage: () => void,
): Promise<void> {
  for await (const { calls, cancelled, windows, inputs } of requests) {
    onMessage();
    session.options.busy.watch();
    const isPing = [calls, cancelled, windows, inputs].every(({ length }) => length === 0);
    if (isPing) session.replies.wake();
    for (const call of calls) startCall(session, call);
    for (const { sequence, batch } of inputs) {
      const call = session.running.get(sequence);
      if (batch === undefined) call?.input.close();
      else call?.input.push(batch);
      call?.renew();
    }
    for (const sequence of cancelled) {
      session.running
        .get(sequence)
        ?.stop.abort(new HubError('CANCELLED', 'The client closed the connection.'));
    }
    for (const { sequence, bytes } of windows) {
      const call = session.running.get(sequence);
      if (call === undefined) continue;
      const wasFull = call.outstanding >= windowBytes;
      call.outstanding -= bytes;
      if (!wasFull || call.outstanding >= windowBytes) continue;
      call.pauses?.resume(performance.now());
      call.onDrain();
    }
  }
}

function startCall(session: ServedSession, call: SessionCall): void {
  const { sequence, request, deadlineMs, requestId } = call;
  const { running, replies, options, deadlines } = session;
  const stop = new CallStop();
  let endAt = performance.now() + deadlineMs;
  const timeout = () => {
    const now = performance.now();
    const leftMs = endAt + (own.pauses?.pausedMs(now) ?? 0) - now;
    if (leftMs > 1) own.deadline = deadlines.add(Math.max(leftMs, lookMsMin), timeout);
    else stop.abort(new HubError('STATEMENT_TIMEOUT', 'The request took longer than the hub allows.'));
  };
  const own: Running = {
    sequence,
    stop,
    deadline: deadlines.add(deadlineMs, timeout),
    renew: () => {
      endAt = performance.now() + deadlineMs;
      deadlines.remove(own.deadline);
      own.deadline = deadlines.add(deadlineMs, timeout);
    },
    pauses: undefined,
    outstanding: 0,
    onDrain: () => {},
    input: createBatchQueue(),
  };
  const finish = (reply: SessionReply) => {
    deadlines.remove(own.deadline);
    own.input.close();
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
  const writer = new SessionWriter(own, replies);
  session.executor.execute(request, contextOf(call, stop), writer).then(
    () =>
      finish({
        sequence,
        chunk: writer.takeLast(),
        done: true,
        serverTiming: writer.takeTimings(),
        cache: writer.takeCache(),
        ...writer.ending,
      }),
    (err) => {
      if (err instanceof Rerouted) return finish({ sequence, chunk: nothing, done: true, reroute: true });
      const unexpected = unexpectedOf(err);
      if (unexpected !== undefined) options.onFailure(unexpected, requestId);
      finish({ ...failed(sequence, toHubError(err)), ...writer.ending });
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
    requestId: toRequestId(call.requestId),
    traceparent: toTraceparent(call.traceparent),
    deadlineAt: performance.now() + call.deadlineMs,
    signal,
  };
}

async function* batchesOf(input: BatchQueue<RecordBatch>): AsyncIterable<RecordBatch> {
  for (let batches = await input.take(false); batches !== undefined; batches = await input.take(false))
    yield* batches;
}

/**
 * Delays the last chunk, so that it is sent in one reply with `done`. All other chunks are sent at once, because the
 * executor's response writer has already delayed small ones.
 */
class SessionWriter implements ExecutionReply {
  readonly input: AsyncIterable<RecordBatch>;
  readonly #call: Running;
  readonly #replies: BatchQueue<SessionReply>;
  #last: Buffer = nothing;
  #timings: string | undefined;
  #cache: CacheInfo | undefined;
  /** What is sent with the last reply. */
  ending: Pick<SessionReply, 'truncated' | 'moreResults' | 'rows'> | undefined;

  constructor(call: Running, replies: BatchQueue<SessionReply>) {
    this.#call = call;
    this.#replies = replies;
    this.input = batchesOf(call.input);
  }

  chunk(bytes: Buffer, last = false): boolean {
    this.#call.outstanding += bytes.length;
    // The bytes exist twice: in the chunk, and in its copy in a message.
    noteBuffers(2 * bytes.length);
    if (last) this.#last = bytes;
    else {
      const { sequence } = this.#call;
      this.#replies.push({
        sequence,
        chunk: bytes,
        done: false,
        serverTiming: this.takeTimings(),
        cache: this.takeCache(),
      });
    }
    const isReady = this.#call.outstanding < windowBytes;
    if (isReady) return true;
    this.#call.pauses ??= new PauseClock();
    this.#call.pauses.pause(performance.now());
    return false;
  }

  onDrain(listener: () => void): void {
    this.#call.onDrain = listener;
  }

  unknownContext(unknownContext: string): void {
    this.#replies.push({ sequence: this.#call.sequence, chunk: nothing, done: false, unknownContext });
  }

  timings(metrics: string): void {
    this.#timings = metrics;
  }

  cached(info: CacheInfo): void {
    this.#cache = info;
  }

  truncated({ rows, moreResults }: Cut): void {
    this.ending = { ...this.ending, truncated: true, rows, moreResults: moreResults || undefined };
  }

  /** Sent at once: if the answer is lost, the client knows whether the query could have changed anything. */
  source(sourceId: string, reads: boolean): void {
    this.#replies.push({ sequence: this.#call.sequence, chunk: nothing, done: false, sourceId, reads });
  }

  /** Returns the timings to send with the next reply; undefined if they were sent. */
  takeTimings(): string | undefined {
    const timings = this.#timings;
    this.#timings = undefined;
    return timings;
  }

  takeCache(): CacheInfo | undefined {
    const info = this.#cache;
    this.#cache = undefined;
    return info;
  }

  /** Returns the chunk to send with `done`; empty if no chunk was marked as the last. */
  takeLast(): Buffer {
    const last = this.#last;
    this.#last = nothing;
    return last;
  }
}

/** The `execute` method of the executor's service, for clients that use one stream for each call. */
export async function* serveExecute(
  executor: Pick<Executor, 'execute'>,
  request: ExecuteRequest,
  ctx: CallContext,
): AsyncIterable<ExecuteResponse> {
  const messages = createBatchQueue<ExecuteResponse>();
  let outstanding = 0;
  let onDrain = () => {};
  let ending: Pick<ExecuteResponse, 'truncated' | 'moreResults' | 'rows'> | undefined;
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
    timings: (serverTiming) => messages.push({ chunk: nothing, serverTiming }),
    cached: (cache) => messages.push({ chunk: nothing, cache }),
    truncated: ({ rows, moreResults }) => {
      ending = { truncated: true, rows, moreResults: moreResults || undefined };
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
  if (ending !== undefined) yield { chunk: nothing, ...ending };
}
