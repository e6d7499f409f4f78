/** A gRPC client with the same interface as the implementation it calls. */

import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  type Metadata,
} from '@grpc/grpc-js';
import { onAbort } from '../call/abort.ts';
import { type CallContext, type Calls, isDeadline, type ServiceDescription } from '../call/call.ts';
import { HubError } from '../call/error.ts';
import { goOnWith } from '../yield-to-loop.ts';
import {
  type Connections,
  keepalive,
  openConnections,
  renewConnections,
  renewMsDefault,
} from './connections.ts';
import { fromStatus } from './error-status.ts';
import { checkHealth, type Health } from './health.ts';
import { toMetadata } from './metadata.ts';

export interface GrpcClientOptions {
  /** `host:port`. */
  address: string;
  /** Authenticates this caller to the other side. */
  serviceToken?: string | undefined;
  credentials?: ChannelCredentials | undefined;
  /** Reports a rejected `serviceToken` as UNAVAILABLE, because the key of the caller's own client is not at fault. */
  forOthers?: boolean | undefined;
  /**
   * How the client detects a server that died without closing its connections: it opens new connections every `renewMs`
   * (the default), it sends keepalive pings, or not at all if the caller sends its own pings.
   */
  liveness?: { renewMs: number } | 'keepalive' | 'none' | undefined;
  /** The name in the server's certificate, if `address` is an IP address. */
  serverName?: string | undefined;
}

export interface GrpcClient<Service> {
  calls: Calls<Service>;
  /** Asks the server for its health, over the same connection as calls. */
  probe(timeoutMs: number): Promise<Health>;
  close(): void;
}

/** The largest message in either direction, for trees and model batches. Rows travel in chunks of 256 KiB. */
export const messageBytesMax = 64 * 1024 * 1024;

/** The HTTP/2 flow control window. The default of 64 KiB slows large answers down. */
export const flowControlWindowBytes = 4 * 1024 * 1024;

const channelOptions = {
  'grpc-node.flow_control_window': flowControlWindowBytes,
  'grpc.max_receive_message_length': messageBytesMax,
  'grpc.max_send_message_length': messageBytesMax,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};

interface Descriptor {
  path: string;
  requestStream: boolean;
  responseStream: boolean;
  requestSerialize: (value: unknown) => Buffer;
  responseDeserialize: (bytes: Buffer) => unknown;
}

export function createGrpcClient<Service extends object>(
  service: Service,
  options: GrpcClientOptions,
): GrpcClient<Service> {
  const connections = connect(options);
  const calls = Object.fromEntries(
    Object.entries(service as unknown as ServiceDescription).map(([name, method]) => {
      const descriptor = method as unknown as Descriptor;
      if (!descriptor.responseStream) return [name, unary(connections, descriptor, options)];
      return [
        name,
        descriptor.requestStream
          ? duplex(connections, descriptor, options)
          : streamed(connections, descriptor, options),
      ];
    }),
  );
  const probe = (timeoutMs: number) => {
    const { client, release } = connections.use();
    return checkHealth(client, timeoutMs).finally(release);
  };
  return { calls: calls as Calls<Service>, probe, close: connections.close };
}

function connect(options: GrpcClientOptions): Connections {
  const open = (more: ChannelOptions) =>
    new Client(options.address, options.credentials ?? credentials.createInsecure(), {
      ...channelOptions,
      ...more,
      ...(options.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': options.serverName }),
    });
  const { liveness = { renewMs: renewMsDefault } } = options;
  if (typeof liveness === 'object') return renewConnections(open, liveness.renewMs);
  return openConnections(open, liveness === 'keepalive' ? keepalive : {});
}

function unary(connections: Connections, method: Descriptor, options: GrpcClientOptions) {
  return (request: unknown, ctx: CallContext) =>
    new Promise((resolve, reject) => {
      const { metadata, callOptions } = callParts(ctx, options);
      const { client, release } = connections.use();
      const call = started(() =>
        client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          metadata,
          callOptions,
          (err, response) => {
            ctx.signal.removeEventListener('abort', cancel);
            release();
            // A service that paused, or that goes away, ends all its calls in one turn.
            goOnWith(() => {
              if (err) reject(toError(err, ctx, options));
              else resolve(response);
            });
          },
        ),
      );
      const cancel = () => call.cancel();
      ctx.signal.addEventListener('abort', cancel, { once: true });
    });
}

function streamed(connections: Connections, method: Descriptor, options: GrpcClientOptions) {
  return (request: unknown, ctx: CallContext) => {
    const { metadata, callOptions } = callParts(ctx, options);
    const { client, release } = connections.use();
    const stream = started(() =>
      client.makeServerStreamRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        callOptions,
      ),
    );
    stream.once('status', release);
    return readAll(stream, ctx, options);
  };
}

function duplex(connections: Connections, method: Descriptor, options: GrpcClientOptions) {
  return (requests: AsyncIterable<unknown>, ctx: CallContext) => {
    const { metadata, callOptions } = callParts(ctx, options);
    const { client, release } = connections.use();
    const stream = started(() =>
      client.makeBidiStreamRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        metadata,
        callOptions,
      ),
    );
    stream.once('status', release);
    writeAll(stream, requests).catch(() => stream.cancel());
    return readAll(stream, ctx, options);
  };
}

/** A closed client throws instead of calling back. */
function started<T>(start: () => T): T {
  try {
    return start();
  } catch (err) {
    throw fromStatus(err);
  }
}

function callParts(
  ctx: CallContext,
  options: GrpcClientOptions,
): { metadata: Metadata; callOptions: { deadline: number } } {
  const leftMs = ctx.deadlineAt - performance.now();
  return {
    metadata: toMetadata(ctx, options.serviceToken),
    callOptions: { deadline: leftMs === Infinity ? Infinity : Date.now() + Math.max(0, leftMs) },
  };
}

async function* readAll(
  stream: ClientReadableStream<unknown> | ClientDuplexStream<unknown, unknown>,
  ctx: CallContext,
  options: GrpcClientOptions,
): AsyncIterable<unknown> {
  using _listening = onAbort(ctx.signal, () => stream.cancel());
  try {
    for await (const message of stream) yield message;
  } catch (err) {
    throw toError(err, ctx, options);
  } finally {
    stream.on('error', () => {});
    stream.cancel();
  }
}

/**
 * A call that times out ends as CANCELLED if the server or the local signal detects it first. The caller left only if
 * the signal has another reason.
 */
function toError(err: unknown, { signal }: CallContext, { forOthers }: GrpcClientOptions): HubError {
  const error = fromStatus(err);
  if (forOthers && error.code === 'KEY_MISSING') {
    const message =
      'A service rejected the service token of another service. The operator must configure the same token for both.';
    return new HubError('UNAVAILABLE', message, { cause: err, retryable: true });
  }
  if (error.code !== 'CANCELLED' || (signal.aborted && !isDeadline(signal.reason))) return error;
  return new HubError('UNAVAILABLE', 'A service did not answer in time.', {
    cause: err,
    retryable: true,
    lost: true,
  });
}

async function writeAll(
  stream: ClientDuplexStream<unknown, unknown>,
  requests: AsyncIterable<unknown>,
): Promise<void> {
  for await (const request of requests) {
    if (stream.destroyed) return;
    if (!stream.write(request)) await drained(stream);
  }
  stream.end();
}

/** Resolves when the stream can take more, or is closed. Leaves no listener, because a stream can be open for weeks. */
function drained(stream: ClientDuplexStream<unknown, unknown>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
