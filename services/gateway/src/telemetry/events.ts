/** The typed events of the gateway. Log lines, metrics and spans are made from them here and nowhere else. */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { errorCodes, type HubError, unexpectedOf } from '@datahub/service-kit/call/error';
import { DurationHistogram, type DurationSeries } from '@datahub/service-kit/telemetry/duration-histogram';
import { createThrottle } from '@datahub/service-kit/telemetry/log-throttle';
import { type Logger, logPlainLine } from '@datahub/service-kit/telemetry/logger';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { kinds, originOf } from '../http/problem-details.ts';

export interface GatewayEvents {
  /** Call this when the answer is complete or its connection has closed. Ends the span of the request. */
  answered(request: FastifyRequest, reply: FastifyReply): void;
  failed(request: FastifyRequest, err: HubError): void;
  /** The provider did not confirm a sign-in. Its reason is logged now and then. */
  signInRefused(request: FastifyRequest, reason: string): void;
  /** In Prometheus' text format. */
  metrics(): Promise<string>;
}

/** The data that all requests with the same method, route and status share. */
interface RequestKind {
  method: string;
  status: number;
  text: string;
  log: Logger;
  /** One logger for each caller, so that its ids are serialized once. */
  logs: WeakMap<Principal, Logger>;
  durations: DurationSeries;
}

export function createGatewayEvents(logger: Logger): GatewayEvents {
  const registry = new Registry();
  const requests = new DurationHistogram({
    name: 'datahub_http_request_duration_seconds',
    help: 'Duration of requests by method, route and status.',
  });
  const overhead = createOverhead();
  const problems = createProblems(registry);

  const kindOf = createKinds(requests, logger);
  const mayLogRefusal = createThrottle(refusalEveryMs);

  return {
    metrics: async () => (await registry.metrics()) + requests.text() + overhead.text(),

    answered: (request, reply) => {
      endSpan(request, reply);
      const kind = kindOf(request, reply);
      const { principal, requestId, traceparent, startedAt } = request.context;
      const elapsedMs = performance.now() - startedAt;
      kind.durations.observe(elapsedMs);
      if (request.overheadMs !== undefined) overhead.observe(request.overheadMs);
      const log = principal === undefined ? kind.log : logFor(kind, principal);
      if (!log.isLevelEnabled('info')) return;
      const line = { requestId, durationMs: Math.round(elapsedMs * 100) / 100 };
      const broken = brokenOff(request, reply);
      if (traceparent === undefined && broken === undefined) logPlainLine(log, line, kind.text);
      else log.info({ ...line, traceId: traceparent?.slice(3, 35), ...broken }, kind.text);
    },

    failed: (request, err) => {
      problems.inc({ code: err.code, origin: originOf(err) });
      if (kinds[err.code].status < 500) return;
      logger.warn(
        {
          event: 'http.problem',
          requestId: request.id,
          traceId: request.context?.traceparent?.slice(3, 35),
          code: err.code,
          stage: err.stage,
          cause: describe(err),
        },
        err.message,
      );
    },

    signInRefused: (request, cause) => {
      if (!mayLogRefusal()) return;
      const line = { event: 'sign-in.refused', requestId: request.id, cause };
      logger.warn(line, 'the provider did not confirm a sign-in');
    },
  };
}

/** Anybody can have sign-ins refused. */
const refusalEveryMs = 10_000;

/** Counts start at 0, so that a rate includes the first problem of a code. */
function createProblems(registry: Registry): Counter<'code' | 'origin'> {
  const problems = new Counter({
    name: 'datahub_http_problems_total',
    help: 'Problem answers by error code, and by who they count against: client, source or hub.',
    labelNames: ['code', 'origin'],
    registers: [registry],
  });
  for (const code of errorCodes) problems.inc({ code, origin: originOf({ code, stage: undefined }) }, 0);
  return problems;
}

function createOverhead() {
  const histogram = new DurationHistogram({
    name: 'datahub_execution_overhead_seconds',
    help: 'The time until the head of an answer to an execution, without queue, connect and database.',
    bucketsMs: [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500],
  });
  const series = histogram.series({ service: 'gateway' });
  return { observe: (ms: number) => series.observe(ms), text: () => histogram.text() };
}

/** Why an answer that began with 200 did not end well: it was cut off, or its last line is a problem. */
function brokenOff({ failedWith }: FastifyRequest, { raw }: FastifyReply): { brokenOff: string } | undefined {
  if (!raw.writableFinished) return { brokenOff: failedWith ?? 'CANCELLED' };
  return raw.statusCode === 200 && failedWith !== undefined ? { brokenOff: failedWith } : undefined;
}

/** Returns a function that finds the kind of a request. Each kind is created once, because there are few. */
function createKinds(requests: DurationHistogram, logger: Logger) {
  /** Kinds by route. Unknown paths have no route. */
  const byRoute = new Map<string | undefined, RequestKind[]>();
  return (request: FastifyRequest, reply: FastifyReply): RequestKind => {
    const url = request.context.path;
    const { method } = request;
    const { statusCode: status } = reply.raw;
    let kinds = byRoute.get(url);
    if (kinds === undefined) {
      kinds = [];
      byRoute.set(url, kinds);
    }
    let kind = kinds.find((one) => one.status === status && one.method === method);
    if (kind === undefined) {
      const route = url ?? 'unknown';
      const text = `${method} ${route} ${status}`;
      const durations = requests.series({ method, route, status: String(status) });
      const log = logger.child({ event: 'http.request', method, route, status });
      kind = { method, status, text, log, logs: new WeakMap(), durations };
      kinds.push(kind);
    }
    return kind;
  };
}

function logFor({ log, logs }: RequestKind, principal: Principal): Logger {
  const known = logs.get(principal);
  if (known !== undefined) return known;
  const made = log.child({ keyId: principal.keyId, accountId: principal.accountId });
  logs.set(principal, made);
  return made;
}

/**
 * The stack of an unexpected error, or the message if a service is unreachable. Other causes may name hosts and users.
 */
function describe(err: HubError): string | undefined {
  if (err.code === 'UNAVAILABLE' && err.cause instanceof Error) return err.cause.message;
  const unexpected = unexpectedOf(err);
  return unexpected instanceof Error ? unexpected.stack : undefined;
}

/** Starts the span of a request. Probes and unknown paths have none. */
export function startSpan(request: FastifyRequest, tracing: Tracing): void {
  const { context, method } = request;
  const route = request.context.path;
  if (route === undefined || !(route.startsWith('/v1/') || route === '/mcp')) return;
  context.span = tracing.start(`${method} ${route}`, {
    parent: context.traceparent,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'url.scheme': 'http',
      'datahub.request.id': context.requestId,
    },
  });
  context.traceparent = context.span.traceparent;
}

function endSpan(request: FastifyRequest, reply: FastifyReply): void {
  const { span, principal } = request.context ?? {};
  if (span === undefined) return;
  const { statusCode } = reply.raw;
  const key = principal === undefined ? {} : { 'datahub.key.id': principal.keyId };
  // An interrupted stream has the status 200.
  const failed = statusCode >= 500 || brokenOff(request, reply) !== undefined;
  span.end({
    attributes: { 'http.response.status_code': statusCode, ...key },
    error: failed ? (request.failedWith ?? String(statusCode)) : undefined,
  });
}
