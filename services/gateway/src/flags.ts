/** Switches in the query string. */

import type { FastifyRequest } from 'fastify';
import { validationError } from './validation.ts';

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
