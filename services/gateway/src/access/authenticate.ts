/** Whether a request may come in: its key, where it comes from, its rate, its scope. */

import { isIP } from 'node:net';
import { isGranted } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Auth } from './key-cache.ts';
import { keyLimits } from './key-limits.ts';
import type { Limits } from './rate-limiter.ts';

export interface Admission {
  auth: Auth;
  limits: Limits;
}

/** The caller's, as far as trusted proxies tell it. */
function addressOf({ ip, socket }: FastifyRequest): string {
  return isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip;
}

/** A promise only where something has to be waited for. */
export function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: Admission,
): void | Promise<void> {
  let found: Principal | Promise<Principal>;
  try {
    const key = request.headers['x-service-api-key'];
    found = deps.auth.principalOf(key, () => deps.limits.requireTolerance(addressOf(request)));
  } catch (err) {
    return refuse(err, addressOf(request), deps);
  }
  if (!(found instanceof Promise)) return admit(request, reply, { principal: found, deps });
  // Known now: the caller may have gone by then.
  const address = addressOf(request);
  return found.then(
    (principal) => admit(request, reply, { principal, deps }),
    (err) => refuse(err, address, deps),
  );
}

async function refuse(err: unknown, address: string, { limits }: Admission): Promise<never> {
  if (err instanceof HubError && err.code.startsWith('KEY_')) await limits.noteRefusedKey(address);
  throw err;
}

function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { principal, deps }: { principal: Principal; deps: Admission },
): void | Promise<void> {
  request.context.principal = principal;
  keyLimits.origins(principal.limits, request.headers.origin);
  return deps.limits.admit(principal, reply);
}

/** Throws SCOPE_DENIED. */
export function requireScope(request: FastifyRequest): void {
  const { scope } = request.context.route.config;
  const granted = request.context.principal?.scopes ?? [];
  if (scope === undefined || isGranted(granted, scope)) return;
  // What a query does is known only where it runs: the executor looks for the scope of writes.
  if (scope === 'queries:execute' && granted.includes('queries:execute:write')) return;
  throw new HubError('SCOPE_DENIED', `This needs a key with the scope ${scope}.`);
}
