/** Refuses to move a query to another hub. */

import type { FastifyRequest } from 'fastify';
import { validationError } from '../../http/request-error.ts';
import { required } from '../../http/route.ts';
import type { Upstreams } from '../../upstreams.ts';

/** Throws VALIDATION if `meta.hubId` is not the hub of the query, which never changes. */
export async function requireSameHub(request: FastifyRequest, catalog: Upstreams['catalog']): Promise<void> {
  const { meta } = request.body as { meta?: { hubId?: string } };
  if (meta?.hubId === undefined) return;
  const { queryId } = request.params as { queryId: string };
  const { query } = await catalog.getQuery({ queryId, signature: false }, request.context);
  const { hubId } = required(query);
  if (meta.hubId === hubId) return;
  const detail = `must be ${hubId}, the hub of this query; a query cannot move to another hub`;
  throw validationError([{ pointer: '/meta/hubId', detail }]);
}
