/** The Fastify app: the order of all checks, and the routes. It is complete and safe without an edge in front. */

import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Deadlines } from '@datahub/service-kit/call/call';
import { toHubError } from '@datahub/service-kit/call/error';
import { requireHeap } from '@datahub/service-kit/heap';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import { forAccount, goOn, goOnWith } from '@datahub/service-kit/yield-to-loop';
import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type AccessDeps, admitAgain, authenticate, authenticateAgain } from './access/authenticate.ts';
import type { GatewayConfig } from './config.ts';
import { type Bodies, createBodies, createBodyDrain, isIgnoredBody } from './http/bodies.ts';
import { createIdempotency, requireNoIdempotencyKey } from './http/idempotency.ts';
import { createListener, createMalformedResponse, listenerOptions } from './http/listener.ts';
import { createOpenBodies, type OpenBodies } from './http/open-bodies.ts';
import { problemHeaders, readHeaders, unstoredHeaders } from './http/problem-details.ts';
import { createQueryTargets } from './http/query-targets.ts';
import { RequestContext, requestIdOf } from './http/request-context.ts';
import { RequestError, validationError } from './http/request-error.ts';
import {
  createRouteCheck,
  isReading,
  type Route,
  refuseUnknown,
  requireRouteParameters,
  requireScope,
  takesIdempotencyKey,
} from './http/route.ts';
import { createBodyValidators } from './http/validation.ts';
import { createMcpRoute } from './mcp/mcp.ts';
import { registerOAuth } from './oauth/routes.ts';
import { consolePaths, registerConsole } from './open/console.ts';
import { openPaths, type Readiness, registerHealth } from './open/health.ts';
import { registerMailPage } from './open/mail-page.ts';
import { allowsSignIn, registerSignIn, type SignIn } from './open/sign-in.ts';
import { registerSignInRoutes } from './people/sign-in-routes.ts';
import { buildOpenApi } from './resources/openapi.ts';
import { createSignatures } from './resources/queries/signatures.ts';
import { createAnswerPlaces } from './response/answer-places.ts';
import { createCompression } from './response/compression.ts';
import { reportFailure, reportPart, sendProblem } from './response/error-handler.ts';
import { writeJson } from './response/json-splices.ts';
import { createRequestEnds } from './response/request-ends.ts';
import { createResponseBudget, limitUnread, type ResponseBudget } from './response/response-budget.ts';
import type { ResponseSettings } from './response/streamed-response.ts';
import { listRoutes } from './routes.ts';
import { importMediaTypes } from './rows/streamed-body.ts';
import { type GatewayEvents, startSpan } from './telemetry/events.ts';
import type { UsageCounter } from './telemetry/usage-counter.ts';
import type { Upstreams } from './upstreams.ts';

export interface AppDeps extends AccessDeps {
  upstreams: Upstreams;
  events: GatewayEvents;
  usage: Omit<UsageCounter, 'ran'>;
  tracing?: Tracing | undefined;
  readiness: Readiness;
  /** See `ResourceDeps`. */
  onWork?: (() => void) | undefined;
  /** Absent if the gateway is a process of its own. */
  signIn?: SignIn | undefined;
  /** The edge, which handles requests before the app. */
  inFront?: ((app: RequestListener) => RequestListener) | undefined;
}

const exposedHeaders =
  'x-datahub-unknown-context, x-truncated, x-more-results, age, cache-status, etag, link, x-total-count, retry-after, x-request-id, server-timing, ratelimit, ratelimit-policy, idempotency-replayed';
const allowedHeaders =
  'x-service-api-key, content-type, accept, if-match, if-none-match, cache-control, idempotency-key, x-request-id, traceparent, authorization, mcp-method, mcp-name, mcp-protocol-version';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
export async function createApp(config: GatewayConfig, deps: AppDeps): Promise<FastifyInstance> {
  const streaming = new WeakSet<Socket>();
  const app = Fastify({
    logger: false,
    connectionTimeout: 0,
    // A request on an open connection is answered during shutdown, and the connection is closed then.
    return503OnClosing: false,
    clientErrorHandler: createMalformedResponse(streaming),
    requestTimeout: listenerOptions.requestTimeout,
    keepAliveTimeout: listenerOptions.keepAliveTimeout,
    routerOptions: { maxParamLength: 256 },
    trustProxy: config.trustedProxies.length > 0 && config.trustedProxies,
    serverFactory: (listener) => createListener(deps.inFront?.(listener) ?? listener),
    genReqId: requestIdOf,
    exposeHeadRoutes: true,
    frameworkErrors: (err, _request, reply) => sendProblem(err, reply as FastifyReply, deps.events),
  });
  const bodies = createBodies({
    bodyBytesMax: config.bodyBytesMax,
    largeBodyBytesMax: config.largeBodyBytesMax,
    bytesMax: config.bodiesBytesMax,
    keyBytesMax: config.keyBodiesBytesMax,
    streaming,
  });
  const responseBudget = createResponseBudget({
    bytesMax: config.responsesBytesMax,
    keyBytesMax: config.keyResponsesBytesMax,
  });
  const openBodies = createOpenBodies();
  const drain = createBodyDrain();
  addRequestContext(app, { config, deps, bodies, openBodies, responseBudget, drain });
  app.setValidatorCompiler(createBodyValidators());
  await app.register(cors, {
    origin: config.corsOrigins.includes('*') ? '*' : config.corsOrigins,
    methods,
    allowedHeaders,
    maxAge: 86_400,
    strictPreflight: false,
    optionsSuccessStatus: 204,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', bodies.read);
  app.addContentTypeParser(importMediaTypes, bodies.stream);
  app.setErrorHandler(async (err, request, reply) => {
    if (!isIgnoredBody(request.raw)) drain(request.raw);
    // A service that goes away ends thousands of calls.
    await goOn();
    return sendProblem(err, reply, deps.events);
  });

  const targets = createQueryTargets(deps.upstreams.catalog);
  const settings: ResponseSettings = {
    ...{ targets, responseBudget, stallTimeoutMs: config.stallTimeoutMs },
    idempotency: createIdempotency({ ...deps.upstreams, ...config }),
    compression: createCompression({ enabled: config.compresses }),
    admit: (request, reply) => admitAgain(request, reply, deps),
    ...createFailures(deps, drain),
  };
  const signatures = createSignatures(deps.upstreams.executor);
  const routes = listRoutes({ ...deps, settings, signatures });
  const provider = hostOfProvider(config);
  registerHealth(app, deps.readiness, { openApi: () => buildOpenApi(routes), provider, ...settings });
  registerPages(app, config, { ...deps, openBodies });
  const mcp = createMcpRoute({ ...deps, settings, publicOrigin: deps.publicOrigin });
  await app.register(async (v1) => registerV1(v1, { routes: [...routes, mcp], settings, config, deps }));
  return app;
}

const createFailures = (
  { events }: AppDeps,
  drain: RequestOptions['drain'],
): Pick<ResponseSettings, 'failMidway' | 'failPart'> => ({
  failMidway: (err, request) => {
    drain(request.raw);
    return reportFailure(err, request, events).problem;
  },
  failPart: (err, request, pointers) => {
    const { hubError, problem } = reportPart(err, request, { events, pointersOf: () => pointers });
    return { problem, headers: problemHeaders(hubError) };
  },
});

const hostOfProvider = ({ oidc }: GatewayConfig) => oidc && URL.parse(oidc.issuer)?.host;

/** What browsers open without a key. */
function registerPages(
  app: FastifyInstance,
  config: GatewayConfig,
  deps: AppDeps & { openBodies: OpenBodies },
): void {
  registerConsole(app, { enabled: config.console });
  if (deps.signIn !== undefined && allowsSignIn(config))
    registerSignIn(app, { ...deps, signIn: deps.signIn });
  registerMailPage(app, deps);
  if (config.oidc !== undefined) registerSignInRoutes(app, config.oidc, deps);
  const provider = hostOfProvider(config);
  if (config.oauth !== undefined) registerOAuth(app, config.oauth, { ...deps, provider });
}

interface RequestOptions {
  config: GatewayConfig;
  deps: AppDeps;
  bodies: Bodies;
  openBodies: OpenBodies;
  responseBudget: ResponseBudget;
  drain: ReturnType<typeof createBodyDrain>;
}

function addMembers(app: FastifyInstance): void {
  app.decorateRequest('context');
  app.decorateRequest('parsed', undefined);
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('openBytes', 0);
  app.decorateRequest('responseBytes', 0);
  app.decorateRequest('operationId', undefined);
  app.decorateRequest('operationAttempt', undefined);
  app.decorateRequest('notesCommit', false);
  app.decorateRequest('failedWith', undefined);
  app.decorateRequest('failedPartly', false);
  app.decorateRequest('overheadMs', undefined);
  app.decorateRequest('disconnected', false);
  app.decorateRequest('isDone', false);
  app.decorateRequest('heldUntil', undefined);
  app.decorateRequest('createdId', undefined);
  app.decorateRequest('target', undefined);
  app.decorateRequest('use', undefined);
  app.decorateRequest('steps', undefined);
  app.decorateRequest('executed', undefined);
}

/** Adds the members of each request, the writer of responses, and the hooks that run for every path. */
function addRequestContext(
  app: FastifyInstance,
  { config, deps, bodies, openBodies, responseBudget, drain }: RequestOptions,
): void {
  app.setReplySerializer(writeJson);
  addMembers(app);
  const { requestTimeoutMs: timeoutMs, transferTimeoutMs: transferMs } = config;
  const deadlines = new Deadlines();
  const contextOptions = {
    timeoutMs,
    transferMs,
    deadlines,
    requireCaller: (request: FastifyRequest) => authenticateAgain(request, deps),
  };
  const ends = createRequestEnds({
    deadlines,
    answered: (request, reply) => {
      deps.events.answered(request, reply);
      deps.usage.answered(request, reply);
    },
    release: (request) => {
      bodies.release(request);
      openBodies.release(request);
      responseBudget.release(request);
    },
  });
  // Before the CORS plugin, which answers preflight requests.
  app.addHook('onRequest', (request, reply, done) => {
    request.context = new RequestContext(request, reply.raw, contextOptions);
    if (deps.tracing !== undefined) startSpan(request, deps.tracing);
    reply.header('x-request-id', request.id);
    if (isIgnoredBody(request.raw)) drain(request.raw);
    // The CORS plugin would also set this header on answers to requests without an Origin.
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposedHeaders);
    limitUnread(reply.raw, config.stallTimeoutMs);
    // Fastify does not call the hook onResponse if the connection closes before the answer is complete.
    reply.raw.on('close', () => {
      if (reply.raw.writableFinished) ends.closed(request, reply);
      // The client left, and what it has begun is cancelled. Many can leave at once.
      else goOnWith(() => ends.closed(request, reply));
    });
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    ends.done(request, reply);
    let held: unknown;
    try {
      held = responseBudget.hold(reply, payload);
    } catch (err) {
      return done(err as Error);
    }
    request.context.leavePlace();
    done(null, held);
  });
}

/** The order of checks: key, media type and size, scope, the budget of bodies, schema, then ownership. */
function registerV1(
  app: FastifyInstance,
  {
    routes,
    settings: { idempotency, compression, targets },
    config,
    deps,
  }: { routes: Route[]; settings: ResponseSettings; config: GatewayConfig; deps: AppDeps },
): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Answers belong to one account, and caches on the way ignore the header with the key.
    reply.headers(request.method === 'POST' ? unstoredHeaders : readHeaders);
    requireHeap('begin');
    proceed(authenticate(request, reply, deps), done);
  });
  const open = [...openPaths, ...(config.console ? consolePaths : [])];
  const known = [...routes, ...open.map((path) => ({ method: 'GET', path }))];
  const requireRoute = createRouteCheck(known);
  // This runs before Fastify reads the body of an unknown path.
  app.addHook('onRequest', (request, _reply, done) => {
    requireRoute(request);
    done();
  });
  app.addHook('onClose', async () => idempotency.close());
  app.addHook('preValidation', (request, _reply, done) => {
    requireScope(request);
    requireParts(request);
    requireNoIdempotencyKey(request);
    forAccount(request.context.principal?.accountId ?? '', done);
  });
  app.addHook('preHandler', (request, _reply, done) => {
    proceed(request.context.route?.executes ? targets.resolve(request) : undefined, done);
  });
  app.addHook('preHandler', (request, reply, done) => {
    const { route } = request.context;
    const applies = route !== undefined && takesIdempotencyKey(route) && !isReading(route);
    if (!applies || request.headers['idempotency-key'] === undefined) done();
    else idempotency.begin(request, reply).then((answered) => (answered ? undefined : done()), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.operationId === undefined) done();
    else {
      // The answer stays valid. The record stays open, and a repeat determines whether the first request succeeded.
      idempotency
        .finish(request, reply, { payload })
        .catch((err) => deps.events.failed(request, toHubError(err)))
        .then(() => done());
    }
  });
  app.setNotFoundHandler((request) => refuseUnknown(request, known));
  const waitingForPlace = createAnswerPlaces();
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      config: { route },
      handler: waitingForPlace(route),
      ...(route.body === undefined ? {} : { schema: { body: bodySchemaOf(route) } }),
      ...(route.compressed === true ? { onSend: compression.onSend } : {}),
      onRequest: (request, _reply, done) => {
        request.context.route = route;
        done();
      },
    });
  }
}

/** Ends a hook: at once if its check does not wait, because a promise would cost more than the check. */
function proceed(pending: void | Promise<void>, done: (err?: Error) => void): void {
  if (pending instanceof Promise) pending.then(() => done(), done);
  else done();
}

/** A streamed body has no schema. */
const bodySchemaOf = ({ body, imports }: Route) =>
  imports ? { content: { 'application/json': { schema: body } } } : body;

function requireParts(request: FastifyRequest): void {
  requireRouteParameters(request);
  requireBody(request);
}

/** Refuses a missing body, or null, with a plainer sentence than the validator's. */
function requireBody(request: FastifyRequest): void {
  if (request.body !== undefined && request.body !== null) return;
  const { route } = request.context;
  request.body = {};
  if (route?.body === undefined) return;
  if (request.parsed !== undefined) throw validationError([{ pointer: '', detail: 'must be an object' }]);
  if (route.bodyOptional) return;
  throw new RequestError('Send a JSON body.', [{ pointer: '', detail: 'is missing' }]);
}
