/** The key that a watch acts for: at each tick, the watch may do what its maker may do. */

import { withScope } from '@datahub/contract/roles';
import { isGranted } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import type { KeyDoc, QueryDoc } from '../documents.ts';
import { isLimitedToQueries, keyLimits } from '../key-limits.ts';
import { findKey, principalOf } from '../people/acting.ts';
import type { WatchDoc } from './documents.ts';
import { writes } from './watch.ts';

/** Throws SCOPE_DENIED if a watch of the query cannot act for the principal. */
export function requireMayMake({ scopes, limits }: Principal, query: QueryDoc): void {
  requireMayHaveWatches(limits);
  keyLimits.hubIds.require(limits, query.hubId);
  for (const wanted of ['queries:execute', scopeFor(query)] as const)
    if (!isGranted(scopes, wanted))
      throw new HubError('SCOPE_DENIED', `The key needs the scope ${wanted} for a watch of this query.`);
}

const scopeFor = (query: QueryDoc) => (writes(query) ? 'queries:execute:write' : 'queries:execute');

/** A watch has no caller whose variables, queries or user could be checked. */
export function requireMayHaveWatches(limits: Principal['limits']): void {
  const limit = isLimitedToQueries(limits)
    ? keyLimits.queryIds.ids(limits) === undefined
      ? 'queries'
      : 'queryIds'
    : keyLimits.context.isPinned(limits)
      ? 'context'
      : limits?.user === undefined
        ? undefined
        : 'user';
  if (limit !== undefined)
    throw new HubError('SCOPE_DENIED', `A key with limits.${limit} cannot have or run watches.`);
}

const pausingCodes: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'KEY_INVALID',
  'KEY_EXPIRED',
  'SCOPE_DENIED',
]);

/** Whether a code says that a watch may not run. Other errors are faults of the hub, and the tick is tried again. */
export const isPausing = (code: string): boolean => pausingCodes.has(code);

export const pauses = (err: unknown): err is HubError => err instanceof HubError && isPausing(err.code);

/** What a watch runs with now. */
export interface Acting {
  principal: Principal;
  query: QueryDoc;
}

/** Throws an error that says why the watch may not run: its query or key is gone, or the key may do too little. */
export async function loadActing(catalog: Catalog, watch: WatchDoc): Promise<Acting> {
  const { store } = catalog;
  const query = await store.queries.get(watch.accountId, watch.queryId);
  if (query === null) throw new HubError('NOT_FOUND', 'The query of the watch was deleted.');
  const key = await findMaker(catalog, watch);
  if (key === null) throw new HubError('KEY_INVALID', 'The key that the watch acts for was revoked.');
  if (key.expiresAt !== null && key.expiresAt <= catalog.nowMs())
    throw new HubError('KEY_EXPIRED', 'The key that the watch acts for has expired.');
  const maker = await principalOf(catalog, key);
  // A person acts by the role that may execute the query.
  const principal = withScope(maker, scopeFor(query)) ?? maker;
  requireMayMake(principal, query);
  return { principal, query };
}

/** How often a key may have been rotated since the watch was written. */
const rotationsMax = 100;

/** The key of the watch, or the one that replaced it. */
async function findMaker(catalog: Catalog, { accountId, keyId }: WatchDoc): Promise<KeyDoc | null> {
  let key = await findKey(catalog, { accountId, keyId });
  for (let i = 0; i < rotationsMax && key?.successor !== undefined; i++) {
    const next = await catalog.store.keys.get(accountId, key.successor.keyId);
    if (next === null) return key;
    key = next;
  }
  return key;
}
