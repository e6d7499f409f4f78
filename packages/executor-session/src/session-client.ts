/**
 * The gateway's end of one session: executions of one event-loop turn, or of a few while many are under way, go out in
 * one message over one stream. The stream is opened by the first call and opened again after it ended.
 */

import type {
  ExecuteRequest,
  ExecutorServiceService,
  SessionCall,
  SessionReply,
  SessionRequest,
  SessionWindow,
} from '@datahub/proto/executor/v1/executor';
import { type CallContext, type Calls, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { fromErrorDetail } from '@datahub/service-kit/grpc/error-status';
import { noteBuffers } from '@datahub/service-kit/process/heap';
import { createTurnQueue } from './batch-queue.ts';
import type { ExecutionReply } from './executor.ts';
import { CallsUnderWay } from './in-flight-calls.ts';
import { pings, turnsFor, watchOver, windowBytes } from './session-server.ts';

export interface Session {
  /** Executions under way. */
  readonly pending: number;
  /** True once the other side has answered. */
  readonly greeted: boolean;
  /** False once the stream has ended or the other side is draining: new calls belong elsewhere. */
  readonly open: boolean;
  execute(request: ExecuteRequest, ctx: CallContext, reply: ExecutionReply): Promise<void>;
  close(): void;
}

interface Pending {
  readonly sequence: number;
  reply: ExecutionReply;
  settle: (err?: unknown) => void;
  /** Bytes that came and were not yet acknowledged. */
  unsettled: number;
}

/** The session ended before anything was sent: the call can go elsewhere, whatever it does. */
export class NotSent extends HubError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'No executor can be reached. Try again.', {
      cause,
      retryable: true,
      retryAfterMs: 1_000,
    });
  }
}

/** An executor that never greets is taken for one that would not. */
const greetingTimeoutMs = 2_000;

type Item = { call: SessionCall } | { cancelled: number } | { window: SessionWindow } | 'ping';

/** Acknowledged in portions of this size, so that small answers need no acknowledgement at all. */
const creditBytes = windowBytes / 4;

export function openSession(
  calls: Pick<Calls<typeof ExecutorServiceService>, 'session'>,
  onEnd: (err: unknown) => void,
): Session {
  const pending = new CallsUnderWay<Pending>();
  const outgoing = createTurnQueue<Item>(() => turnsFor(pending.size));
  const stop = new AbortController();
  let lastSequence = 0;
  let open = true;
  const greeting = Promise.withResolvers<void>();
  let greeted = false;
  const greet = () => {
    greeted = true;
    clearTimeout(patience);
    greeting.resolve();
  };
  const patience = setTimeout(greet, greetingTimeoutMs);
  patience.unref();

  const heard = watchOver(() => stop.abort(new HubError('UNAVAILABLE', 'The executor fell silent.')));
  const pinging = setInterval(() => outgoing.push('ping'), pings.everyMs);
  pinging.unref();

  const end = (err: unknown) => {
    heard.stop();
    clearInterval(pinging);
    if (!open && pending.size === 0) return;
    open = false;
    outgoing.close();
    const gone = greeted ? wentAway(err) : new NotSent(err);
    greet();
    for (const call of pending) call.settle(gone);
    onEnd(err);
  };

  const read = async () => {
    const ctx = { ...createCallContext({ timeoutMs: 1 }), deadlineAt: Infinity, signal: stop.signal };
    for await (const { replies, draining } of calls.session(toRequests(outgoing, greeting.promise), ctx)) {
      if (!greeted) greet();
      heard.now();
      for (const reply of replies) take(reply);
      if (draining) {
        open = false;
        if (pending.size === 0) break;
      }
      if (!open && pending.size === 0) break;
    }
  };

  const take = ({ sequence, chunk, done, error, truncated, unknownContext }: SessionReply) => {
    const call = pending.get(sequence);
    if (call === undefined) return;
    if (unknownContext !== undefined) call.reply.unknownContext?.(unknownContext);
    if (chunk.length > 0) deliver(call, chunk, done);
    if (truncated) call.reply.truncated?.();
    if (error !== undefined) call.settle(fromErrorDetail(error));
    else if (done) call.settle();
  };

  const deliver = (call: Pending, chunk: Buffer, last: boolean) => {
    call.unsettled += chunk.length;
    // It came in frames, and was put together as a message.
    noteBuffers(2 * chunk.length);
    const room = call.reply.chunk(chunk, last);
    if (room && call.unsettled >= creditBytes) acknowledge(call);
  };

  const acknowledge = (call: Pending) => {
    if (call.unsettled === 0) return;
    outgoing.push({ window: { sequence: call.sequence, bytes: call.unsettled } });
    call.unsettled = 0;
  };

  read().then(() => end(undefined), end);

  return {
    get pending() {
      return pending.size;
    },
    get greeted() {
      return greeted;
    },
    get open() {
      return open;
    },
    execute: (request, ctx, reply) =>
      new Promise<void>((resolve, reject) => {
        if (ctx.signal.aborted) return reject(ctx.signal.reason);
        lastSequence = (lastSequence + 1) >>> 0;
        const sequence = lastSequence;
        const cancel = () => {
          outgoing.push({ cancelled: sequence });
          call.settle(ctx.signal.reason);
        };
        const call: Pending = {
          sequence,
          reply,
          unsettled: 0,
          settle: (err) => {
            pending.remove(call);
            ctx.signal.removeEventListener('abort', cancel);
            if (err === undefined) resolve();
            else reject(err);
          },
        };
        pending.add(call);
        ctx.signal.addEventListener('abort', cancel, { once: true });
        reply.onDrain(() => acknowledge(call));
        outgoing.push({ call: toCall(sequence, request, ctx) });
      }),
    close: () => {
      clearTimeout(patience);
      clearInterval(pinging);
      heard.stop();
      outgoing.close();
      stop.abort();
    },
  };
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

function wentAway(cause: unknown): HubError {
  return new HubError(
    'SOURCE_BROKEN',
    'The executor went away while the statement ran, so its outcome is unknown: if it writes, it may have been carried out. Look at the source before you repeat it.',
    { cause, retryable: false },
  );
}

async function* toRequests(
  outgoing: ReturnType<typeof createTurnQueue<Item>>,
  greeting: Promise<void>,
): AsyncIterable<SessionRequest> {
  await greeting;
  for (let items = await outgoing.take(false); items !== undefined; items = await outgoing.take(false)) {
    const request: SessionRequest = { calls: [], cancelled: [], windows: [] };
    let pinged = 0;
    for (const item of items) {
      if (item === 'ping') pinged++;
      else if ('call' in item) request.calls.push(item.call);
      else if ('cancelled' in item) request.cancelled.push(item.cancelled);
      else request.windows.push(item.window);
    }
    if (items.length > pinged) yield request;
    // By itself, or it would go unanswered where nothing else is to be said.
    if (pinged > 0) yield { calls: [], cancelled: [], windows: [] };
  }
}
