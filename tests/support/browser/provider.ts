/** A provider of OpenID Connect in the process of the test, whose people sign in by being named. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import OidcProvider, { type Configuration } from 'oidc-provider';

export interface ProvidedPerson {
  name?: string;
  email?: string;
  email_verified?: boolean;
  groups?: string[];
}

export interface TestProvider {
  issuer: string;
  people: Map<string, ProvidedPerson>;
  /** Who signs in next. */
  who: string;
  /** A message that signs somebody out, as the provider signs it. `change`: members that differ. */
  logoutToken(members: { sub?: string; sid?: string }, change?: object): Promise<string>;
  /** Signs with another key from now on. */
  rotateKeys(): Promise<void>;
  /** Answers nothing any more, until it starts again. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export const clientId = 'datahub';
export const clientSecret = 'the-secret-of-the-hub-at-the-provider';

async function makeKey(kid: string) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'RS256' } };
}

const configurationOf = ([origin, ...others]: readonly string[]): Configuration => ({
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [origin, ...others].map((one) => `${one}/auth/callback`),
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      backchannel_logout_uri: `${origin}/auth/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
  ],
  cookies: { keys: ['test'] },
  claims: { openid: ['sub', 'sid'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  // Its own refuses to tell a hub on this machine who signed out.
  fetch: (url, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown } = {}) =>
    fetch(url, options),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
});

/** `origins`: of hubs; the first one is told who signed out. `publish`: puts something in front of the provider's port, and returns its address. */
export async function startProvider(
  origins: string | readonly string[],
  publish: (port: number) => Promise<string> = async (port) => `http://127.0.0.1:${port}`,
): Promise<TestProvider> {
  let key = await makeKey('one');
  let handle: ReturnType<OidcProvider['callback']>;
  let server: Server;
  const people: TestProvider['people'] = new Map();
  const listen = async (port: number): Promise<number> => {
    server = createServer((request, response) => {
      if (request.url?.startsWith('/interaction/')) void finish(request, response);
      else void handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const issuer = await publish(port);
  let provider: OidcProvider;
  const configure = () => {
    provider = new OidcProvider(issuer, {
      ...configurationOf([origins].flat()),
      jwks: { keys: [key.jwk] },
      findAccount: (_, sub) =>
        people.has(sub) ? { accountId: sub, claims: () => ({ sub, ...people.get(sub) }) } : undefined,
      loadExistingGrant: async ({ oidc }) => {
        const { client, session } = oidc;
        const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope('openid profile email');
        await grant.save();
        return grant;
      },
    });
    handle = provider.callback();
  };
  configure();
  const finish = async (request: Parameters<typeof handle>[0], response: Parameters<typeof handle>[1]) => {
    const login = { accountId: self.who };
    await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
  };
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const self: TestProvider = {
    issuer,
    people,
    who: '',
    logoutToken: (members, change = {}) => signLogout(key, { iss: issuer, ...members, ...change }),
    rotateKeys: async () => {
      key = await makeKey('two');
      configure();
    },
    stop,
    start: async () => void (await listen(port)),
    close: stop,
  };
  return self;
}

function signLogout(
  { jwk, privateKey }: Awaited<ReturnType<typeof makeKey>>,
  members: object,
): Promise<string> {
  const nowS = Math.floor(Date.now() / 1_000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const times = { iat: nowS, exp: nowS + 120, jti: crypto.randomUUID() };
  return new SignJWT({ aud: clientId, ...times, events, ...members })
    .setProtectedHeader({ alg: 'RS256', kid: jwk.kid, typ: 'logout+jwt' })
    .sign(privateKey);
}

export const oidcSettings = ({ issuer }: Pick<TestProvider, 'issuer'>, origin: string) => ({
  DATAHUB_OIDC_ISSUER: issuer,
  DATAHUB_OIDC_CLIENT_ID: clientId,
  DATAHUB_OIDC_CLIENT_SECRET: clientSecret,
  DATAHUB_PUBLIC_ORIGIN: origin,
});

/** A browser without pages: follows redirects and keeps the cookies of each host. */
export function createAgent() {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: string) => {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    return jar;
  };
  const cookies = (url: string) => [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ');
  const send = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { ...(init.headers as object), cookie: cookies(url) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      const isGone = attributes.some(
        (one) => /^max-age=0$/i.test(one) || /^expires=thu, 01 jan 1970/i.test(one),
      );
      if (isGone) jarOf(url).delete(pair.slice(0, at));
      else jarOf(url).set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  };
  /** Follows redirects to the last answer. */
  const visit = async (url: string): Promise<{ url: string; response: Response }> => {
    let at = url;
    for (let i = 0; i < 20; i++) {
      const response = await send(at);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      at = new URL(location, at).href;
    }
    throw new Error('Too many redirects.');
  };
  return { send, visit, cookies, jarOf };
}

export type Agent = ReturnType<typeof createAgent>;
