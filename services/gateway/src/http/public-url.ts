/** The address of the hub as its callers have it. */

import type { FastifyRequest } from 'fastify';

const prefix = /^(\/[A-Za-z0-9._~-]+)+$/;

/** Without a slash at its end. A trusted proxy says in `X-Forwarded-Prefix` below which path it has the hub. */
export function publicUrlOf(request: FastifyRequest, publicOrigin: string | undefined): string {
  const origin = publicOrigin ?? `${request.protocol}://${request.host}`;
  // Only a request through a trusted proxy has more than the address of its socket.
  const isForwarded = (request.ips?.length ?? 0) > 1;
  const given = isForwarded ? request.headers['x-forwarded-prefix'] : undefined;
  const path = typeof given === 'string' ? given.replace(/\/$/, '') : '';
  return prefix.test(path) ? `${origin}${path}` : origin;
}
