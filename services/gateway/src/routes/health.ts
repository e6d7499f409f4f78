/** Liveness, readiness and the contract as a document: without a key. */

import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { unstoredHeaders } from '../http/problem-details.ts';

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
  let document: { text: string; etag: string } | undefined;
  let met = false;
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
      met = true;
      return { status: 'ready' };
    }
    // Whoever balances by this takes out every gateway at once when a service is away that all of them share, and with
    // them what works without it. Only a gateway that has not met them all yet, or reaches none, is better left alone.
    const reachesSome = missing.length < readiness.parts.length;
    if (met && reachesSome && !readiness.draining?.()) return { status: 'ready', missing };
    return reply.code(503).header('retry-after', '1').send({ status: 'not ready', missing });
  });
  app.get('/openapi.json', async (request, reply) => {
    document ??= withETag(JSON.stringify(openApi()));
    const { text, etag } = document;
    reply.headers({ etag, 'cache-control': 'no-cache' });
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/json; charset=utf-8').send(text);
  });
}

const withETag = (text: string) => ({ text, etag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` });

/** Compared weakly, as RFC 9110 (13.1.2) wants it. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}
