/** Converts between CallContext and gRPC metadata. */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { Principal } from '@datahub/proto/common/v1/principal';
import { Metadata } from '@grpc/grpc-js';
import { type CallContext, toRequestId, toTraceparent } from '../call/call.ts';
import { HubError } from '../call/error.ts';

const principalName = 'datahub-principal-bin';
/** In place of the other name for a principal that exceeds `headerBytesMax`. */
const deflatedName = 'datahub-principal-deflated-bin';
/**
 * The most bytes of one header, which are sent in base64. HTTP/2 ends the connection, with all calls on it, if the headers
 * of one have more than 64 KiB.
 */
export const headerBytesMax = 40 * 1_024;
/** A person may have grants for many thousand hubs. */
const inflatedBytesMax = 1_048_576;
const requestIdName = 'x-request-id';
const operationName = 'datahub-operation';
const operationCharactersMax = 200;
const traceName = 'traceparent';

export function toMetadata(ctx: CallContext, serviceToken: string | undefined): Metadata {
  const metadata = new Metadata();
  if (ctx.principal) setPrincipal(metadata, ctx.principal);
  metadata.set(requestIdName, ctx.requestId);
  if (ctx.operation) metadata.set(operationName, ctx.operation);
  if (ctx.traceparent) metadata.set(traceName, ctx.traceparent);
  if (serviceToken) metadata.set('authorization', `Bearer ${serviceToken}`);
  return metadata;
}

function setPrincipal(metadata: Metadata, principal: Principal): void {
  const bytes = Buffer.from(Principal.encode(principal).finish());
  if (bytes.length <= headerBytesMax) {
    metadata.set(principalName, bytes);
    return;
  }
  const deflated = bytes.length <= inflatedBytesMax ? deflateRawSync(bytes) : bytes;
  if (deflated.length > headerBytesMax)
    throw new HubError(
      'TOO_LARGE',
      'The limits of this key, or the grants of this person, are too many to be sent to the services of the hub. Shorten them.',
    );
  metadata.set(deflatedName, deflated);
}

/** The part of the context that metadata carries. The deadline and the signal come from the call. */
export function fromMetadata(
  metadata: Metadata,
): Pick<CallContext, 'principal' | 'requestId' | 'operation' | 'traceparent'> {
  const [principal] = metadata.get(principalName);
  const [deflated] = metadata.get(deflatedName);
  const [requestId] = metadata.get(requestIdName);
  const [operation] = metadata.get(operationName);
  const [traceparent] = metadata.get(traceName);
  return {
    principal: decodePrincipal(principal, (bytes) => bytes) ?? decodePrincipal(deflated, inflate),
    requestId: toRequestId(requestId),
    operation:
      typeof operation === 'string' && operation.length <= operationCharactersMax ? operation : undefined,
    traceparent: toTraceparent(traceparent),
  };
}

const inflate = (bytes: Buffer): Buffer => inflateRawSync(bytes, { maxOutputLength: inflatedBytesMax });

/** Invalid bytes count as no principal, so methods that need one reject the call. */
function decodePrincipal(
  value: string | Buffer | undefined,
  toBytes: (value: Buffer) => Buffer,
): Principal | undefined {
  if (!(value instanceof Buffer)) return undefined;
  try {
    return Principal.decode(toBytes(value));
  } catch {
    return undefined;
  }
}
