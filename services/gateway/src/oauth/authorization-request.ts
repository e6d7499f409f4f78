/** The parameters of `/oauth/authorize`, and what is wrong with them. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  type Audience,
  agentScopes,
  cliClient,
  codeChallengePattern,
  isSameRedirectUri,
} from '@datahub/contract/people/oauth';
import type { OAuthClient } from './clients.ts';
import { type OAuthSettings, resourceOf } from './settings.ts';

export const parameterNames = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;
export type ParameterName = (typeof parameterNames)[number];

export type AuthorizationRequest = Partial<Record<ParameterName, string>>;

const valueLengthMax = 2_000;

/** Undefined if a parameter is there twice or is too long. */
export function readParameters(values: URLSearchParams): AuthorizationRequest | undefined {
  const found: AuthorizationRequest = {};
  for (const name of parameterNames) {
    const [value, ...more] = values.getAll(name);
    if (more.length > 0 || (value ?? '').length > valueLengthMax) return undefined;
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** The error of RFC 6749, section 4.1.2.1, which the client is told at its redirect address. */
export interface RequestFault {
  error: 'invalid_request' | 'unsupported_response_type' | 'invalid_target' | 'access_denied';
  detail: string;
}

export const audienceOf = (clientId: string): Audience => (clientId === cliClient.clientId ? 'api' : 'mcp');

/** Whether the client registered the address of the request. */
export const isRedirectOf = (
  { redirectUris }: OAuthClient,
  { redirect_uri }: AuthorizationRequest,
): boolean => redirectUris.some((known) => isSameRedirectUri(known, redirect_uri ?? ''));

export function faultOfRequest(
  request: AuthorizationRequest,
  settings: OAuthSettings,
): RequestFault | undefined {
  const { response_type, code_challenge = '', code_challenge_method, resource, client_id = '' } = request;
  if (response_type !== 'code')
    return { error: 'unsupported_response_type', detail: 'response_type must be code' };
  if (code_challenge_method !== 'S256' || !codeChallengePattern.test(code_challenge))
    return {
      error: 'invalid_request',
      detail: 'code_challenge must be there, and code_challenge_method must be S256',
    };
  const own = resourceOf[audienceOf(client_id)](settings);
  if (resource !== undefined && resource !== own)
    return { error: 'invalid_target', detail: `resource must be ${own}` };
  return undefined;
}

/** The scopes that the client asks for, of those that there are; all of them if it names none. */
export function scopesAsked({ scope = '' }: AuthorizationRequest): readonly string[] {
  const asked = scope.split(' ');
  const known = agentScopes.filter((one) => asked.includes(one));
  return known.length === 0 ? agentScopes : known;
}

/** Binds a form to the session, or the key, and to the request that it shows. */
export const formTokenOf = (secret: string, request: AuthorizationRequest): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(parameterNames.map((name) => request[name] ?? null)))
    .digest('base64url');

export function isFormToken(token: string, secret: string, request: AuthorizationRequest): boolean {
  const [given, expected] = [Buffer.from(token), Buffer.from(formTokenOf(secret, request))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The redirect address with the answer, and with `iss` (RFC 9207). */
export function answerAddress(
  { redirect_uri = '', state }: AuthorizationRequest,
  answer: Record<string, string>,
  { issuer }: OAuthSettings,
): string {
  const search = new URLSearchParams({ ...answer, ...(state === undefined ? {} : { state }), iss: issuer });
  return `${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}${search}`;
}
