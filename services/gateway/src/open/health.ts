/** Liveness, readiness and the OpenAPI document, without a key. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import { unstoredHeaders } from '../http/problem-details.ts';
import { isKnown, withETag } from '../resources/documents/etag.ts';
import type { Compression } from '../response/compression.ts';

export interface Readiness {
  /** The names of all services that the gateway needs. */
  parts: readonly string[];
  /** The names of those that are not ready. Resolves within a time limit. */
  missing(): Promise<string[]>;
  /** True once the gateway is shutting down. */
  draining?(): boolean;
}

export const openPaths = ['/healthz', '/readyz', '/openapi.json'];

export function registerHealth(
  app: FastifyInstance,
  readiness: Readiness,
  {
    openApi,
    compression,
    provider,
  }: {
    openApi: () => object;
    compression: Compression;
    /** The host of the provider at which people sign in. The console's form offers it. */
    provider?: string | undefined;
  },
): void {
  /** In bytes, which all responses share. */
  let document: { bytes: Buffer; etag: string } | undefined;
  let wasReady = false;
  const signIn = provider === undefined ? {} : { signIn: { provider } };
  const unstored = {
    onRequest: (_request: unknown, reply: FastifyReply, done: () => void) => {
      reply.headers(unstoredHeaders);
      done();
    },
  };
  app.get('/healthz', unstored, async () => ({ status: 'ok' }));
  app.get('/readyz', unstored, async (_request, reply) => {
    const missing = readiness.draining?.() ? ['gateway'] : await readiness.missing();
    if (missing.length === 0) {
      wasReady = true;
      return { status: 'ready', ...signIn };
    }
    // All gateways share the services. If one service failed and all gateways reported that they are not ready, a load
    // balancer would remove them all, although most requests work without that service. So a gateway is not ready only
    // if it has never reached all services, or reaches none.
    const reachesSome = missing.length < readiness.parts.length;
    if (wasReady && reachesSome && !readiness.draining?.()) return { status: 'ready', missing, ...signIn };
    return reply.code(503).header('retry-after', '1').send({ status: 'not ready', missing });
  });
  app.get('/openapi.json', { onSend: compression.onSend }, async (request, reply) => {
    document ??= withETag(Buffer.from(JSON.stringify(openApi())));
    const { bytes, etag } = document;
    reply.headers({ etag, 'cache-control': 'no-cache' });
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/json; charset=utf-8').send(bytes);
  });
}
