/**
 * The limits of a key that hide the jobs of other keys, because a job shows the query that it reads: one member for each
 * limit that the contract's table assigns to the ml service.
 */

import type { LimitEnforcedBy } from '@datahub/contract/key-limits';
import type { Principal } from '@datahub/proto/common/v1/principal';

type Limits = Principal['limits'];

interface Limit {
  isSet(limits: Limits): boolean;
}

export const keyLimits = {
  hubIds: { isSet: (limits) => (limits?.hubIds.length ?? 0) > 0 },
  queryIds: { isSet: (limits) => (limits?.queryIds.length ?? 0) > 0 },
  queries: { isSet: (limits) => (limits?.queries.length ?? 0) > 0 },
  classifierIds: { isSet: (limits) => (limits?.classifierIds.length ?? 0) > 0 },
  context: { isSet: (limits) => (limits?.contextJson ?? '') !== '' },
} satisfies Record<LimitEnforcedBy<'ml'>, Limit>;
