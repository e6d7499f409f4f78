/** The span of a request at the gateway: everything that the hub does for it is below. */

import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';

export function startSpan(request: FastifyRequest, tracing: Tracing): void {
  const { context, method } = request;
  const route = request.context.route.url;
  // Probes would drown what is worth a look.
  if (route === undefined || !route.startsWith('/v1/')) return;
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

export function endSpan(request: FastifyRequest, reply: FastifyReply): void {
  const { span, principal } = request.context ?? {};
  if (span === undefined) return;
  const { statusCode } = reply.raw;
  const key = principal === undefined ? {} : { 'datahub.key.id': principal.keyId };
  span.end({
    attributes: { 'http.response.status_code': statusCode, ...key },
    // A broken stream has its status, and no end.
    error:
      statusCode >= 500 || !reply.raw.writableFinished
        ? (request.failedWith ?? String(statusCode))
        : undefined,
  });
}
