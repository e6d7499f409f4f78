/** The Fastify app: request id, key, limits, scope, validation, routes, problems. Complete and safe without an edge in front. */

import { createServer, type RequestListener } from 'node:http';
import { HubError, outcomeUnknown, toHubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Admission, authenticate, requireScope } from './access/authenticate.ts';
import type { GatewayConfig } from './config.ts';
import { createBodies } from './http/bodies.ts';
import { createBodyValidators } from './http/body-validator.ts';
import { createIdempotency, type Idempotency } from './http/idempotency.ts';
import { answerBroken, refuseExpectation, requireHost } from './http/malformed-requests.ts';
import { problemHeaders, toProblem, unstoredHeaders } from './http/problem-details.ts';
import { createRefusedBodies, isIgnoredBody } from './http/refused-bodies.ts';
import { RequestContext, requestIdOf } from './http/request-context.ts';
import { RequestError, validationError } from './http/validation-errors.ts';
import { consolePaths, registerConsole } from './routes/console.ts';
import { openPaths, type Readiness, registerHealth } from './routes/health.ts';
import { buildOpenApi } from './routes/openapi.ts';
import { listRoutes, type Route, takesIdempotencyKey } from './routes/table.ts';
import type { GatewayEvents } from './telemetry/events.ts';
import { endSpan, startSpan } from './telemetry/traces.ts';
import type { Usage } from './telemetry/usage-counter.ts';
import type { Upstreams } from './upstreams.ts';

export interface AppDeps extends Admission {
  upstreams: Upstreams;
  events: GatewayEvents;
  usage: Usage;
  tracing?: Tracing | undefined;
  readiness: Readiness;
  /** What requests pass before the app. */
  inFront?: ((app: RequestListener) => RequestListener) | undefined;
}

const exposedHeaders =
  'x-datahub-unknown-context, etag, link, x-total-count, retry-after, x-request-id, server-timing, ratelimit, ratelimit-policy';
const allowedHeaders =
  'x-service-api-key, content-type, accept, if-match, idempotency-key, x-request-id, traceparent';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
/** The listener's bounds on headers, slow senders and idle connections, with or without an edge in front. */
const http = {
  maxHeaderSize: 16_384,
  headersTimeout: 14_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  // How late a bound may be found to be passed; by default that is half a minute.
  connectionsCheckingInterval: 1_000,
  // See `requireHost`.
  requireHostHeader: false,
};

export async function createApp(config: GatewayConfig, deps: AppDeps): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    connectionTimeout: 0,
    // What comes on a kept connection while the process drains is answered like any other, and the connection then closed.
    return503OnClosing: false,
    clientErrorHandler: answerBroken,
    requestTimeout: http.requestTimeout,
    keepAliveTimeout: http.keepAliveTimeout,
    routerOptions: { maxParamLength: 256 },
    trustProxy: config.trustedProxies.length > 0 && config.trustedProxies,
    serverFactory: (listener) =>
      createServer(http, requireHost(deps.inFront?.(listener) ?? listener)).on(
        'checkExpectation',
        refuseExpectation,
      ),
    genReqId: requestIdOf,
    exposeHeadRoutes: true,
    frameworkErrors: (err, request, reply) => sendProblem(deps, request, reply as FastifyReply, err),
  });
  app.decorateRequest('context', null as never);
  app.decorateRequest('parsed', undefined);
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('operationId', undefined);
  app.decorateRequest('failedWith', undefined);
  app.decorateRequest('left', false);
  app.decorateRequest('madeId', undefined);
  const refused = createRefusedBodies();
  const bodies = createBodies({
    bytesMax: config.bodiesBytesMax,
    keyBytesMax: config.keyBodiesBytesMax,
  });
  const over = (request: FastifyRequest, reply: FastifyReply) => {
    deps.events.answered(request, reply);
    deps.usage.answered(request, reply);
    endSpan(request, reply);
  };
  // Before CORS, which answers preflights by itself.
  app.addHook('onRequest', (request, reply, done) => {
    request.context = new RequestContext(request, {
      response: reply.raw,
      timeoutMs: config.requestTimeoutMs,
    });
    if (deps.tracing !== undefined) startSpan(request, deps.tracing);
    reply.header('x-request-id', request.id);
    if (isIgnoredBody(request.raw)) refused(request.raw);
    // The plugin would send it to those as well who do not come from a page.
    if (request.headers.origin !== undefined) reply.header('access-control-expose-headers', exposedHeaders);
    // Not onResponse, which never comes by where an answer breaks off.
    reply.raw.on('close', () => {
      request.context.closed();
      bodies.release(request);
      if (reply.sent) over(request, reply);
      else request.left = true;
    });
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.left) over(request, reply);
    request.left = false;
    done();
  });
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
  app.setErrorHandler((err, request, reply) => {
    if (!isIgnoredBody(request.raw)) refused(request.raw);
    return sendProblem(deps, request, reply, err);
  });

  const idempotency = createIdempotency(deps.upstreams.catalog);
  const routes = listRoutes(deps.upstreams, { stallTimeoutMs: config.stallTimeoutMs, idempotency });
  registerHealth(app, deps.readiness, () => buildOpenApi(routes));
  registerConsole(app, { enabled: config.console });
  await app.register(async (v1) => registerV1(v1, { routes, idempotency, config, deps }));
  return app;
}

/** The order of checks: key, media type and size, scope, the budget of bodies, schema, then ownership. */
function registerV1(
  app: FastifyInstance,
  {
    routes,
    idempotency,
    config,
    deps,
  }: { routes: Route[]; idempotency: Idempotency; config: GatewayConfig; deps: AppDeps },
): void {
  // Not async: most checks need no wait, and a promise for each would cost more than they do.
  app.addHook('onRequest', (request, reply, done) => {
    // An answer is one account's alone, and caches on the way do not look at the header of the key.
    reply.headers(unstoredHeaders);
    const pending = authenticate(request, reply, deps);
    if (pending instanceof Promise) pending.then(() => done(), done);
    else done();
  });
  const open = [...openPaths, ...(config.console ? consolePaths : [])];
  const known = [...routes, ...open.map((url) => ({ method: 'GET', url }))];
  // Before the framework asks what is unknown for a body.
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
      // The answer is true all the same. The record stays open: a repeat finds out what became of the first one.
      idempotency
        .finish(request, reply, payload)
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
    ...(route.body === undefined ? {} : { schema: { body: route.body } }),
    config: {
      scope: route.scope,
      idempotent: takesIdempotencyKey(route) && route.reads !== true,
      reads: route.method === 'GET' || route.reads === true,
      settledBy: route.settledBy,
      executes: route.executes === true,
      counted: route.counted,
      pointers: route.pointers,
      secretAnswer: route.secretAnswer === true,
      bodyOptional: route.bodyOptional === true,
      bodyBytesMax: route.largeBody ? largeBodyBytesMax : bodyBytesMax,
    },
  };
}

/** A missing body, or one that is null, said in a plain sentence rather than the validator's. */
function requireBody(request: FastifyRequest): void {
  if (request.body !== undefined && request.body !== null) return;
  const { schema, config } = request.context.route;
  request.body = {};
  if (schema?.body === undefined) return;
  if (request.parsed !== undefined) throw validationError([{ pointer: '', detail: 'must be an object' }]);
  if (config.bodyOptional) return;
  throw new RequestError('This needs a JSON body.', [{ pointer: '', detail: 'is missing' }]);
}

function refuseUnknown(request: FastifyRequest, known: { method: string; url: string }[]): never {
  const path = request.url.split('?', 1)[0] as string;
  const allowed = known.filter(({ url }) => matches(url, path)).map(({ method }) => method);
  if (allowed.length === 0)
    throw new HubError('NOT_FOUND', 'There is no such path. /openapi.json lists them all.');
  if (allowed.includes('GET')) allowed.push('HEAD');
  const list = [...new Set([...allowed, 'OPTIONS'])].join(', ');
  throw Object.assign(new HubError('METHOD_NOT_ALLOWED', `This path takes ${list}.`), { allow: list });
}

function matches(url: string, path: string): boolean {
  const [pattern, parts] = [url.split('/'), path.split('/')];
  return (
    pattern.length === parts.length &&
    pattern.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  );
}

function sendProblem(
  deps: AppDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  err: unknown,
): FastifyReply {
  const thrown = fromFramework(err);
  // Only what has a route has been handed on to a service.
  const changes = request.context?.route.url !== undefined && request.context.route.config.reads !== true;
  const hubError = thrown.lost && changes ? outcomeUnknown(thrown) : thrown;
  request.failedWith = hubError.code;
  deps.events.failed(request, hubError);
  const problem = toProblem(hubError, {
    path: request.url.split('?', 1)[0] as string,
    id: request.id,
    pointers: hubError.errors && request.context.route.config.pointers?.(request.body),
  });
  const { allow } = hubError as HubError & { allow?: string };
  if (reply.hasHeader('connection')) readOn(reply);
  return reply
    .code(problem.status)
    .headers({
      'x-request-id': request.id,
      ...problemHeaders(hubError),
      ...(allow === undefined ? {} : { allow }),
    })
    .send(JSON.stringify(problem));
}

/** Fastify closes the connection of a body that it refuses; here the body is read to its end, see `createRefusedBodies`. */
function readOn(reply: FastifyReply): void {
  const { raw } = reply;
  if (raw.shouldKeepAlive && !raw.hasHeader('connection')) reply.header('connection', 'keep-alive');
}

/** Fastify's own refusals in our words. */
function fromFramework(err: unknown): HubError {
  if (err instanceof HubError) return err;
  const { code, statusCode } = err as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
  }
  if (statusCode === 414 || code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new HubError('NOT_FOUND', 'There is no such thing.');
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new HubError('VALIDATION', 'The request is malformed.', { cause: err });
  }
  return toHubError(err);
}
