/**
 * Enforces the limits of a key on documents: one member for each limit that the contract's table assigns to the
 * catalog.
 */

import { isOfQueries, type LimitEnforcedBy } from '@datahub/contract/key-limits';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import type { HubDoc, QueryDoc } from './documents.ts';
import { grantedNameOf } from './rpc/query-names/granted-name.ts';

type Limits = Principal['limits'];

/** Limits a key to some documents of one kind. */
interface IdLimit {
  /** The ids that the key is limited to; undefined if it is not limited. */
  ids(limits: Limits): string[] | undefined;
  isAllowed(limits: Limits, id: string): boolean;
  /** Throws SCOPE_DENIED. */
  require(limits: Limits, id: string): void;
}

function idLimit(limit: 'hubIds' | 'queryIds', what: string): IdLimit {
  const isAllowed = (limits: Limits, id: string) => {
    const allowed = limits?.[limit] ?? [];
    return allowed.length === 0 || allowed.includes(id);
  };
  return {
    ids: (limits) => (limits?.[limit].length ? limits[limit] : undefined),
    isAllowed,
    require: (limits, id) => {
      if (!isAllowed(limits, id)) throw new HubError('SCOPE_DENIED', `This key may not use this ${what}.`);
    },
  };
}

interface QueryInHub {
  hub: HubDoc;
  query: QueryDoc;
}

export const keyLimits = {
  hubIds: idLimit('hubIds', 'hub'),
  queryIds: idLimit('queryIds', 'query'),
  queries: {
    isSet: (limits: Limits): boolean => (limits?.queries.length ?? 0) > 0,
    isAllowed: (limits: Limits, { hub, query }: QueryInHub): boolean => {
      const names = limits?.queries ?? [];
      if (names.length === 0 || names.includes(query.id)) return true;
      const name = grantedNameOf(hub, query);
      return name !== undefined && names.includes(name);
    },
  },
  context: { isPinned: (limits: Limits) => (limits?.contextJson ?? '') !== '' },
} satisfies Record<LimitEnforcedBy<'catalog'>, unknown>;

/** True for a key that is limited to some queries. */
export const isLimitedToQueries = (limits: Limits): boolean => limits !== undefined && isOfQueries(limits);

/** Throws SCOPE_DENIED for a query that the key may not use. */
export function requireMayUse(limits: Limits, found: QueryInHub): void {
  keyLimits.queryIds.require(limits, found.query.id);
  if (keyLimits.queries.isAllowed(limits, found)) return;
  throw new HubError('SCOPE_DENIED', 'This key may not use this query.');
}

/** True for a key whose rows depend on values of its own: pinned ones, or those of its signed-in user. */
export const hasOwnRows = (limits: Limits): boolean =>
  keyLimits.context.isPinned(limits) || limits?.user !== undefined;

/** Throws SCOPE_DENIED for such a key: what watches find is not limited to its values. */
export function requireMayReadWatches(limits: Limits): void {
  if (hasOwnRows(limits))
    throw new HubError('SCOPE_DENIED', 'A key with limits.context or user may not read watches and events.');
}

/** Throws SCOPE_DENIED for a change of a hub, folder or source by a key that is limited to queries. */
export function requireMayChangeHubs(limits: Limits): void {
  if (!isLimitedToQueries(limits)) return;
  throw new HubError(
    'SCOPE_DENIED',
    'This key may not change hubs, folders or sources, because it is limited to some queries.',
  );
}

/** Throws SCOPE_DENIED for a key that is limited to queries. */
export function requireMayHaveBoards(limits: Limits): void {
  if (!isLimitedToQueries(limits)) return;
  throw new HubError('SCOPE_DENIED', 'A key that is limited to queries may not read or change boards.');
}

/**
 * Throws SCOPE_DENIED if the key could evade its limits with a new text, for example by leaving out a pinned variable.
 */
export function requireMayWriteQueries(limits: Limits): void {
  const isLimited = isLimitedToQueries(limits) || keyLimits.context.isPinned(limits);
  if (!isLimited) return;
  throw new HubError(
    'SCOPE_DENIED',
    'This key may not write or check queries, because it is limited to some queries or pins variables.',
  );
}
