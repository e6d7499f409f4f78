/** A gRPC client with the very interface of the implementation at its other end. */

import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  type Metadata,
} from '@grpc/grpc-js';
import type { CallContext, Calls, ServiceDescription } from '../call/call.ts';
import { HubError } from '../call/error.ts';
import { fromStatus } from './error-status.ts';
import { toMetadata } from './metadata.ts';

export interface GrpcClientOptions {
  /** `host:port`, or what `targetOf` makes of several. */
  address: string;
  /** Authenticates this caller at the other side. */
  serviceToken?: string | undefined;
  credentials?: ChannelCredentials | undefined;
  /** True where a refused `serviceToken` is told as a service that cannot be reached: whoever asked has shown a key. */
  forOthers?: boolean | undefined;
  /** False where the other side has it off. */
  keepalive?: false | undefined;
  /** The name in the other side's certificate, where `address` is an IP address. */
  serverName?: string | undefined;
}

/** One name is looked up and stands for all its addresses; several must be IPv4 addresses. Calls go to each in turn. */
export function targetOf(addresses: readonly string[]): string {
  return addresses.length === 1 ? `dns:///${addresses[0]}` : `ipv4:${addresses.join(',')}`;
}

export interface GrpcClient<Service> {
  calls: Calls<Service>;
  close(): void;
}

/** The largest message either way, for trees and model batches; rows travel in chunks of 256 KiB. */
export const messageBytesMax = 64 * 1024 * 1024;

/** Bytes on their way before the other side must say that it read some: the default of 64 KiB holds large answers up. */
export const flowControlWindowBytes = 4 * 1024 * 1024;

/**
 * How a peer that went silent is noticed. On a connection that drains, grpc-js takes the ping that Node no longer sends
 * for a lost one and cuts what still runs; so where streams must survive a drain it is off, and they have pings of their own.
 */
export const keepalive = { 'grpc.keepalive_time_ms': 20_000, 'grpc.keepalive_timeout_ms': 5_000 };

const channelOptions = {
  'grpc-node.flow_control_window': flowControlWindowBytes,
  'grpc.max_receive_message_length': messageBytesMax,
  'grpc.max_send_message_length': messageBytesMax,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
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
  const client = new Client(options.address, options.credentials ?? credentials.createInsecure(), {
    ...channelOptions,
    ...(options.keepalive === false ? {} : keepalive),
    ...(options.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': options.serverName }),
  });
  const calls = Object.fromEntries(
    Object.entries(service as unknown as ServiceDescription).map(([name, method]) => {
      const descriptor = method as unknown as Descriptor;
      if (!descriptor.responseStream) return [name, unary(client, descriptor, options)];
      return [
        name,
        descriptor.requestStream
          ? duplex(client, descriptor, options)
          : streamed(client, descriptor, options),
      ];
    }),
  );
  return { calls: calls as Calls<Service>, close: () => client.close() };
}

function unary(client: Client, method: Descriptor, options: GrpcClientOptions) {
  return (request: unknown, ctx: CallContext) =>
    new Promise((resolve, reject) => {
      const { metadata, callOptions } = callParts(ctx, options);
      const call = client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        callOptions,
        (err, response) => {
          ctx.signal.removeEventListener('abort', cancel);
          if (err) reject(toError(err, ctx, options));
          else resolve(response);
        },
      );
      const cancel = () => call.cancel();
      ctx.signal.addEventListener('abort', cancel, { once: true });
    });
}

function streamed(client: Client, method: Descriptor, options: GrpcClientOptions) {
  return (request: unknown, ctx: CallContext) => {
    const { metadata, callOptions } = callParts(ctx, options);
    const stream = client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      callOptions,
    );
    return readAll(stream, ctx, options);
  };
}

function duplex(client: Client, method: Descriptor, options: GrpcClientOptions) {
  return (requests: AsyncIterable<unknown>, ctx: CallContext) => {
    const { metadata, callOptions } = callParts(ctx, options);
    const stream = client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      metadata,
      callOptions,
    );
    writeAll(stream, requests).catch(() => stream.cancel());
    return readAll(stream, ctx, options);
  };
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
  const cancel = () => stream.cancel();
  if (ctx.signal.aborted) cancel();
  ctx.signal.addEventListener('abort', cancel, { once: true });
  try {
    for await (const message of stream) yield message;
  } catch (err) {
    throw toError(err, ctx, options);
  } finally {
    ctx.signal.removeEventListener('abort', cancel);
    stream.on('error', () => {});
    stream.cancel();
  }
}

/**
 * A call that runs out of time ends as cancelled where the other side, or the signal of this one, is the first to see
 * it. The caller has gone only when the signal says something else.
 */
function toError(err: unknown, { signal }: CallContext, { forOthers }: GrpcClientOptions): HubError {
  const error = fromStatus(err);
  if (forOthers && error.code === 'KEY_MISSING') {
    const message = 'A service refuses this one. The operator must check the service token of both.';
    return new HubError('UNAVAILABLE', message, { cause: err, retryable: true });
  }
  const left = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError';
  if (error.code !== 'CANCELLED' || left) return error;
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
    if (!stream.write(request))
      await new Promise((resolve) => stream.once('drain', resolve).once('close', resolve));
  }
  stream.end();
}
