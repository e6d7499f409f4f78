/** The Fastify app: the order of all checks, and the routes. It is complete and safe without an edge in front. */

import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Deadlines } from '@datahub/service-kit/call/deadlines';
import { toHubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type AccessDeps, authenticate, requireScope } from './access/authenticate.ts';
import { allowsSignIn, registerSignIn, type SignIn } from './access/sign-in.ts';
import { createCompression } from './answers/compression.ts';
import type { AnswerSettings } from './answers/streamed-answer.ts';
import type { GatewayConfig } from './config.ts';
import { type Bodies, createBodies, createBodyDrain, isIgnoredBody } from './http/bodies.ts';
import { refuseUnknown, reportFailure, sendProblem } from './http/error-handler.ts';
import { createIdempotency } from './http/idempotency.ts';
import { createListener, createMalformedAnswer, listenerOptions } from './http/listener.ts';
import { readHeaders, unstoredHeaders } from './http/problem-details.ts';
import { RequestContext, requestIdOf } from './http/request-context.ts';
import { RequestError, validationError } from './http/request-error.ts';
import { createBodyValidators } from './http/validation.ts';
import { importMediaTypes } from './routes/classifiers/import.ts';
import { consolePaths, registerConsole } from './routes/console.ts';
import { openPaths, type Readiness, registerHealth } from './routes/health.ts';
import { buildOpenApi } from './routes/openapi.ts';
import { countedAs, listRoutes, type Route, takesIdempotencyKey } from './routes/table.ts';
import { type GatewayEvents, startSpan } from './telemetry/events.ts';
import type { UsageCounter } from './telemetry/usage-counter.ts';
import type { Upstreams } from './upstreams.ts';

export interface AppDeps extends AccessDeps {
  upstreams: Upstreams;
  events: GatewayEvents;
  usage: UsageCounter;
  tracing?: Tracing | undefined;
  readiness: Readiness;
  /** Absent if the gateway is a process of its own. */
  signIn?: SignIn | undefined;
  /** The edge, which handles requests before the app. */
  inFront?: ((app: RequestListener) => RequestListener) | undefined;
}

const exposedHeaders =
  'x-datahub-unknown-context, x-truncated, age, cache-status, etag, link, x-total-count, retry-after, x-request-id, server-timing, ratelimit, ratelimit-policy';
const allowedHeaders =
  'x-service-api-key, content-type, accept, if-match, if-none-match, cache-control, idempotency-key, x-request-id, traceparent';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
export async function createApp(config: GatewayConfig, deps: AppDeps): Promise<FastifyInstance> {
  const streaming = new WeakSet<Socket>();
  const app = Fastify({
    logger: false,
    connectionTimeout: 0,
    // A request on an open connection is answered during shutdown, and the connection is closed then.
    return503OnClosing: false,
    clientErrorHandler: createMalformedAnswer(streaming),
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
    bytesMax: config.bodiesBytesMax,
    keyBytesMax: config.keyBodiesBytesMax,
    streaming,
  });
  const drain = createBodyDrain();
  addRequestContext(app, { config, deps, bodies, drain });
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
  app.setErrorHandler((err, request, reply) => {
    if (!isIgnoredBody(request.raw)) drain(request.raw);
    return sendProblem(err, reply, deps.events);
  });

  const settings: AnswerSettings = {
    stallTimeoutMs: config.stallTimeoutMs,
    idempotency: createIdempotency(deps.upstreams.catalog),
    compression: createCompression({ enabled: config.compresses }),
    failMidway: (err, request) => {
      drain(request.raw);
      return reportFailure(err, request, deps.events).problem;
    },
  };
  const routes = listRoutes(deps.upstreams, settings);
  registerHealth(app, deps.readiness, { openApi: () => buildOpenApi(routes), ...settings });
  registerConsole(app, { enabled: config.console });
  if (deps.signIn !== undefined && allowsSignIn(config))
    registerSignIn(app, { ...deps, signIn: deps.signIn });
  await app.register(async (v1) => registerV1(v1, { routes, settings, config, deps }));
  return app;
}

interface RequestOptions {
  config: GatewayConfig;
  deps: AppDeps;
  bodies: Bodies;
  drain: ReturnType<typeof createBodyDrain>;
}

/** Adds the members of each request, and the hooks that run for every path. */
function addRequestContext(app: FastifyInstance, { config, deps, bodies, drain }: RequestOptions): void {
  app.decorateRequest('context', null as never);
  app.decorateRequest('parsed', undefined);
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('operationId', undefined);
  app.decorateRequest('failedWith', undefined);
  app.decorateRequest('disconnected', false);
  app.decorateRequest('createdId', undefined);
  const contextOptions = { timeoutMs: config.requestTimeoutMs, deadlines: new Deadlines() };
  const answered = (request: FastifyRequest, reply: FastifyReply) => {
    deps.events.answered(request, reply);
    deps.usage.answered(request, reply);
  };
  // Before the CORS plugin, which answers preflight requests.
  app.addHook('onRequest', (request, reply, done) => {
    request.context = new RequestContext(request, reply.raw, contextOptions);
    if (deps.tracing !== undefined) startSpan(request, deps.tracing);
    reply.header('x-request-id', request.id);
    if (isIgnoredBody(request.raw)) drain(request.raw);
    // The CORS plugin would also set this header on answers to requests without an Origin.
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposedHeaders);
    // Fastify does not call the hook onResponse if the connection closes before the answer is complete.
    reply.raw.on('close', () => {
      request.context.closed();
      bodies.release(request);
      if (reply.sent) answered(request, reply);
      else request.disconnected = true;
    });
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.disconnected) answered(request, reply);
    request.disconnected = false;
    done();
  });
}

/** The order of checks: key, media type and size, scope, the budget of bodies, schema, then ownership. */
function registerV1(
  app: FastifyInstance,
  {
    routes,
    settings: { idempotency, compression },
    config,
    deps,
  }: { routes: Route[]; settings: AnswerSettings; config: GatewayConfig; deps: AppDeps },
): void {
  // The hooks are not async: most checks do not wait, and a promise would cost more than the check.
  app.addHook('onRequest', (request, reply, done) => {
    // Answers belong to one account, and caches on the way ignore the header with the key.
    reply.headers(request.method === 'POST' ? unstoredHeaders : readHeaders);
    const pending = authenticate(request, reply, deps);
    if (pending instanceof Promise) pending.then(() => done(), done);
    else done();
  });
  const open = [...openPaths, ...(config.console ? consolePaths : [])];
  const known = [...routes, ...open.map((url) => ({ method: 'GET', url }))];
  // This runs before Fastify reads the body of an unknown path.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) refuseUnknown(request, known);
    done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    requireScope(request);
    requireBody(request);
    done();
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (!request.context.route.config.idempotent || request.headers['idempotency-key'] === undefined) done();
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
  for (const route of routes) {
    const described = toKnown(route, config);
    app.route({
      ...described,
      method: route.method,
      handler: route.handler,
      ...(route.compressed === true ? { onSend: compression.onSend } : {}),
      onRequest: (request, _reply, done) => {
        request.context.route = described;
        done();
      },
    });
  }
}

function toKnown(route: Route, { bodyBytesMax, largeBodyBytesMax }: GatewayConfig) {
  return {
    url: route.url,
    ...(route.body === undefined ? {} : { schema: { body: bodySchemaOf(route) } }),
    config: {
      scope: route.scope,
      idempotent: takesIdempotencyKey(route) && route.reads !== true,
      reads: route.method === 'GET' || route.reads === true,
      settledBy: route.settledBy,
      executes: route.executes === true,
      counted: countedAs(route),
      pointers: route.pointers,
      secretAnswer: route.secretAnswer === true,
      bodyOptional: route.bodyOptional === true,
      imports: route.imports === true,
      bodyBytesMax: route.largeBody ? largeBodyBytesMax : bodyBytesMax,
    },
  };
}

/** A streamed body has no schema. */
const bodySchemaOf = ({ body, imports }: Route) =>
  imports ? { content: { 'application/json': { schema: body } } } : body;

/** Refuses a missing body, or null, with a plainer sentence than the validator's. */
function requireBody(request: FastifyRequest): void {
  if (request.body !== undefined && request.body !== null) return;
  const { schema, config } = request.context.route;
  request.body = {};
  if (schema?.body === undefined) return;
  if (request.parsed !== undefined) throw validationError([{ pointer: '', detail: 'must be an object' }]);
  if (config.bodyOptional) return;
  throw new RequestError('Send a JSON body.', [{ pointer: '', detail: 'is missing' }]);
}
