/** Converts between CallContext and gRPC metadata. */

import { Principal } from '@datahub/proto/common/v1/principal';
import { Metadata } from '@grpc/grpc-js';
import { type CallContext, toRequestId } from '../call/call.ts';

const principalName = 'datahub-principal-bin';
const requestIdName = 'x-request-id';
const operationName = 'datahub-operation';
const operationCharactersMax = 200;
const traceName = 'traceparent';

export function toMetadata(ctx: CallContext, serviceToken: string | undefined): Metadata {
  const metadata = new Metadata();
  if (ctx.principal) {
    metadata.set(principalName, Buffer.from(Principal.encode(ctx.principal).finish()));
  }
  metadata.set(requestIdName, ctx.requestId);
  if (ctx.operation) metadata.set(operationName, ctx.operation);
  if (ctx.traceparent) metadata.set(traceName, ctx.traceparent);
  if (serviceToken) metadata.set('authorization', `Bearer ${serviceToken}`);
  return metadata;
}

/** The part of the context that metadata carries. The deadline and the signal come from the call. */
export function fromMetadata(
  metadata: Metadata,
): Pick<CallContext, 'principal' | 'requestId' | 'operation' | 'traceparent'> {
  const [principal] = metadata.get(principalName);
  const [requestId] = metadata.get(requestIdName);
  const [operation] = metadata.get(operationName);
  const [traceparent] = metadata.get(traceName);
  return {
    principal: principal instanceof Buffer ? decodePrincipal(principal) : undefined,
    requestId: toRequestId(requestId),
    operation:
      typeof operation === 'string' && operation.length <= operationCharactersMax ? operation : undefined,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  };
}

/** Invalid bytes count as no principal, so methods that need one reject the call. */
function decodePrincipal(bytes: Buffer): Principal | undefined {
  try {
    return Principal.decode(bytes);
  } catch {
    return undefined;
  }
}
