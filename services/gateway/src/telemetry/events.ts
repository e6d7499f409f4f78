/** What happens at the gateway, as typed events: the one place that makes log lines and metrics of them. */

import type { Principal } from '@datahub/proto/common/v1/principal';
import type { HubError } from '@datahub/service-kit/call/error';
import { DurationHistogram, type DurationSeries } from '@datahub/service-kit/telemetry/duration-histogram';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { kinds } from '../http/problem-details.ts';

export interface GatewayEvents {
  answered(request: FastifyRequest, reply: FastifyReply): void;
  failed(request: FastifyRequest, err: HubError): void;
  /** Its figures in the text form of Prometheus. */
  metrics(): Promise<string>;
}

/** What requests of a method and a route have in common where their answers have the same status. */
interface RequestKind {
  method: string;
  status: number;
  text: string;
  log: Logger;
  /** The same for each caller seen, who is written once. */
  logs: WeakMap<Principal, Logger>;
  durations: DurationSeries;
}

export function createGatewayEvents(logger: Logger): GatewayEvents {
  const registry = new Registry();
  const requests = new DurationHistogram({
    name: 'datahub_http_request_duration_seconds',
    help: 'Requests by route and status.',
  });
  const problems = new Counter({
    name: 'datahub_http_problems_total',
    help: 'Problem answers by code.',
    labelNames: ['code'],
    registers: [registry],
  });

  /** Made once each: routes, methods and statuses are few. Unknown paths have no route. */
  const kindsSeen = new Map<string | undefined, RequestKind[]>();
  const kindOf = (request: FastifyRequest, reply: FastifyReply): RequestKind => {
    const { url } = request.context.route;
    const { method } = request;
    const { statusCode: status } = reply.raw;
    let kinds = kindsSeen.get(url);
    if (kinds === undefined) {
      kinds = [];
      kindsSeen.set(url, kinds);
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

  return {
    metrics: async () => (await registry.metrics()) + requests.text(),

    answered: (request, reply) => {
      const kind = kindOf(request, reply);
      const { principal, requestId, traceparent, startedAt } = request.context;
      const elapsedMs = performance.now() - startedAt;
      kind.durations.observe(elapsedMs);
      const log = principal === undefined ? kind.log : logFor(kind, principal);
      if (!log.isLevelEnabled('info')) return;
      log.info(
        {
          requestId,
          traceId: traceparent?.slice(3, 35),
          durationMs: Math.round(elapsedMs * 100) / 100,
          ...(reply.raw.writableFinished ? undefined : { brokenOff: request.failedWith ?? 'CANCELLED' }),
        },
        kind.text,
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

function logFor({ log, logs }: RequestKind, principal: Principal): Logger {
  const known = logs.get(principal);
  if (known !== undefined) return known;
  const made = log.child({ keyId: principal.keyId, accountId: principal.accountId });
  logs.set(principal, made);
  return made;
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
