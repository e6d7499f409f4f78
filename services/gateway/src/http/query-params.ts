/** Reads flags and texts from the query string. */

import type { FastifyRequest } from 'fastify';
import { validationError } from './request-error.ts';

export const flagValues = new Map<unknown, boolean>([
  [undefined, false],
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
]);

export const flagWords = ['0', '1', 'false', 'true'];

/** Returns false if the parameter is absent. Throws VALIDATION for a value that is no flag. */
export function readFlag(request: FastifyRequest, name: string): boolean {
  const value = flagValues.get((request.query as Record<string, unknown>)[name]);
  if (value !== undefined) return value;
  throw validationError([{ pointer: `query/${name}`, detail: 'must be 1 or 0' }]);
}

/** Throws VALIDATION if the parameter is sent twice. */
export function readText(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value;
  throw validationError([{ pointer: `query/${name}`, detail: 'must be sent once' }]);
}

export function requireText(request: FastifyRequest, name: string): string {
  const text = readText(request, name);
  if (text !== undefined && text !== '') return text;
  throw validationError([{ pointer: `query/${name}`, detail: 'is missing' }]);
}

/** Returns undefined if the parameter is absent. Throws VALIDATION for a text that is no day of the calendar. */
export function readDay(request: FastifyRequest, name: string): string | undefined {
  const day = readText(request, name);
  const time = /^\d{4}-\d\d-\d\d$/.test(day ?? '') ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // JavaScript reads 30 February as 2 March.
  if (day === undefined || (!Number.isNaN(time) && new Date(time).toISOString().startsWith(day))) return day;
  throw validationError([{ pointer: `query/${name}`, detail: 'must be a day, as in 2026-11-28' }]);
}

/** Returns undefined if the parameter is absent. Throws VALIDATION for a value that is not among the choices. */
export function readChoice<T extends string>(
  request: FastifyRequest,
  name: string,
  choices: readonly T[],
): T | undefined {
  const chosen = readText(request, name);
  if (chosen === undefined) return undefined;
  const known = choices.find((choice) => choice === chosen);
  if (known !== undefined) return known;
  throw validationError([{ pointer: `query/${name}`, detail: `must be one of ${choices.join(', ')}` }]);
}
