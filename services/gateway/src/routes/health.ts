/** Liveness, readiness and the contract as a document: without a key. */

import type { FastifyInstance } from 'fastify';

export interface Readiness {
  /** Names of all parts that the gateway needs. */
  parts: readonly string[];
  /** Names of the parts that are not ready; empty when all are. Bounded in time. */
  missing(): Promise<string[]>;
  /** True once the gateway itself should be sent nothing more. */
  draining?(): boolean;
}

export const openPaths = ['/healthz', '/readyz', '/openapi.json'];

export function registerHealth(app: FastifyInstance, readiness: Readiness, openApi: () => object): void {
  let document: string | undefined;
  let met = false;
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const missing = readiness.draining?.() ? ['gateway'] : await readiness.missing();
    if (missing.length === 0) {
      met = true;
      return { status: 'ready' };
    }
    // Whoever balances by this takes out every gateway at once when a service is away that all of them share, and with
    // them what works without it. Only a gateway that has not met them all yet, or reaches none, is better left alone.
    const reachesSome = missing.length < readiness.parts.length;
    if (met && reachesSome && !readiness.draining?.()) return { status: 'ready', missing };
    return reply.code(503).header('retry-after', '1').send({ status: 'not ready', missing });
  });
  app.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(openApi());
    return reply.header('content-type', 'application/json; charset=utf-8').send(document);
  });
}
