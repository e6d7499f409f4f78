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

  return {
    registry,

    answered: (request, reply) => {
      const route = request.routeOptions.url ?? 'unknown';
      const { method } = request;
      const status = reply.raw.statusCode;
      requests.observe({ method, route, status: String(status) }, reply.elapsedTime / 1_000);
      if (!logger.isLevelEnabled('info')) return;
      const { principal, requestId } = request.context ?? {};
      logger.info(
        {
          event: 'http.request',
          requestId,
          traceId: request.context?.traceparent?.slice(3, 35),
          keyId: principal?.keyId,
          accountId: principal?.accountId,
          method,
          route,
          status,
          durationMs: Math.round(reply.elapsedTime * 100) / 100,
        },
        `${method} ${route} ${status}`,
      );
    },

    failed: (request, err) => {
      problems.inc({ code: err.code });
      if (kinds[err.code].status < 500) return;
      logger.warn(
        {
          event: 'http.problem',
          requestId: request.id,
          code: err.code,
          stage: err.stage,
          cause: describe(err),
        },
        err.message,
      );
    },
  };
}

/** The cause's stack for our own faults; for a source's faults nothing, since drivers put hosts and users into texts. */
function describe(err: HubError): string | undefined {
  return err.code === 'INTERNAL' && err.cause instanceof Error ? err.cause.stack : undefined;
}
