/**
 * The cookies of people who are signed in. Their names begin with `__Host-`, so that no other host can set them, and no
 * script reads the session.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The key of the session. */
export const sessionCookie = '__Host-datahub';
/** What the callback needs of the request that began a sign-in. */
export const stateCookie = '__Host-datahub-sign-in';
/** Tells the console's scripts that there is a session, and nothing else. */
export const hintCookie = '__Host-datahub-person';

interface CookieOptions {
  maxAgeS: number;
  /** Scripts can read it. */
  isOpen?: boolean;
}

export function setCookie(reply: FastifyReply, text: string, { maxAgeS, isOpen = false }: CookieOptions) {
  const access = isOpen ? '' : '; HttpOnly';
  reply.header('set-cookie', `${text}; Path=/; Secure; SameSite=Lax; Max-Age=${maxAgeS}${access}`);
}

export function clearCookies(reply: FastifyReply, names: readonly string[]): void {
  for (const name of names) setCookie(reply, `${name}=`, { maxAgeS: 0 });
}

/** The value of a cookie. Undefined also if there are two: somebody else set one of them. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  const values = (cookie ?? '').split(';').flatMap((part) => {
    const [key = '', ...value] = part.trim().split('=');
    return key === name ? [value.join('=')] : [];
  });
  return values.length === 1 && values[0] !== '' ? values[0] : undefined;
}

/** True for a request that a script of the hub's own pages sent. */
export function isFromOwnPage({ headers }: Pick<FastifyRequest, 'headers'>, publicOrigin: string): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, origin } = headers;
  if (site === undefined) return origin === publicOrigin;
  return site === 'same-origin' && mode !== 'navigate' && (origin === undefined || origin === publicOrigin);
}

/** The key of the session of a request from the hub's own pages. */
export function createSessionReader(publicOrigin: string) {
  return (request: FastifyRequest): string | undefined => {
    const secret = readCookie(request.headers, sessionCookie);
    return isFromOwnPage(request, publicOrigin) ? secret : undefined;
  };
}
