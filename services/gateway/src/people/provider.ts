/**
 * Speaks with the operator's provider of OpenID Connect: code flow with PKCE, and its messages that sign people out.
 * Loaded with the first sign-in.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { HubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import { createRemoteJWKSet, customFetch as fetchOfKeys, type JWTVerifyGetKey, jwtVerify } from 'jose';
import * as client from 'openid-client';
import type { OidcSettings } from './oidc-settings.ts';

/** What the provider says of a person. */
export interface SignedInPerson {
  issuer: string;
  subject: string;
  name: string;
  /** Only if the provider has verified it. */
  email: string | undefined;
  groups: string[];
  providerSession: string | undefined;
  /** Only if the hub asked for one that lasts. */
  refreshToken: string | undefined;
}

/** What the callback has to check. */
export interface SignInState {
  state: string;
  nonce: string;
  verifier: string;
}

/** At least one of `subject` and `providerSession` is there. */
export interface SignedOut {
  /** As the provider writes it, which is how people are stored. The setting may have a slash at its end. */
  issuer: string;
  subject: string | undefined;
  providerSession: string | undefined;
  /** When the provider wrote the message; the difference of the clocks is added. */
  begunBefore: Date;
}

export interface Provider {
  begin(): Promise<{ url: URL; state: SignInState }>;
  /** Rejects with KEY_INVALID if the answer is not one to this sign-in, and UNAVAILABLE without the provider. */
  complete(search: string, state: SignInState): Promise<SignedInPerson>;
  /**
   * What it says of the person now; undefined if it no longer knows the person. Rejects with UNAVAILABLE. `keep` is awaited
   * with the token that replaces a used one, before anything else can fail.
   */
  refresh(
    token: string,
    subject: string,
    keep: (next: string) => Promise<void>,
  ): Promise<SignedInPerson | undefined>;
  /** Whom a message of the provider signs out. Rejects with KEY_INVALID for a message that is not the provider's. */
  readLogout(token: string): Promise<SignedOut>;
}

const timeoutS = 15;
const clockToleranceS = 60;
/** How long the provider's own description is used. */
const describedMs = 3_600_000;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const logoutAgeMax = '10 minutes';

interface Described {
  config: client.Configuration;
  keys: JWTVerifyGetKey;
  readAt: number;
}

export function createProvider(settings: OidcSettings): Provider {
  const redirectUri = `${settings.publicOrigin}/auth/callback`;
  const describe = createDescription(settings);
  return {
    begin: async () => {
      const { config } = await describe();
      const verifier = client.randomPKCECodeVerifier();
      const state = { state: client.randomState(), nonce: client.randomNonce(), verifier };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: state.state,
        nonce: state.nonce,
      });
      return { url, state };
    },

    complete: async (search, { state, nonce, verifier }) => {
      const { config } = await describe();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      try {
        const tokens = await client.authorizationCodeGrant(config, new URL(search, redirectUri), {
          ...checks,
          idTokenExpected: true,
        });
        return await readPerson(config, tokens, { settings });
      } catch (err) {
        const code = new URL(search, redirectUri).searchParams.get('code') ?? '';
        throw toRefusal(err, [settings.clientSecret, code, verifier]);
      }
    },

    refresh: async (token, subject, keep) => {
      const { config } = await describe();
      const tokens = await askAgain(() => client.refreshTokenGrant(config, token)).catch((err) => {
        if (err.error === 'invalid_grant') return undefined;
        throw away(err);
      });
      if (tokens === undefined) return undefined;
      // Some providers give a new token each time, others none.
      const { refresh_token: next = token } = tokens;
      if (next !== token) await keep(next);
      try {
        const person = await readPerson(config, tokens, { settings, subject });
        // OpenID Connect Core 1.0, section 12.2.
        if (person.subject !== subject) throw new Error('The provider answered with another person.');
        return { ...person, refreshToken: next };
      } catch (err) {
        throw away(err);
      }
    },

    readLogout: async (token) => readLogout(token, await describe(), settings.clientId),
  };
}

/**
 * Reads what the provider says of itself, again after an hour, and once for all who wait for it. While it is away, the last
 * word is used.
 */
function createDescription(settings: OidcSettings): () => Promise<Described> {
  let described: Described | undefined;
  let reading: Promise<Described> | undefined;
  const read = async (): Promise<Described> => {
    const config = await discover(settings);
    const { jwks_uri: keysUrl = '' } = config.serverMetadata();
    const keys = createRemoteJWKSet(new URL(keysUrl), {
      timeoutDuration: timeoutS * 1_000,
      [fetchOfKeys]: fetchBounded,
    });
    described = { config, keys, readAt: performance.now() };
    return described;
  };
  return async () => {
    if (described !== undefined && performance.now() - described.readAt < describedMs) return described;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    try {
      return await joined(reading);
    } catch (err) {
      if (described !== undefined) return described;
      const status = statusOf(err as Failure);
      const reason = `${reasonOf(err, [settings.clientSecret])}${status === 0 ? '' : ` (HTTP ${status})`}`;
      throw away(new Error(`${settings.issuer} does not describe itself as a provider: ${reason}`));
    }
  };
}

async function readLogout(token: string, { config, keys }: Described, audience: string): Promise<SignedOut> {
  const checks = {
    issuer: config.serverMetadata().issuer,
    audience,
    clockTolerance: clockToleranceS,
    maxTokenAge: logoutAgeMax,
  };
  const { payload } = await jwtVerify(token, keys, { ...checks, requiredClaims: ['iat', 'jti'] }).catch(
    (err) => {
      throw err.code === 'ERR_JWKS_TIMEOUT' || err instanceof TypeError ? away(err) : notLogout(err);
    },
  );
  const { iss: issuer, sub: subject, sid, events, nonce, iat } = payload as Record<string, unknown>;
  const providerSession = typeof sid === 'string' ? sid : undefined;
  const isLogout = typeof events === 'object' && events !== null && logoutEvent in events;
  if (!isLogout || nonce !== undefined || (subject === undefined && providerSession === undefined))
    throw notLogout();
  // The provider leaves out what is beyond a whole second.
  const begunBefore = new Date(((iat as number) + 1 + clockToleranceS) * 1_000);
  return { issuer: issuer as string, subject: subject as string | undefined, providerSession, begunBefore };
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<client.Configuration> {
  // The settings accept plain HTTP only for a provider on the same machine.
  const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
  const options = { timeout: timeoutS, execute, [client.customFetch]: fetchBounded };
  const found = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, options);
  const metadata = found.serverMetadata();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authentication = methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(clientSecret)
    : client.ClientSecretPost(clientSecret);
  const ofClient = { client_secret: clientSecret, [client.clockTolerance]: clockToleranceS };
  const config = new client.Configuration(metadata, clientId, ofClient, authentication);
  config.timeout = timeoutS;
  config[client.customFetch] = fetchBounded;
  for (const allow of execute) allow(config);
  return config;
}

/** In bytes: a list of thousands of groups. */
const answerMax = 1_048_576;

/** Fetches an answer that ends with an error where it becomes too large. */
async function fetchBounded(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options);
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, stream) => {
      bytes += chunk.byteLength;
      if (bytes <= answerMax) stream.enqueue(chunk);
      else stream.error(new Error(`The answer has more than ${answerMax} bytes.`));
    },
  });
  return new Response(response.body?.pipeThrough(bounded), response);
}

const away = (cause: unknown) =>
  new HubError(
    'UNAVAILABLE',
    'The provider for sign-in cannot be reached. Try again, or sign in with a key.',
    {
      cause,
      retryable: true,
    },
  );
const notLogout = (cause?: unknown) =>
  new HubError('KEY_INVALID', 'This is no message of the provider that signs somebody out.', { cause });

/**
 * An answer can be lost after the provider has replaced the token. Providers that allow for it accept the token before for
 * some seconds more.
 */
const askAgainMs = 2_000;

async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (err) {
    if (!isLost(err)) throw err;
    await sleep(askAgainMs);
    return ask();
  }
}

const lostCodes = [
  ...['OAUTH_TIMEOUT', 'OAUTH_PARSE_ERROR'],
  ...['OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_RESPONSE_IS_NOT_CONFORM'],
];
const busyErrors = ['server_error', 'temporarily_unavailable'];

interface Failure {
  code?: string;
  /** What the provider says in words of OAuth. */
  error?: string;
  status?: number;
  /** The response, if it is no message of OAuth. */
  cause?: unknown;
}

const statusOf = ({ status, cause }: Failure): number =>
  status ?? (cause instanceof Response ? cause.status : 0);

/** True if nobody knows what the provider decided: no answer arrived whole, or one that is not of the provider. */
function isLost(err: unknown): boolean {
  const { code = '' } = err as Failure;
  const status = statusOf(err as Failure);
  return err instanceof TypeError || status >= 500 || (lostCodes.includes(code) && status < 400);
}

/** The provider refused, or its answer is not one to this sign-in. The cause is for the log, without `secrets`. */
function toRefusal(err: unknown, secrets: readonly string[]): HubError {
  const cause = new Error(reasonOf(err, secrets));
  const { error = '' } = err as Failure;
  if (isLost(err) || busyErrors.includes(error) || statusOf(err as Failure) === 429) return away(cause);
  return new HubError('KEY_INVALID', 'The provider did not confirm this sign-in. Begin it again.', { cause });
}

const reasonMax = 300;

/** What the provider says, and what is wrong with its answer. The answer itself may have tokens. */
function reasonOf(err: unknown, secrets: readonly string[]): string {
  const { message, cause } = err as Error;
  const challenge =
    err instanceof client.WWWAuthenticateChallengeError ? err.cause[0]?.parameters : undefined;
  const { error, error_description: description } = challenge ?? (err as client.ResponseBodyError);
  const texts = [error, description, message, cause instanceof Error ? cause.message : undefined];
  const said = texts.filter((text) => typeof text === 'string' && text !== '').join('; ');
  return secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '…'), said)
    .slice(0, reasonMax);
}

interface Tokens {
  access_token: string;
  refresh_token?: string;
  claims(): client.IDToken | undefined;
}

/** `subject`: if the answer has no ID token, as that to a refresh may. */
async function readPerson(
  config: client.Configuration,
  tokens: Tokens,
  { settings, subject = '' }: { settings: OidcSettings; subject?: string },
): Promise<SignedInPerson> {
  const { issuer, userinfo_endpoint: hasMore } = config.serverMetadata();
  const claims = tokens.claims() ?? { iss: issuer, sub: subject };
  const more = hasMore ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
  // Others end with the session at the provider, within minutes.
  const lasts = settings.scopes.split(' ').includes('offline_access');
  return {
    ...toPerson({ ...more, ...claims }, settings),
    email: verifiedEmail([claims, more]),
    refreshToken: lasts ? tokens.refresh_token : undefined,
  };
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** `email_verified` is about the address beside it: the ID token and the userinfo may name different ones. */
function verifiedEmail(documents: readonly Record<string, unknown>[]): string | undefined {
  const said = documents.find((one) => one.email_verified !== undefined);
  return said?.email_verified === true ? text(said.email) : undefined;
}

function toPerson(
  claims: Record<string, unknown> & { iss: string; sub: string },
  settings: OidcSettings,
): Omit<SignedInPerson, 'refreshToken' | 'email'> {
  return {
    issuer: claims.iss,
    subject: claims.sub,
    name: text(claims.name) ?? text(claims.preferred_username) ?? text(claims.email) ?? claims.sub,
    groups: groupsOf(claims, settings.groupsClaim),
    providerSession: text(claims.sid),
  };
}

function groupsOf(claims: Record<string, unknown>, path: string): string[] {
  let value: unknown = claims[path];
  if (value === undefined) {
    value = claims;
    for (const name of path.split('.')) value = Object(value)[name];
  }
  const values = Array.isArray(value) ? value : [value];
  return values.filter((one) => typeof one === 'string');
}
