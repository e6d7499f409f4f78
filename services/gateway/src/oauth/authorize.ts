/**
 * `/oauth/authorize`: a person, or whoever has a key, consents to a client. GET may come from anywhere and changes nothing.
 * The form is accepted only from the page itself: of the same origin, with a token that is bound to the session, or the
 * key, and to the request.
 */

import { cliClient } from '@datahub/contract/people/oauth';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { audienceOfToken, formOfKey, type KeyForm } from '@datahub/service-kit/api-key';
import { HubError, isKeyRefusal } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressOf, type KeyCache } from '../access/authenticate.ts';
import { keyLimits } from '../access/key-limits.ts';
import type { RateLimiter } from '../access/rate-limiter.ts';
import { readCookie, sessionCookie } from '../people/cookies.ts';
import type { Upstreams } from '../upstreams.ts';
import {
  type AuthorizationRequest,
  answerAddress,
  audienceOf,
  faultOfRequest,
  formTokenOf,
  isFormToken,
  isRedirectOf,
  type RequestFault,
  readParameters,
  scopesAsked,
} from './authorization-request.ts';
import { createClients, type FindClient, type OAuthClient, shorten } from './clients.ts';
import { createReadOffer, type ReadOffer } from './offer.ts';
import {
  type Consent,
  commandLineContent,
  consentContent,
  consentHeading,
  errorContent,
  sendPage,
  signInContent,
} from './pages.ts';
import type { OAuthSettings } from './settings.ts';

export interface AuthorizeDeps {
  upstreams: Upstreams;
  keyCache: KeyCache;
  rateLimiter: RateLimiter;
  /** The host of the provider at which people sign in. */
  provider: string | undefined;
}

interface SignedIn {
  principal: Principal;
  /** Of the session, or the key. */
  secret: string;
  /** Undefined for a session. */
  key: string | undefined;
}

interface Asked {
  request: FastifyRequest;
  reply: FastifyReply;
  wanted: AuthorizationRequest;
}

export function createAuthorize(settings: OAuthSettings, deps: AuthorizeDeps) {
  const findClient = createClients(deps.upstreams);
  const all = { settings, deps, findClient, readOffer: createReadOffer(deps.upstreams) };
  return {
    show: async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const wanted = readParameters(new URL(request.url, settings.issuer).searchParams);
      if (wanted === undefined) return refuseParameters(reply);
      const asked = { request, reply, wanted };
      const secret = readCookie(request.headers, sessionCookie);
      const signedIn =
        secret === undefined || deps.provider === undefined
          ? undefined
          : await signIn(asked, secret, all).catch(unlessKey);
      return signedIn === undefined ? showSignIn(asked, all) : showConsent(asked, signedIn, all);
    },

    decide: async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      if (!isOwnForm(request, settings))
        throw new HubError('SCOPE_DENIED', 'Only the page of this hub can send this form.');
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const wanted = readParameters(form);
      if (wanted === undefined) return refuseParameters(reply);
      const asked = { request, reply, wanted };
      const key = form.get('key')?.trim() || undefined;
      const secret = key ?? readCookie(request.headers, sessionCookie);
      if (secret === undefined) return showSignIn(asked, all);
      let signedIn: SignedIn;
      try {
        signedIn = { ...(await signIn(asked, secret, all)), key };
      } catch (err) {
        if (!isKeyRefusal(err)) throw err;
        await deps.rateLimiter.noteRefusedKey(addressOf(request), formOfKey(secret));
        return showSignIn(asked, all, err.message);
      }
      const decision = form.get('decision');
      if (decision === null) return showConsent(asked, signedIn, all);
      const token = form.get('token') ?? '';
      if (!isFormToken(token, secret, wanted)) {
        await noteRefusal(asked, deps);
        throw new HubError(
          'SCOPE_DENIED',
          'This page is not that of the request. Begin again in the program.',
        );
      }
      return conclude(asked, { allows: decision === 'allow', form }, all);
    },
  };
}

interface All {
  settings: OAuthSettings;
  deps: AuthorizeDeps;
  findClient: FindClient;
  readOffer: ReadOffer;
}

function isOwnForm({ headers }: FastifyRequest, { issuer }: OAuthSettings): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  return origin === issuer && (site === undefined || site === 'same-origin');
}

const refuseParameters = (reply: FastifyReply): FastifyReply =>
  sendPage(reply, {
    status: 400,
    heading: 'The program asked in a wrong way',
    content: errorContent('A parameter of its request is there twice, or is too long.'),
  });

/** A session or a key that is not valid. */
function unlessKey(err: unknown): undefined {
  if (!isKeyRefusal(err)) throw err;
}

async function signIn({ request, reply }: Asked, secret: string, { settings, deps }: All): Promise<SignedIn> {
  // The token of an agent ends within the hour; what it could connect would not.
  if (audienceOfToken(secret) !== undefined)
    throw new HubError('KEY_INVALID', 'The token of an agent cannot connect another one.');
  const beforeUnknown = (form: KeyForm) => deps.rateLimiter.requireFewRefusals(addressOf(request), form);
  const principal = await deps.keyCache.principalOf(secret, beforeUnknown);
  keyLimits.origins(principal.limits, settings.issuer);
  await deps.rateLimiter.admit(principal, reply);
  request.context.principal = principal;
  return { principal, secret, key: undefined };
}

function showSignIn({ reply, wanted }: Asked, { deps: { provider } }: All, refusal?: string): FastifyReply {
  const search = new URLSearchParams(wanted as Record<string, string>);
  const address = `/auth/login?to=${encodeURIComponent(`oauth/authorize?${search}`)}`;
  const login = provider === undefined ? undefined : { address, provider };
  const content = signInContent(wanted, { login, ...(refusal === undefined ? {} : { refusal }) });
  return sendPage(reply, { status: refusal === undefined ? 200 : 401, heading: 'Sign in', content });
}

/** What the client may not ask is in the audit log of whoever is signed in. */
async function noteRefusal({ request, wanted }: Asked, { upstreams }: AuthorizeDeps): Promise<void> {
  const resourceId = (wanted.client_id ?? '').replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 500);
  const use = { action: 'agent.refuse', resourceId, count: 1, failed: 1, users: Buffer.alloc(0) };
  await upstreams.catalog.recordUse({ uses: [use] }, request.context);
}

/** The client and what is wrong with its request. */
async function examine(
  asked: Asked,
  { settings, findClient }: All,
): Promise<{ client: OAuthClient; host: string; fault: RequestFault | undefined } | string> {
  const { wanted, request } = asked;
  const client = await findClient(wanted.client_id ?? '', request.context);
  if (client === undefined) return 'The hub does not know this program.';
  if (!isRedirectOf(client, wanted))
    return 'The program has not registered the address that the answer would go to.';
  const host = client.documentHost ?? new URL(wanted.redirect_uri ?? '').hostname;
  return { client, host, fault: faultOfRequest(wanted, settings) };
}

/** Answers an invalid request. A browser is led away only by its user: the address may be anybody's. */
async function refuse(
  asked: Asked,
  refusal: string | { host: string; fault: RequestFault },
  { settings, deps }: All,
): Promise<FastifyReply> {
  await noteRefusal(asked, deps);
  const heading = 'The program asked in a wrong way';
  if (typeof refusal === 'string')
    return sendPage(asked.reply, { status: 400, heading, content: errorContent(refusal) });
  const { host, fault } = refusal;
  const answer = { error: fault.error, error_description: fault.detail };
  const back = { address: answerAddress(asked.wanted, answer, settings), host };
  return sendPage(asked.reply, { status: 400, heading, content: errorContent(`${fault.detail}.`, back) });
}

async function showConsent(
  asked: Asked,
  { secret, key, principal }: SignedIn,
  all: All,
): Promise<FastifyReply> {
  const { upstreams } = all.deps;
  const examined = await examine(asked, all);
  if (typeof examined === 'string') return refuse(asked, examined, all);
  const { client, host, fault } = examined;
  if (fault !== undefined) return refuse(asked, { host, fault }, all);
  const { reply, request, wanted } = asked;
  const consent: Consent = {
    ...{ client, host, request: wanted, key },
    isUnverified: isOnThisComputer(wanted) || (client.documentHost === undefined && !isKnown(client)),
    who: await nameOf(principal, request, upstreams),
    token: formTokenOf(secret, wanted),
  };
  const to = wanted.redirect_uri ?? '';
  const heading = consentHeading(consent);
  if (audienceOf(client.clientId) === 'api')
    return sendPage(reply, { to, heading, content: commandLineContent(consent) });
  const offer = await all.readOffer(request.context, scopesAsked(wanted));
  return sendPage(reply, { to, heading, content: consentContent(consent, offer) });
}

/** Any program of a computer can take the answers that go there. */
const isOnThisComputer = ({ redirect_uri = '' }: AuthorizationRequest): boolean =>
  redirect_uri.startsWith('http:');

/** An admin registered it, and it proves who it is by its secret. */
const isKnown = (client: OAuthClient & { dynamic?: boolean }): boolean => client.dynamic === false;

async function nameOf(
  { person, keyId }: Principal,
  { context }: FastifyRequest,
  { catalog }: Upstreams,
): Promise<string> {
  if (person === undefined) return `the key ${keyId}`;
  return (await catalog.getOwnPerson({}, context)).person?.name ?? person.id;
}

async function conclude(
  asked: Asked,
  { allows, form }: { allows: boolean; form: URLSearchParams },
  all: All,
): Promise<FastifyReply> {
  const { request, reply, wanted } = asked;
  const { settings, deps } = all;
  const examined = await examine(asked, all);
  if (typeof examined === 'string') return refuse(asked, examined, all);
  const { client, host, fault } = examined;
  if (fault !== undefined) return refuse(asked, { host, fault }, all);
  const answer = (members: Record<string, string>) =>
    reply.redirect(answerAddress(wanted, members, settings), 303);
  if (!allows) return answer({ error: 'access_denied' });
  const isCli = client.clientId === cliClient.clientId;
  const hubIds = isCli ? [] : form.getAll('hub');
  if (!isCli && hubIds.length === 0)
    throw new HubError('VALIDATION', 'Choose at least one hub. Go back in the browser to do so.');
  const granted = form.getAll('scope_granted');
  const asking = scopesAsked(wanted);
  const scopes = isCli
    ? ['*']
    : ['queries:execute', ...asking.filter((one) => one !== 'queries:execute' && granted.includes(one))];
  const { code } = await deps.upstreams.catalog.createAgent(
    {
      ...{ clientId: client.clientId, clientName: shorten(client.name), clientHost: host },
      ...{ audience: audienceOf(client.clientId), scopes, hubIds },
      redirectUri: wanted.redirect_uri ?? '',
      codeChallenge: wanted.code_challenge ?? '',
    },
    request.context,
  );
  return answer({ code });
}
