/** Reads members of a body as JSON text, which keeps the digits of their numbers. */

import { parseExact } from '@datahub/contract/exact-json';
import type { FastifyRequest } from 'fastify';
import type { ParsedBody } from './json-body.ts';

/** The JSON text of one member of the body, or undefined if it is absent. The body must be valid. */
export function exactMember(body: ParsedBody, path: readonly string[]): string | undefined {
  const root = body.exactText === undefined ? body.value : parseExact(body.exactText);
  let at: unknown = root;
  for (const name of path) {
    const holds = typeof at === 'object' && at !== null && Object.hasOwn(at, name);
    at = holds ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at === undefined ? undefined : JSON.stringify(at);
}

/** The member `context` as JSON, with the digits of its numbers; empty for none. */
export const contextJson = (request: FastifyRequest, { context }: { context?: unknown }): string =>
  memberJson(request, 'context', context);

/** A member of the body as JSON, with the digits of its numbers; empty for none. */
export function memberJson(request: FastifyRequest, name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (request.parsed?.exactText === undefined) return JSON.stringify(value);
  return exactMember(request.parsed, [name]) ?? '';
}
