/** Liveness, readiness and the contract as a document: without a key. */

import type { FastifyInstance } from 'fastify';

export interface Readiness {
  /** Names of the parts that are not ready; empty when all are. Bounded in time. */
  missing(): Promise<string[]>;
}

export function registerHealth(app: FastifyInstance, readiness: Readiness, openApi: () => object): void {
  let document: string | undefined;
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const missing = await readiness.missing();
    if (missing.length === 0) return { status: 'ready' };
    return reply.code(503).header('retry-after', '1').send({ status: 'not ready', missing });
  });
  app.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(openApi());
    return reply.header('content-type', 'application/json; charset=utf-8').send(document);
  });
}
