/** Refuses requests whose path or method no route has. */

import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';

/** The path of a request, without its query string. */
export const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] as string;

/** Throws NOT_FOUND for an unknown path, and METHOD_NOT_ALLOWED for a known path with another method. */
export function refuseUnknown(request: FastifyRequest, known: { method: string; path: string }[]): never {
  const path = pathOf(request);
  const named = known.filter((one) => one.path === path);
  const allowed = (named.length > 0 ? named : known.filter((one) => matches(one.path, path))).map(
    ({ method }) => method,
  );
  if (allowed.length === 0)
    throw new HubError('NOT_FOUND', 'There is no such path. /openapi.json lists all paths.');
  if (allowed.includes('GET')) allowed.push('HEAD');
  const list = [...new Set([...allowed, 'OPTIONS'])].join(', ');
  throw Object.assign(new HubError('METHOD_NOT_ALLOWED', `This path allows ${list}.`), { allow: list });
}

/**
 * Refuses requests without a route. A path without parameters never names an id of another route, as in
 * GET `/v1/queries/execute`.
 */
export function createRouteCheck(known: { method: string; path: string }[]) {
  const plain = new Set(known.map(({ path }) => path).filter((path) => !/[:*]/.test(path)));
  return (request: FastifyRequest): void => {
    const path = pathOf(request);
    const isOfAnother = request.routeOptions.url !== path && plain.has(path);
    if (request.is404 || isOfAnother) refuseUnknown(request, known);
  };
}

function matches(known: string, path: string): boolean {
  const [pattern, parts] = [known.split('/'), path.split('/')];
  if (pattern.at(-1) === '*' && parts.length > pattern.length) parts.length = pattern.length;
  return (
    pattern.length === parts.length &&
    pattern.every((part, i) => (/^[:*]/.test(part) ? parts[i] !== '' : part === parts[i]))
  );
}
