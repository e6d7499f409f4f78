/** What happens at the gateway, as typed events: the one place that makes log lines and metrics of them. */

import type { HubError } from '@datahub/service-kit/error';
import type { Logger } from '@datahub/service-kit/logger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { kinds } from './problems.ts';

export interface GatewayEvents {
  answered(request: FastifyRequest, reply: FastifyReply): void;
  failed(request: FastifyRequest, err: HubError): void;
  registry: Registry;
}

interface RequestKind {
  text: string;
  log: Logger;
  observe(seconds: number): void;
}

export function createGatewayEvents(logger: Logger): GatewayEvents {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'datahub_http_request_duration_seconds',
    help: 'Requests by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const problems = new Counter({
    name: 'datahub_http_problems_total',
    help: 'Problem answers by code.',
    labelNames: ['code'],
    registers: [registry],
  });

  /** What is alike about requests, made once: routes, methods and statuses are few. */
  const kindsSeen = new Map<string, RequestKind>();
  const kindOf = (request: FastifyRequest, reply: FastifyReply): RequestKind => {
    const route = request.routeOptions.url ?? 'unknown';
    const { method } = request;
    const { statusCode: status } = reply.raw;
    const text = `${method} ${route} ${status}`;
    let kind = kindsSeen.get(text);
    if (kind === undefined) {
      const timer = requests.labels({ method, route, status: String(status) });
      const log = logger.child({ event: 'http.request', method, route, status });
      kind = { text, log, observe: (seconds) => timer.observe(seconds) };
      kindsSeen.set(text, kind);
    }
    return kind;
  };

  return {
    registry,

    answered: (request, reply) => {
      const { observe, log, text } = kindOf(request, reply);
      const { principal, requestId, traceparent, startedAt } = request.context;
      const elapsedMs = performance.now() - startedAt;
      observe(elapsedMs / 1_000);
      if (!log.isLevelEnabled('info')) return;
      log.info(
        {
          requestId,
          traceId: traceparent?.slice(3, 35),
          keyId: principal?.keyId,
          accountId: principal?.accountId,
          durationMs: Math.round(elapsedMs * 100) / 100,
          ...(reply.raw.writableFinished ? {} : { brokenOff: request.failedWith ?? 'CANCELLED' }),
        },
        text,
      );
    },

    failed: (request, err) => {
      problems.inc({ code: err.code });
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
  };
}

/**
 * The cause's stack for our own faults, its words where a service or the store is away: they name the address. For a
 * source's faults nothing, since drivers put hosts and users into texts.
 */
function describe({ code, cause }: HubError): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (code === 'UNAVAILABLE') return cause.message;
  return code === 'INTERNAL' ? cause.stack : undefined;
}
