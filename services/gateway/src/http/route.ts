/**
 * A route of `/v1`: what it takes, who may call it, what it answers, and its handler. Each resource declares its routes
 * once. Checks, audit, /openapi.json, the client and the tests of docs/api.md read them.
 */

import type { AuditAction } from '@datahub/contract/audit-actions';
import { withScope } from '@datahub/contract/roles';
import { isGranted, type Scope } from '@datahub/contract/scopes';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { object } from './json-schema.ts';
import { type FieldPointers, validationError } from './request-error.ts';

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Who checks each scope: a route, or the executor, because only it knows whether a query writes. */
const scopeCheckedBy = {
  'hubs:read': 'route',
  'hubs:write': 'route',
  'sources:read': 'route',
  'sources:write': 'route',
  'queries:read': 'route',
  'queries:check': 'route',
  'queries:write': 'route',
  'queries:execute': 'route',
  'queries:execute:write': 'executor',
  'classifiers:read': 'route',
  'classifiers:write': 'route',
  'classifiers:train': 'route',
  'classifiers:predict': 'route',
  'ai:summarize': 'route',
  'watches:read': 'route',
  'watches:write': 'route',
  'destinations:write': 'route',
  'keys:read': 'route',
  'keys:admin': 'route',
} as const satisfies Record<Scope, 'route' | 'executor'>;

export type RouteScope = Exclude<
  Scope,
  {
    [S in keyof typeof scopeCheckedBy]: (typeof scopeCheckedBy)[S] extends 'route' ? never : S;
  }[keyof typeof scopeCheckedBy]
>;

/**
 * How a route gets into the audit log: the gateway counts it as an action, the catalog writes an entry with the change,
 * or it is not audited. Every route besides GET must choose one.
 */
type Audited =
  | { method: 'GET'; audit?: AuditAction }
  | { method: 'POST' | 'PUT' | 'DELETE'; audit: AuditAction | 'by catalog' | 'not audited' };

export type Route = Audited & RouteMembers;

interface RouteMembers {
  /** The pattern of the path, such as `/v1/hubs/:hubId`. */
  path: string;
  /** Undefined if every key may call the route. */
  scope: RouteScope | undefined;
  summary: string;
  handler: Handler;
  /** The schema of the body with 200. */
  response: object;
  body?: object;
  /** The complete schema, if the handler validates a part of the body itself. */
  documented?: object;
  /** True if the body can be left out. */
  bodyOptional?: boolean;
  /** The names of the query parameters. */
  query?: string[];
  /** True for a route of the reference API, which ignores unknown query parameters. Other routes refuse them. */
  reference?: true;
  /** `If-Match` applies. */
  versioned?: boolean;
  /** True if the answer can have megabytes: like a list, it waits for a place. */
  largeAnswer?: boolean;
  /** True for a POST whose answer is a stored document that is not in its body. */
  storedAnswer?: boolean;
  /** True if the answer waits for a database longer than it may keep others from a place. */
  waits?: boolean;
  /** True if the larger limit on bodies applies. */
  largeBody?: boolean;
  /** True if the answer can be compressed. Such an answer must have no secret, and no ETag for `If-Match`. */
  compressed?: boolean;
  /** Set if the body can also be streamed as NDJSON or CSV. `only`: it must be. */
  imports?: 'also' | 'only';
  /** Why the route refuses an idempotency key although it is a POST. */
  keyRefusal?: string;
  /** True if the key can also be sent as `Authorization: Bearer`. */
  bearer?: boolean;
  /** True for a POST that changes nothing. */
  reads?: boolean;
  /** How a repeat determines a lost outcome; see `BeginOperationRequest.settling`. */
  settledBy?: 'audit' | 'repeat';
  /** True if the path or the body names a query to execute. */
  executes?: boolean;
  /** Pointers into the body for fields of the call whose place differs there. */
  pointers?: (body: unknown) => FieldPointers;
  /** True if the answer has a secret, which is shown once and never stored. */
  secretResponse?: boolean;
}

/** The body of routes that read no member. They refuse every member instead of ignoring it. */
export const emptyBody = object({});

/** The entry in `Route.query` for parameters of any name, which the handler checks itself. */
export const anyParameter = 'variables';

/** The query parameters of a paged list. */
export const paged = ['offset', 'limit'];

/** The action under which the gateway counts a route; undefined if it does not count it. */
export const countedAs = ({ audit }: Route): AuditAction | undefined =>
  audit === 'by catalog' || audit === 'not audited' ? undefined : audit;

/** True if the route changes nothing. */
export const isReading = ({ method, reads }: Route): boolean => method === 'GET' || reads === true;

/** The kind of place that the answer of a route waits for: that of a list, also if it can be as large, or of a document. */
export function placeOf(route: Route): 'list' | 'document' | undefined {
  const { method, response, largeAnswer, storedAnswer, executes, waits } = route;
  if (largeAnswer || (method === 'GET' && 'type' in response && response.type === 'array')) return 'list';
  const isStored = method === 'GET' || method === 'PUT' || storedAnswer;
  return isStored && !executes && !waits ? 'document' : undefined;
}

/** Nearly every POST accepts an idempotency key. It has no effect if the route only reads. */
export const takesIdempotencyKey = ({ method, keyRefusal }: Route): boolean =>
  method === 'POST' && keyRefusal === undefined;

/** The document of a service's response. Throws INTERNAL if the service omits it. */
export function required<T>(document: T | undefined): T {
  if (document === undefined)
    throw new HubError('INTERNAL', 'A service omitted the document of its response.');
  return document;
}

/** The path of a request, without its query string. */
export function pathOf({ url }: FastifyRequest): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Throws NOT_FOUND for an unknown path, and METHOD_NOT_ALLOWED for a known path with another method. */
export function refuseUnknown(request: FastifyRequest, known: { method: string; path: string }[]): never {
  const path = pathOf(request);
  const named = known.filter((one) => one.path === path);
  const parts = path.split('/', partsMax);
  const allowed = (named.length > 0 ? named : known.filter((one) => matches(one.path, parts))).map(
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

/** More than any route has. A path can have thousands. */
const partsMax = 32;

function matches(known: string, parts: readonly string[]): boolean {
  const pattern = known.split('/');
  const isLong = pattern.at(-1) === '*' && parts.length > pattern.length;
  return (
    (isLong || pattern.length === parts.length) &&
    pattern.every((part, i) => (/^[:*]/.test(part) ? parts[i] !== '' : part === parts[i]))
  );
}

/** Throws VALIDATION for a parameter that the route does not have. Routes of the reference API ignore it. */
export function requireRouteParameters(request: FastifyRequest): void {
  const { route } = request.context;
  if (route === undefined || route.reference || route.query?.includes(anyParameter)) return;
  requireKnownParameters(request, route.query ?? []);
}

/** Throws VALIDATION for a parameter with another name. */
export function requireKnownParameters(request: FastifyRequest, names: readonly string[]): void {
  const known = names.length === 0 ? 'there are no parameters' : `the parameters are ${names.join(', ')}`;
  const faults = Object.keys(request.query as object)
    .filter((name) => !names.includes(name))
    .map((name) => ({ pointer: `query/${name.slice(0, 100)}`, detail: `is unknown; ${known}` }));
  if (faults.length > 0) throw validationError(faults);
}

/** Checks the scope of the request's route. Throws SCOPE_DENIED. */
export function requireScope(request: FastifyRequest): void {
  const scope = request.context.route?.scope;
  if (scope !== undefined && !isAllowed(request, scope)) requireGranted(request, scope);
}

/** True if the key may call routes with the scope. */
function isAllowed(request: FastifyRequest, scope: Scope): boolean {
  // Only the executor knows whether a query writes; it checks the scope of writes itself.
  if (scope === 'queries:execute' && scopesOf(request).includes('queries:execute:write')) return true;
  return isGranted(scopesOf(request), scope);
}

/**
 * For a request that needs more than the scope of its route. A person then acts by the role that has the scope, and in the
 * hubs of this role. Throws SCOPE_DENIED.
 */
export function requireGranted({ context }: FastifyRequest, scope: Scope): void {
  const allowed = context.principal && withScope(context.principal, scope);
  if (allowed !== undefined) {
    context.principal = allowed;
    return;
  }
  throw new HubError('SCOPE_DENIED', `This needs a key with the scope ${scope}.`);
}

const scopesOf = ({ context }: FastifyRequest): string[] => context.principal?.scopes ?? [];
