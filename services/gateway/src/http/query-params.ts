/** Switches and names in the query string. */

import type { FastifyRequest } from 'fastify';
import { validationError } from './request-error.ts';

const meanings = new Map<unknown, boolean>([
  [undefined, false],
  ['0', false],
  ['false', false],
  ['1', true],
  ['true', true],
]);

export const flagWords = ['0', '1', 'false', 'true'];

/** False where it is not given; 400 for what is neither, which would else be passed over in silence. */
export function readFlag(request: FastifyRequest, name: string): boolean {
  const meaning = meanings.get((request.query as Record<string, unknown>)[name]);
  if (meaning !== undefined) return meaning;
  throw validationError([{ pointer: `query/${name}`, detail: 'must be 1 or 0' }]);
}

/** 400 where it is given twice: of the two, one would be passed over in silence. */
export function readText(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value;
  throw validationError([{ pointer: `query/${name}`, detail: 'must be given once' }]);
}

export function requireText(request: FastifyRequest, name: string): string {
  const text = readText(request, name);
  if (text !== undefined && text !== '') return text;
  throw validationError([{ pointer: `query/${name}`, detail: 'is missing' }]);
}
