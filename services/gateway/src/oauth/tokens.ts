/** `/oauth/token`, `/oauth/revoke` and `/oauth/register`, which programs call. */

import { redirectUriBounds } from '@datahub/contract/people/oauth';
import { audienceOfToken, formOfKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressOf } from '../access/authenticate.ts';
import { networkOf, type RateLimiter } from '../access/rate-limiter.ts';
import { kinds } from '../http/problem-details.ts';
import { inBody } from '../http/request-error.ts';
import type { Upstreams } from '../upstreams.ts';
import { shorten } from './clients.ts';
import { type OAuthSettings, resourceOf } from './settings.ts';

export interface TokenDeps {
  upstreams: Pick<Upstreams, 'catalog'>;
  rateLimiter: RateLimiter;
}

/** A refusal in the form of RFC 6749, section 5.2. */
export interface OAuthError {
  status: number;
  error: string;
  detail: string;
}

const details: Record<string, string> = {
  invalid_client: 'The client is unknown, or its secret is wrong.',
  invalid_grant: 'The code or refresh token is unknown, expired or used, or was issued to another request.',
  invalid_target: 'The resource is not that of the token.',
};

export function createTokenHandlers(
  settings: OAuthSettings,
  { upstreams: { catalog }, rateLimiter }: TokenDeps,
) {
  const refuse = async (request: FastifyRequest, reply: FastifyReply, error: string) => {
    await rateLimiter.noteRefusedKey(addressOf(request), 'random');
    if (error !== 'invalid_client')
      return sendOAuthError(reply, { status: 400, error, detail: details[error] ?? '' });
    if (request.headers.authorization !== undefined)
      reply.header('www-authenticate', 'Basic realm="datahub"');
    return sendOAuthError(reply, { status: 401, error, detail: details[error] ?? '' });
  };
  return {
    issue: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const form = readForm(request.body);
      const { grant_type: grantType } = form;
      if (grantType !== 'authorization_code' && grantType !== 'refresh_token')
        return sendOAuthError(reply, {
          ...{ status: 400, error: 'unsupported_grant_type' },
          detail: 'grant_type must be authorization_code or refresh_token.',
        });
      const refresh = grantType === 'refresh_token';
      const issued = await catalog.issueTokens(
        {
          ...clientOf(request, form),
          token: required(form, refresh ? 'refresh_token' : 'code'),
          refresh,
          redirectUri: refresh ? '' : required(form, 'redirect_uri'),
          codeVerifier: refresh ? '' : required(form, 'code_verifier'),
          audience: audienceOf(form.resource, settings),
        },
        request.context,
      );
      if (issued.error !== '') return refuse(request, reply, issued.error);
      return {
        access_token: issued.accessToken,
        token_type: 'Bearer',
        expires_in: issued.expiresInS,
        refresh_token: issued.refreshToken,
        scope: issued.scopes.join(' '),
      };
    },

    revoke: async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const form = readForm(request.body);
      const token = required(form, 'token');
      if (formOfKey(token) === 'random' && audienceOfToken(token) === undefined)
        return sendOAuthError(reply, {
          ...{ status: 400, error: 'unsupported_token_type' },
          detail: 'This is an API key. Revoke it with DELETE /v1/keys/:keyId.',
        });
      const { error } = await catalog.revokeToken({ ...clientOf(request, form), token }, request.context);
      return error === '' ? {} : refuse(request, reply, error);
    },
  };
}

/** Registers a client that asks for it itself (RFC 7591). */
export async function registerClient(
  request: FastifyRequest,
  reply: FastifyReply,
  { catalog }: Pick<Upstreams, 'catalog'>,
): Promise<unknown> {
  const { client_name, redirect_uris } = Object(request.body) as Record<string, unknown>;
  const uris = Array.isArray(redirect_uris) ? redirect_uris : [];
  const { max } = redirectUriBounds.entries;
  if (uris.length === 0 || uris.length > max || !uris.every((uri) => typeof uri === 'string'))
    return sendOAuthError(reply, {
      ...{ status: 400, error: 'invalid_redirect_uri' },
      detail: `redirect_uris must be a list of 1 to ${max} addresses.`,
    });
  const name = typeof client_name === 'string' ? shorten(client_name).trim() : '';
  const network = networkOf(addressOf(request));
  const wanted = { name: name || 'A program', redirectUris: uris as string[], network };
  const { client } = await catalog.registerClient(wanted, request.context);
  return reply.code(201).send({
    client_id: client?.clientId,
    client_id_issued_at: Math.floor((client?.createdAt?.getTime() ?? 0) / 1_000),
    client_name: client?.name,
    redirect_uris: client?.redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  });
}

/** The audience of a resource. Undefined if the request names none, and empty for that of another hub. */
function audienceOf(resource: string | undefined, settings: OAuthSettings): string | undefined {
  if (resource === undefined) return undefined;
  if (resource === resourceOf.mcp(settings)) return 'mcp';
  return resource === resourceOf.api(settings) ? 'api' : '';
}

/** `unstoredHeaders` are on the reply already. */
export const sendOAuthError = (reply: FastifyReply, { status, error, detail }: OAuthError): FastifyReply =>
  reply.code(status).send({ error, error_description: detail });

export function toOAuthError(err: HubError, path: string): OAuthError {
  const { status } = kinds[err.code];
  const { message, faults = [] } = inBody(err, undefined);
  if (status >= 500 || err.code === 'RATE_LIMITED')
    return { status, error: status === 500 ? 'server_error' : 'temporarily_unavailable', detail: message };
  if (!path.endsWith('/register')) return { status, error: 'invalid_request', detail: message };
  const named = faults.find(({ pointer }) => pointer.startsWith('/redirectUris'));
  const error = named === undefined ? 'invalid_client_metadata' : 'invalid_redirect_uri';
  return { status, error, detail: named === undefined ? message : `${named.pointer} ${named.detail}` };
}

/** Throws VALIDATION for a parameter that is there twice. */
function readForm(body: unknown): Record<string, string | undefined> {
  if (!(body instanceof URLSearchParams))
    throw new HubError('VALIDATION', 'Send the parameters as application/x-www-form-urlencoded.');
  const names = [...body.keys()];
  if (new Set(names).size < names.length)
    throw new HubError('VALIDATION', 'A parameter must not be there twice.');
  return Object.fromEntries(body);
}

function required(form: Record<string, string | undefined>, name: string): string {
  const value = form[name];
  if (value === undefined || value === '') throw new HubError('VALIDATION', `${name} is missing.`);
  return value;
}

/** The client says who it is in the form, or by HTTP Basic (RFC 6749, section 2.3.1). */
function clientOf(
  { headers: { authorization } }: FastifyRequest,
  form: Record<string, string | undefined>,
): { clientId: string; clientSecret: string | undefined } {
  const basic = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '')?.[1];
  if (basic === undefined) {
    const clientSecret = form.client_secret === '' ? undefined : form.client_secret;
    return { clientId: required(form, 'client_id'), clientSecret };
  }
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':');
  try {
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
    return { clientId: decode(id), clientSecret: decode(secret) };
  } catch (err) {
    throw new HubError('VALIDATION', 'The header Authorization is malformed.', { cause: err });
  }
}
