/**
 * Serves implementations over gRPC: authenticates the caller, restores the context, and hides foreign error messages.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type Metadata,
  Server,
  type ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  ServerCredentials as serverCredentials,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { onAbort } from '../call/abort.ts';
import { type CallContext, type CallSignal, CallStop, deadlinePassed } from '../call/call.ts';
import { HubError, toHubError } from '../call/error.ts';
import { heapProblem } from '../heap.ts';
import type { SettingName } from '../settings/settings-table.ts';
import { cannotListen } from '../settings/start-failure.ts';
import { createThrottle } from '../telemetry/log-throttle.ts';
import type { RpcMetrics } from '../telemetry/metrics.ts';
import type { Span, Tracing } from '../telemetry/tracing.ts';
import { forAccount } from '../yield-to-loop.ts';
import { flowControlWindowBytes, messageBytesMax } from './client.ts';
import { keepalive } from './connections.ts';
import { withEncodedMessages } from './encoded-message.ts';
import { toStatus } from './error-status.ts';
import { fromMetadata } from './metadata.ts';
import { addReflection } from './reflection.ts';
import { boundStrangers } from './strangers.ts';

export interface ServedService {
  definition: object;
  /** `Calls` of that definition. */
  handlers: object;
}

export interface GrpcServerOptions {
  /** `host:port`; port 0 for any free port. */
  address: string;
  /** The setting that configures the port, for error messages; DATAHUB_GRPC_PORT by default. */
  portSetting?: SettingName;
  services: ServedService[];
  /** Callers must send one of them, except for health checks. Undefined only if the transport authenticates callers. */
  serviceTokens?: readonly string[];
  credentials?: ServerCredentials | undefined;
  /**
   * Closes connections to clients that do not answer pings. Not for servers whose calls must survive a graceful close.
   */
  keepalive?: true;
  /**
   * Closes connections of this age, so that clients resolve the service again and find new replicas. Not with streams.
   */
  connectionAgeMs?: number;
  /** Full names of the services that reflection lists, such as `datahub.ml.v1.MlService`; none if reflection is off. */
  reflect?: readonly string[];
  /** Records every unary call when it ends. */
  metrics?: RpcMetrics;
  /** If false, `grpc.health.v1` reports NOT_SERVING until `setServing(true)`. */
  serving?: false;
  /** Records a span for every call with a trace context. */
  tracing?: Tracing | undefined;
  /** Called for unexpected failures of handlers, and for unavailable stores, to log them. */
  onFailure?: (err: unknown, requestId: string, path: string) => void;
}

export interface RunningGrpcServer {
  port: number;
  /** Sets the answer of `grpc.health.v1`. */
  setServing(serving: boolean): void;
  /** Returns the number of unary calls in flight. */
  inFlight(): number;
  /** Waits at most `graceMs` for calls in flight, then calls `onCut` and cuts them. */
  close(graceMs: number, onCut?: () => void): Promise<void>;
}

/**
 * Idle connections are closed after this time. A client that died leaves its connections idle, because calls have
 * deadlines.
 */
const idleMs = 300_000;
/** The time for clients to confirm that a connection was cut. */
const confirmMs = 500;

type Handler = (request: unknown, ctx: CallContext) => Promise<unknown> | AsyncIterable<unknown>;
interface Descriptor {
  path: string;
  requestStream: boolean;
  responseStream: boolean;
}
type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getDeadline'> & NodeJS.EventEmitter;

export async function startGrpcServer(options: GrpcServerOptions): Promise<RunningGrpcServer> {
  const hasToken = createTokenCheck(options.serviceTokens ?? []);
  const server = new Server({
    interceptors: [createGate(options, hasToken)],
    'grpc-node.flow_control_window': flowControlWindowBytes,
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.max_send_message_length': messageBytesMax,
    ...(options.keepalive ? keepalive : {}),
    'grpc.max_connection_idle_ms': idleMs,
    ...(options.connectionAgeMs === undefined
      ? {}
      : { 'grpc.max_connection_age_ms': options.connectionAgeMs }),
  });
  allowResets(server);
  const health = new HealthImplementation({ '': options.serving === false ? 'NOT_SERVING' : 'SERVING' });
  health.addToServer(server);
  if (options.reflect?.length) await addReflection(server, options.reflect);
  const onFailure = selectFailures(options.onFailure ?? (() => {}));
  const calls = { inFlight: 0 };
  for (const { definition, handlers } of options.services) {
    server.addService(
      withEncodedMessages(definition) as ServiceDefinition,
      adapt(definition, handlers, { ...options, onFailure, calls }),
    );
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      options.address,
      options.credentials ?? serverCredentials.createInsecure(),
      (err, bound) =>
        err ? reject(cannotListen(options.portSetting ?? 'DATAHUB_GRPC_PORT', err)) : resolve(bound),
    );
  });
  boundStrangers(server, ({ authorization }) => hasToken(authorization));
  return {
    port,
    setServing: (serving) => health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING'),
    inFlight: () => calls.inFlight,
    close: (graceMs, onCut) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => {
          onCut?.();
          server.forceShutdown();
          // A client that died without closing its connection never confirms this.
          setTimeout(resolve, confirmMs);
        }, graceMs);
        server.tryShutdown(() => {
          clearTimeout(cut);
          resolve();
        });
      }),
  };
}

const resetsPerSecond = 1_000_000;

/**
 * By default Node closes a connection, with all calls on it, if more than 33 streams a second are reset. But gateways cancel
 * as many calls as their clients leave. `boundStrangers` bounds those of others.
 */
function allowResets(server: Server): void {
  const { commonServerOptions } = server as unknown as { commonServerOptions: object };
  Object.assign(commonServerOptions, {
    streamResetBurst: resetsPerSecond,
    streamResetRate: resetsPerSecond,
  });
}

type Adapted = Pick<GrpcServerOptions, 'onFailure' | 'tracing' | 'metrics'> & {
  calls: { inFlight: number };
};

function adapt(definition: object, handlers: object, options: Adapted): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [name, descriptor] of Object.entries(definition) as [string, Descriptor][]) {
    const handler = (handlers as Record<string, Handler>)[name];
    if (handler === undefined) throw new Error(`No handler for ${descriptor.path}.`);
    implementation[name] = descriptor.responseStream
      ? streamHandler(descriptor, handler, options)
      : unaryHandler(descriptor, handler, options);
  }
  return implementation;
}

function unaryHandler(descriptor: Descriptor, handler: Handler, options: Adapted) {
  return async (call: ServerUnaryCall<unknown, unknown>, reply: sendUnaryData<unknown>) => {
    const { ctx, release } = contextOf(call);
    const span = spanOf(descriptor, ctx, options);
    const startedAt = performance.now();
    let error: string | undefined;
    options.calls.inFlight++;
    try {
      const handled = forAccount(accountOf(ctx), () => handler(call.request, ctx));
      reply(null, await (handled as Promise<unknown>));
    } catch (err) {
      options.onFailure?.(err, ctx.requestId, descriptor.path);
      error = toHubError(err).code;
      reply(toStatus(err));
    } finally {
      options.calls.inFlight--;
      span?.end({ error });
      options.metrics?.called(descriptor.path, error ?? 'OK', performance.now() - startedAt);
      release();
    }
  };
}

/** Starts the span of a call; the handler's spans become its children. Undefined for a call without a trace context. */
function spanOf({ path }: Descriptor, ctx: CallContext, { tracing }: Adapted): Span | undefined {
  if (tracing === undefined || ctx.traceparent === undefined) return undefined;
  const [, service = '', method = ''] = path.split('/');
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.service': service, 'rpc.method': method };
  const span = tracing.start(`${service}/${method}`, { parent: ctx.traceparent, kind: 'server', attributes });
  ctx.traceparent = span.traceparent;
  return span;
}

const accountOf = ({ principal }: CallContext): string => principal?.accountId ?? '';

function streamHandler(descriptor: Descriptor, handler: Handler, options: Adapted) {
  type StreamCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
  const answer = async (call: StreamCall, { ctx, release }: ReturnType<typeof contextOf>) => {
    try {
      const input = descriptor.requestStream
        ? call
        : (call as ServerWritableStream<unknown, unknown>).request;
      for await (const message of handler(input, ctx) as AsyncIterable<unknown>) {
        if (ctx.signal.aborted) break;
        if (!call.write(message)) await drained(call, ctx.signal);
      }
      call.end();
    } catch (err) {
      options.onFailure?.(err, ctx.requestId, descriptor.path);
      call.emit('error', toStatus(err));
    } finally {
      release();
    }
  };
  return (call: StreamCall) => {
    const context = contextOf(call);
    return forAccount(accountOf(context.ctx), () => answer(call, context));
  };
}

async function drained(call: NodeJS.EventEmitter, signal: CallSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _listening = onAbort(signal, resolve);
  call.once('drain', resolve);
  await promise;
  call.off('drain', resolve);
}

/** The deadline is in milliseconds of the clock, and the caller's timer may come first. */
const earlyMsMax = 10;

/** The signal fires when the caller cancels, and at the deadline, which grpc-js reports as a cancellation as well. */
function contextOf(call: AnyCall): { ctx: CallContext; release: () => void } {
  const signal = new CallStop();
  const deadline = call.getDeadline();
  const leftMs = deadline === Infinity ? Infinity : Number(deadline) - Date.now();
  const ctx: CallContext = {
    ...fromMetadata(call.metadata),
    deadlineAt: performance.now() + leftMs,
    signal,
  };
  const cancelled = () => {
    const isLate = performance.now() > ctx.deadlineAt - earlyMsMax;
    signal.abort(isLate ? deadlinePassed() : new HubError('CANCELLED', 'The caller cancelled the call.'));
  };
  call.on('cancelled', cancelled);
  return { ctx, release: () => call.off('cancelled', cancelled) };
}

const unavailableLogMs = 1_000;

/**
 * Errors that handlers throw on purpose go to the caller and are not logged. An unavailable store is logged, at most
 * once a second, because callers do not see its cause.
 */
function selectFailures(onFailure: NonNullable<GrpcServerOptions['onFailure']>): typeof onFailure {
  const mayLog = createThrottle(unavailableLogMs);
  return (err, requestId, path) => {
    if (err instanceof HubError) {
      if (err.code !== 'UNAVAILABLE' || err.cause === undefined) return;
      if (!mayLog()) return;
    }
    onFailure(err, requestId, path);
  };
}

/** Methods that need no authentication, and the largest message that they accept. */
const openMethod = /^\/grpc\.(health|reflection)\./;
const openMessageBytesMax = 65_536;

interface Limited {
  decoder: { maxReadMessageLength: number };
  maxReceiveMessageSize: number;
}

/** Rejects unauthenticated calls at their headers, before their message is read. */
function createGate({ metrics }: GrpcServerOptions, hasToken: TokenCheck): ServerInterceptor {
  return (method, call) => {
    if (openMethod.test(method.path)) {
      // grpc-js has one message limit for all methods of a server and copies it to each call: for the message as it
      // arrives, and for what it becomes when it is decompressed. This lowers both copies.
      const limited = call as unknown as Limited;
      limited.decoder.maxReadMessageLength = openMessageBytesMax;
      limited.maxReceiveMessageSize = openMessageBytesMax;
      return new ServerInterceptingCall(call);
    }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, accept) => {
            const error = authenticate(metadata, hasToken) ?? heapProblem('grow');
            if (error === undefined) return accept(metadata);
            metrics?.called(method.path, error.code, 0);
            call.sendStatus(toStatus(error));
          },
        }),
    });
  };
}

type TokenCheck = (authorization: unknown) => boolean;

function createTokenCheck(serviceTokens: readonly string[]): TokenCheck {
  if (serviceTokens.length === 0) return () => true;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = serviceTokens.map((token) => digest(`Bearer ${token}`));
  return (header) => {
    if (typeof header !== 'string') return false;
    const actual = digest(header);
    return expected.some((one) => timingSafeEqual(actual, one));
  };
}

function authenticate(metadata: Metadata, hasToken: TokenCheck): HubError | undefined {
  const [header] = metadata.get('authorization');
  if (hasToken(header)) return undefined;
  return new HubError('KEY_MISSING', 'This port accepts calls from the services of the hub only.');
}
