/**
 * Exchanges the code of a sign-in link, which `npm start` prints, for a new key. This exists only for browsers on the same
 * machine: the checks refuse what came through a proxy, and pages of other origins, also after DNS rebinding.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RateLimiter } from '../access/rate-limiter.ts';
import type { GatewayConfig } from '../config.ts';
import { unstoredHeaders } from '../http/problem-details.ts';

export interface SignedIn {
  key: string;
  keyId: string;
  expiresAt: Date;
}

export interface SignIn {
  /** Undefined if the code is unknown, used or expired. */
  redeem(code: string): Promise<SignedIn | undefined>;
}

export const signInPath = '/console/sign-in';
/** A page of another origin cannot send this header without a preflight request, which gets no permission. */
export const codeHeader = 'x-sign-in-code';

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;
const loopbackAddress = /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/;
const forwardingHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
];

/** False if others may reach the hub, or if it is behind something that could speak for them. */
export function allowsSignIn(
  config: Pick<GatewayConfig, 'host' | 'trustedProxies' | 'console' | 'edge'>,
): boolean {
  const { host, trustedProxies, console, edge } = config;
  return loopbackHost.test(host) && trustedProxies.length === 0 && console && edge === 'none';
}

export function registerSignIn(
  app: FastifyInstance,
  { signIn, rateLimiter }: { signIn: SignIn; rateLimiter: RateLimiter },
): void {
  // The route of the CORS plugin would permit preflight requests.
  app.options(signInPath, { config: { cors: false } as object }, async (_request, reply) =>
    reply
      .code(204)
      .headers({ allow: 'POST', ...unstoredHeaders })
      .send(),
  );
  app.post(signInPath, { config: { cors: false } as object }, async (request, reply) => {
    reply.removeHeader('access-control-expose-headers').headers(unstoredHeaders);
    const address = request.socket.remoteAddress ?? '';
    rateLimiter.requireFewRefusals(address, 'random');
    try {
      requireLocalPage(request, address);
      const code = request.headers[codeHeader];
      const signedIn = typeof code === 'string' ? await signIn.redeem(code) : undefined;
      if (signedIn !== undefined) return signedIn;
    } catch (err) {
      await rateLimiter.noteRefusedKey(address, 'random');
      throw err;
    }
    await rateLimiter.noteRefusedKey(address, 'random');
    throw new HubError(
      'KEY_INVALID',
      'This sign-in link was used already, or has expired. Sign in with a key, or restart the hub for another link.',
    );
  });
}

function requireLocalPage(request: FastifyRequest, address: string): void {
  const { host = '', origin = '' } = request.headers;
  const isDirect = forwardingHeaders.every((name) => request.headers[name] === undefined);
  const isLocal = loopbackAddress.test(address) && loopbackHost.test(host.replace(/:\d+$/, ''));
  if (isDirect && isLocal && origin === `http://${host}`) return;
  throw new HubError('SCOPE_DENIED', 'A sign-in link works only in a browser on the machine of the hub.');
}
