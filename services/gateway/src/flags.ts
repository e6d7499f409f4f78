/** Switches in the query string. */

import { HubError } from '@datahub/service-kit/error';
import type { FastifyRequest } from 'fastify';

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
  const [pointer, detail] = [`query/${name}`, 'must be 1 or 0'];
  throw new HubError('VALIDATION', `${pointer} ${detail}.`, { errors: [{ pointer, detail }] });
}
