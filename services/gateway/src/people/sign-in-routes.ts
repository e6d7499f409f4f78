/** Where browsers sign in and out, and where the provider says whom it signed out. */

import { hashApiKey, isPossibleKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import { loadOnce } from '@datahub/service-kit/load-once';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressOf, type KeyCache } from '../access/authenticate.ts';
import type { RateLimiter } from '../access/rate-limiter.ts';
import { formType, type OpenBodies, parseForm } from '../http/open-bodies.ts';
import { unstoredHeaders } from '../http/problem-details.ts';
import { reportFailure } from '../response/error-handler.ts';
import { escaped, pageHeaders, plainPage } from '../response/plain-page.ts';
import type { GatewayEvents } from '../telemetry/events.ts';
import type { Upstreams } from '../upstreams.ts';
import {
  clearCookies,
  hintCookie,
  isFromOwnPage,
  readCookie,
  sessionCookie,
  setCookie,
  stateCookie,
} from './cookies.ts';
import type { OidcSettings } from './oidc-settings.ts';
import type { SignInState } from './provider.ts';
import { toSignIn } from './refresh-tokens.ts';
import { createWaitingPlaces } from './waiting-places.ts';

export interface SignInRouteDeps {
  upstreams: Pick<Upstreams, 'catalog'>;
  keyCache: Pick<KeyCache, 'forget'>;
  rateLimiter: RateLimiter;
  events: GatewayEvents;
  openBodies: OpenBodies;
}

/** How long a person may take at the provider. */
const stateS = 600;
/** Of the strings that the hub makes for a sign-in. */
const randomMax = 128;
/** How many requests wait for the provider at a time. A provider can sign many people out at once, from one address. */
const waiting = {
  signIns: { max: 128, ofNetworkMax: 32 },
  logouts: { max: 256, ofNetworkMax: 128 },
};
/** Where a sign-in leads back to: a page of the console, or the consent to an agent. */
const target = /^(#[\x21-\x7e]{0,2000}|oauth\/authorize\?[\x21-\x7e]{0,2000})$/;

interface Begun extends SignInState {
  to: string;
}

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function registerSignInRoutes(
  app: FastifyInstance,
  settings: OidcSettings,
  deps: SignInRouteDeps,
): void {
  const { login, callback, logout, endAtProvider } = createHandlers(settings, deps);
  /** Counts what is refused, as keys that are refused. */
  const guarded =
    (handler: Answer): Answer =>
    async (request, reply) => {
      reply.headers(unstoredHeaders);
      deps.rateLimiter.requireFewRefusals(addressOf(request), 'random');
      try {
        return await handler(request, reply);
      } catch (err) {
        if (err instanceof HubError && err.code === 'KEY_INVALID') {
          if (err.cause instanceof Error) deps.events.signInRefused(request, err.cause.message);
          await deps.rateLimiter.noteRefusedKey(addressOf(request), 'random');
        }
        throw err;
      }
    };
  /** For browsers that navigate here. */
  const asPage = (handler: Answer): Answer => {
    const answer = guarded(handler);
    return async (request, reply) => {
      try {
        return await answer(request, reply);
      } catch (err) {
        const { problem } = reportFailure(err, request, deps.events);
        return reply.code(problem.status).headers(headersOfPage).send(pageOf(problem.detail));
      }
    };
  };
  void app.register(async (pages) => {
    pages.removeAllContentTypeParsers();
    pages.addContentTypeParser(formType, deps.openBodies.as(parseForm));
    pages.get('/auth/login', asPage(login));
    pages.get('/auth/callback', asPage(callback));
    pages.post('/auth/logout', guarded(logout));
    pages.post('/auth/backchannel-logout', guarded(endAtProvider));
  });
}

function createHandlers(settings: OidcSettings, { upstreams: { catalog }, keyCache }: SignInRouteDeps) {
  const { publicOrigin, account } = settings;
  const provider = loadOnce(async () => (await import('./provider.ts')).createProvider(settings));
  const signIns = createWaitingPlaces(waiting.signIns);
  const logouts = createWaitingPlaces(waiting.logouts);
  const endSession = async (request: FastifyRequest): Promise<void> => {
    const secret = readCookie(request.headers, sessionCookie);
    if (secret === undefined || !isPossibleKey(secret)) return;
    const hash = hashApiKey(secret);
    await catalog.endSignIns({ keySha256: Buffer.from(hash, 'hex'), provider: undefined }, request.context);
    keyCache.forget(hash);
  };
  return {
    login: async (request, reply) => {
      const { to = '' } = request.query as { to?: unknown };
      const asked = signIns.hold(addressOf(request), async () => (await provider()).begin());
      const { url, state } = await asked;
      const begun: Begun = { ...state, to: typeof to === 'string' && target.test(to) ? to : '' };
      const text = Buffer.from(JSON.stringify(begun)).toString('base64url');
      setCookie(reply, `${stateCookie}=${text}`, { maxAgeS: stateS });
      return reply.redirect(url.href, 303);
    },

    callback: async (request, reply) => {
      const begun = readBegun(readCookie(request.headers, stateCookie));
      const { state } = request.query as { state?: unknown };
      // Another tab may have begun the sign-in of the cookie, which it can still end.
      if (begun === undefined || begun.state !== state)
        throw new HubError(
          'KEY_INVALID',
          'This browser began no sign-in, or it took too long, or another tab began one later. Begin it again.',
        );
      const person = await signIns.hold(addressOf(request), async () => {
        clearCookies(reply, [stateCookie]);
        return (await provider()).complete(request.url, begun);
      });
      const made = await catalog.signIn(toSignIn(person, settings, Date.now()), request.context);
      // Who signs in again has no use for the session before.
      await endSession(request);
      const maxAgeS = Math.floor(((made.expiresAt?.getTime() ?? 0) - Date.now()) / 1_000);
      setCookie(reply, `${sessionCookie}=${made.secret}`, { maxAgeS });
      setCookie(reply, `${hintCookie}=1`, { maxAgeS, isOpen: true });
      return reply.redirect(`${publicOrigin}/${begun.to}`, 303);
    },

    logout: async (request, reply) => {
      if (!isFromOwnPage(request, publicOrigin))
        throw new HubError('SCOPE_DENIED', 'Only a page of this hub can sign out.');
      await endSession(request);
      clearCookies(reply, [sessionCookie, hintCookie]);
      return {};
    },

    endAtProvider: async (request) => {
      if (!(request.body instanceof URLSearchParams))
        throw new HubError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${formType}.`);
      const token = request.body.get('logout_token') ?? '';
      const named = await logouts.hold(addressOf(request), async () => (await provider()).readLogout(token));
      const ended = { ...named, account };
      await catalog.endSignIns({ keySha256: undefined, provider: ended }, request.context);
      return {};
    },
  } satisfies Record<string, Answer>;
}

function readBegun(cookie: string | undefined): Begun | undefined {
  try {
    const begun = JSON.parse(Buffer.from(cookie ?? '', 'base64url').toString());
    const isOfHub = ['state', 'nonce', 'verifier'].every(
      (name) => typeof begun[name] === 'string' && begun[name].length <= randomMax,
    );
    return isOfHub && (begun.to === '' || target.test(begun.to)) ? begun : undefined;
  } catch {
    return undefined;
  }
}

const headersOfPage = pageHeaders("'none'");

const pageOf = (message: string): string =>
  plainPage({
    title: 'Sign in to the Data Hub',
    heading: 'You are not signed in',
    content: `<p>${escaped(message)}</p><p><a href="/">Back to the Data Hub</a></p>`,
  });
