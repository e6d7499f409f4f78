/** Turns what a handler or Fastify throws into the answer: a problem document. */

import { HubError, outcomeUnknown, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayEvents } from '../telemetry/events.ts';
import { type Problem, problemHeaders, toProblem } from './problem-details.ts';

interface Failure {
  hubError: HubError;
  problem: Problem;
}

/** Notes the failure of a request, and returns what to tell the caller. */
export function reportFailure(thrown: unknown, request: FastifyRequest, events: GatewayEvents): Failure {
  const err = fromFastify(thrown);
  const hubError = mayHaveChanged(err, request) ? outcomeUnknown(err) : err;
  request.failedWith = hubError.code;
  events.failed(request, hubError);
  const problem = toProblem(hubError, {
    path: pathOf(request),
    id: request.id,
    pointers: hubError.errors && request.context.route.config.pointers?.(request.body),
  });
  return { hubError, problem };
}

export function sendProblem(thrown: unknown, reply: FastifyReply, events: GatewayEvents): FastifyReply {
  const { request } = reply;
  const { hubError, problem } = reportFailure(thrown, request, events);
  const { allow } = hubError as HubError & { allow?: string };
  // RFC 9110 requires `Allow`. It is empty if the resource allows no method, such as `/data` of a query that writes.
  const isEmpty = allow === undefined && hubError.code === 'METHOD_NOT_ALLOWED';
  if (reply.hasHeader('connection')) keepConnection(reply);
  return reply
    .code(problem.status)
    .headers({
      'x-request-id': request.id,
      ...problemHeaders(hubError),
      ...(isEmpty ? { allow: '' } : allow === undefined ? {} : { allow }),
    })
    .send(JSON.stringify(problem));
}

/** True if the answer of a service was lost, or if the gateway failed unexpectedly after it may have made a change. */
function mayHaveChanged(err: HubError, { context }: FastifyRequest): boolean {
  // A request without a route calls no service.
  if (context?.route.url === undefined || context.route.config.reads === true) return false;
  // For executions, the executor itself reports OUTCOME_UNKNOWN.
  return err.lost === true || (err.code === 'INTERNAL' && context.route.config.executes !== true);
}

const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] as string;

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

/** Throws NOT_FOUND for an unknown path, and METHOD_NOT_ALLOWED for a known path with another method. */
export function refuseUnknown(request: FastifyRequest, known: { method: string; url: string }[]): never {
  const path = pathOf(request);
  const allowed = known.filter(({ url }) => matches(url, path)).map(({ method }) => method);
  if (allowed.length === 0)
    throw new HubError('NOT_FOUND', 'There is no such path. /openapi.json lists all paths.');
  if (allowed.includes('GET')) allowed.push('HEAD');
  const list = [...new Set([...allowed, 'OPTIONS'])].join(', ');
  throw Object.assign(new HubError('METHOD_NOT_ALLOWED', `This path allows ${list}.`), { allow: list });
}

function matches(url: string, path: string): boolean {
  const [pattern, parts] = [url.split('/'), path.split('/')];
  return (
    pattern.length === parts.length &&
    pattern.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  );
}
