/** Rules of OAuth 2.1 that the gateway and the catalog share. */

import type { Scope } from '../scopes.ts';

/** What a token is for: tools at `/mcp` alone, or the API without `/mcp`. */
export const audiences = ['mcp', 'api'] as const;
export type Audience = (typeof audiences)[number];

/** What an agent can be given. The client gets what the person or the key has of it, too. */
export const agentScopes = [
  'queries:execute',
  'queries:execute:write',
  'classifiers:predict',
  'ai:summarize',
] as const satisfies readonly Scope[];

/** The command line, which needs no registration. Only it gets the audience `api`. */
export const cliClient = {
  clientId: 'datahub-cli',
  name: 'The command line datahub',
  redirectUris: ['http://127.0.0.1/callback'],
} as const;

/** The most hubs that one agent can be given. */
export const agentHubsMax = 200;
export const redirectUriBounds = { entries: { min: 1, max: 10 }, length: { min: 1, max: 500 } };
/** SHA-256 in base64url. */
export const codeChallengePattern = /^[A-Za-z0-9_-]{43}$/;

const loopback = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?(?=\/)/;

/** Undefined if answers may be sent to the address: https, or http to the person's own machine (RFC 8252). */
export function faultOfRedirectUri(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (url === null || uri.length > redirectUriBounds.length.max) return 'must be an address';
  if (!/^[\x21-\x7e]+$/.test(uri)) return 'must have only printable ASCII characters';
  if (url.username !== '' || url.password !== '' || uri.includes('#'))
    return 'must have no user, password or fragment';
  if (/^https:\/\//.test(uri) || loopback.test(uri)) return undefined;
  return 'must begin with https://, or with http://127.0.0.1/, http://[::1]/ or http://localhost/';
}

/** Whether a client that registered `known` may ask for answers at `asked`: the same, except for the port of a loopback. */
export function isSameRedirectUri(known: string, asked: string): boolean {
  if (faultOfRedirectUri(asked) !== undefined) return false;
  return known === asked || (loopback.test(known) && withoutPort(known) === withoutPort(asked));
}

const withoutPort = (uri: string): string => uri.replace(loopback, 'http://$1');
