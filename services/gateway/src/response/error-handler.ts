/** Turns what a handler or Fastify throws into the answer: a problem document. */

import { isOfQueries } from '@datahub/contract/key-limits';
import { HubError, outcomeUnknown, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Problem, problemHeaders, toProblem } from '../http/problem-details.ts';
import type { FieldPointers } from '../http/request-error.ts';
import { isReading, pathOf } from '../http/route.ts';
import type { GatewayEvents } from '../telemetry/events.ts';

interface Failure {
  hubError: HubError;
  problem: Problem;
}

/** Notes the failure of a request, and returns what to tell the caller. */
export function reportFailure(thrown: unknown, request: FastifyRequest, events: GatewayEvents): Failure {
  // A malformed path is refused without a context.
  const pointersOf = () => request.context?.route?.pointers?.(request.body);
  const failure = reportPart(thrown, request, { events, pointersOf });
  request.failedWith = failure.hubError.code;
  request.failedPartly = failure.hubError.partial === true;
  return failure;
}

interface PartOptions {
  events: GatewayEvents;
  /** Called if there are faults. A request that is refused early has no body. */
  pointersOf(): FieldPointers | undefined;
}

/** The same for a part of a request that goes on. */
export function reportPart(
  thrown: unknown,
  request: FastifyRequest,
  { events, pointersOf }: PartOptions,
): Failure {
  const err = fromFastify(thrown);
  const hubError = mayHaveChanged(err, request) ? outcomeUnknown(err) : err;
  events.failed(request, hubError);
  const problem = toProblem(hubError, {
    path: pathOf(request),
    id: request.id,
    pointers: hubError.errors && pointersOf(),
    // A key of a page knows its queries, not the database behind them. A malformed path is refused without a context.
    hidesTables: isOfQueries(request.context?.principal?.limits ?? {}),
  });
  return { hubError, problem };
}

export function sendProblem(thrown: unknown, reply: FastifyReply, events: GatewayEvents): FastifyReply {
  const { request } = reply;
  const { hubError, problem } = reportFailure(thrown, request, events);
  const { allow, challenge } = hubError as HubError & { allow?: string; challenge?: string };
  // RFC 9110 requires `Allow`. It is empty if the resource allows no method, such as `/data` of a query that writes.
  const isEmpty = allow === undefined && hubError.code === 'METHOD_NOT_ALLOWED';
  if (reply.hasHeader('connection')) keepConnection(reply);
  // An answer that is refused when it is about to be sent has its headers already.
  for (const name of ofResources) reply.removeHeader(name);
  return reply
    .code(problem.status)
    .headers({
      'x-request-id': request.id,
      ...problemHeaders(hubError),
      ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
      ...(isEmpty ? { allow: '' } : allow === undefined ? {} : { allow }),
    })
    .send(JSON.stringify(problem));
}

const ofResources = ['etag', 'link', 'x-total-count'];

/** True if the answer of a service was lost, or if the gateway failed unexpectedly after it may have made a change. */
function mayHaveChanged(err: HubError, { context, method }: FastifyRequest): boolean {
  // A request to an unknown path calls no service, and pages have no route of `/v1`.
  if (context?.path === undefined || method === 'GET' || method === 'HEAD') return false;
  if (context.route !== undefined && isReading(context.route)) return false;
  // For executions, the executor itself reports OUTCOME_UNKNOWN.
  return err.lost === true || (err.code === 'INTERNAL' && context.route?.executes !== true);
}

/**
 * Fastify closes the connection if it refuses a body. The hub reads the body to its end instead, see `createBodyDrain`.
 */
function keepConnection(reply: FastifyReply): void {
  const { raw } = reply;
  if (raw.shouldKeepAlive && !raw.hasHeader('connection')) reply.header('connection', 'keep-alive');
}

function fromFastify(err: unknown): HubError {
  if (err instanceof HubError) return err;
  const { code, statusCode } = err as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
  }
  if (statusCode === 414 || code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new HubError('NOT_FOUND', 'The path is too long to name a resource.');
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new HubError('VALIDATION', 'The request is malformed.', { cause: err });
  }
  return toHubError(err);
}
