/** What the limits of a key mean for an execution: a member for each limit that the table of the contract gives the executor. */

import type { LimitEnforcedBy } from '@datahub/contract/key-limits';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';

type Limits = Principal['limits'];

const isAmong = (ids: readonly string[] | undefined, id: string): boolean =>
  ids === undefined || ids.length === 0 || ids.includes(id);

/** What limits name a query by. */
interface NamedQuery {
  queryId: string;
  hubId: string;
  grantedName?: string | undefined;
}

const isNamed = (names: readonly string[] | undefined, { queryId, grantedName }: NamedQuery): boolean =>
  isAmong(names, queryId) || (grantedName !== undefined && names?.includes(grantedName) === true);

/** What a query, or a step of one, does with the claims of a user. */
interface UsedByQuery {
  /** How errors name it; by default, the query. */
  subject?: string;
  names: readonly string[];
  /** Whether its source sets the claim for each transaction. */
  usesClaim(path: string): boolean;
}

export const keyLimits = {
  /** Throws SCOPE_DENIED. */
  queryIds: (limits: Limits, { queryId }: NamedQuery): void => {
    if (!isAmong(limits?.queryIds, queryId)) throw otherQuery();
  },
  /** Throws SCOPE_DENIED. */
  queries: (limits: Limits, query: NamedQuery): void => {
    if (!isNamed(limits?.queries, query)) throw otherQuery();
  },
  /** Throws SCOPE_DENIED. */
  hubIds: (limits: Limits, hubId: string): void => {
    if (isAmong(limits?.hubIds, hubId)) return;
    throw new HubError('SCOPE_DENIED', 'This key may not use this hub.');
  },
  /** JSON of the variables that the caller cannot override; empty for none. */
  context: (limits: Limits): string => limits?.contextJson ?? '',
  maxRows: (limits: Limits): number | undefined => limits?.maxRows,
  strict: (limits: Limits): boolean | undefined => limits?.strict,
  /**
   * Throws TOKEN_INVALID without a user, and SCOPE_DENIED for a query that could return rows of other users, because it
   * ignores a claim.
   */
  user: (
    { limits, user }: Principal,
    query: NamedQuery,
    { subject = 'This query', names, usesClaim }: UsedByQuery,
  ): void => {
    const limit = limits?.user;
    if (limit === undefined) return;
    if (user === undefined)
      throw new HubError('TOKEN_INVALID', 'This key works only with the token of a signed-in user.');
    const unused = limit.claims.find(({ variable, path }) => !names.includes(variable) && !usesClaim(path));
    if (unused === undefined || (limit.public.length > 0 && isNamed(limit.public, query))) return;
    throw new HubError(
      'SCOPE_DENIED',
      `${subject} does not use :${unused.variable}, so it could return rows of other users. Use the variable, or list the query in limits.user.public of the key.`,
    );
  },
} satisfies Record<LimitEnforcedBy<'executor'>, unknown>;

/** Whether the query and its hub are within the limits. */
export const mayUse = (limits: Limits, query: NamedQuery): boolean =>
  isAmong(limits?.queryIds, query.queryId) &&
  isNamed(limits?.queries, query) &&
  isAmong(limits?.hubIds, query.hubId);

const otherQuery = () => new HubError('SCOPE_DENIED', 'This key may not use this query.');

/** The variables that are pinned to claims of the user. */
export const claimedNames = ({ limits }: Principal): readonly string[] | undefined =>
  limits?.user?.claims.map(({ variable }) => variable);
