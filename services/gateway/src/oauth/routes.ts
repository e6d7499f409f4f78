/** The routes of the authorization server. They need no key by header. */

import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressOf } from '../access/authenticate.ts';
import { formType, type OpenBodies, parseForm } from '../http/open-bodies.ts';
import { unstoredHeaders } from '../http/problem-details.ts';
import { pathOf } from '../http/route.ts';
import { reportFailure } from '../response/error-handler.ts';
import type { GatewayEvents } from '../telemetry/events.ts';
import { type AuthorizeDeps, createAuthorize } from './authorize.ts';
import { registerMetadata } from './metadata.ts';
import { errorContent, sendPage } from './pages.ts';
import type { OAuthSettings } from './settings.ts';
import { createTokenHandlers, registerClient, sendOAuthError, toOAuthError } from './tokens.ts';

export interface OAuthDeps extends AuthorizeDeps {
  events: GatewayEvents;
  openBodies: OpenBodies;
}

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function registerOAuth(app: FastifyInstance, settings: OAuthSettings, deps: OAuthDeps): void {
  registerMetadata(app, settings);
  const { show, decide } = createAuthorize(settings, deps);
  const { issue, revoke } = createTokenHandlers(settings, deps);
  /** An address that was refused too often waits. */
  const guarded =
    (
      handler: Answer,
      fail: (err: unknown, request: FastifyRequest, reply: FastifyReply) => unknown,
    ): Answer =>
    async (request, reply) => {
      reply.headers(unstoredHeaders);
      try {
        deps.rateLimiter.requireFewRefusals(addressOf(request), 'random');
        return await handler(request, reply);
      } catch (err) {
        const failed = toHubError(err);
        if (failed.retryAfterMs !== undefined)
          reply.header('retry-after', Math.ceil(failed.retryAfterMs / 1_000));
        return fail(err, request, reply);
      }
    };
  const asPage = (handler: Answer): Answer =>
    guarded(handler, (err, request, reply) => {
      const { problem } = reportFailure(err, request, deps.events);
      const { status, detail } = problem;
      return sendPage(reply, { status, heading: 'This did not work', content: errorContent(detail) });
    });
  const asJson = (handler: Answer): Answer =>
    guarded(handler, (err, request, reply) => {
      const { hubError } = reportFailure(err, request, deps.events);
      return sendOAuthError(reply, toOAuthError(hubError, pathOf(request)));
    });
  void app.register(async (routes) => {
    routes.removeAllContentTypeParsers();
    routes.addContentTypeParser(formType, deps.openBodies.as(parseForm));
    routes.addContentTypeParser('application/json', deps.openBodies.as(parseJson));
    routes.get('/oauth/authorize', asPage(show));
    routes.post('/oauth/authorize', asPage(decide));
    routes.post('/oauth/token', asJson(issue));
    routes.post('/oauth/revoke', asJson(revoke));
    const register: Answer = (request, reply) => registerClient(request, reply, deps.upstreams);
    if (settings.registration) routes.post('/oauth/register', asJson(register));
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new HubError('VALIDATION', 'The body is not JSON.', { cause: err });
  }
}
