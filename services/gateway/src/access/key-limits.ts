/** The limits of a key that the gateway enforces; the table in the contract names them. */

import type { LimitEnforcedBy } from '@datahub/contract/key-limits';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';

type Limits = Principal['limits'];

export const keyLimits = {
  /** Throws SCOPE_DENIED for another origin, and for a caller that is not a browser. */
  origins: (limits: Limits, origin: string | undefined): void => {
    if (limits === undefined || limits.origins.length === 0) return;
    if (origin !== undefined && limits.origins.includes(origin)) return;
    throw new HubError('SCOPE_DENIED', 'This key cannot be used from this origin.');
  },
  /** `fallback`: the rate of a key without this limit. */
  ratePerMinute: (limits: Limits, fallback: number): number => limits?.ratePerMinute ?? fallback,
  /** True if the key also needs the token of a signed-in user. */
  user: (limits: Limits): boolean => limits?.user !== undefined,
} satisfies Record<LimitEnforcedBy<'gateway'>, unknown>;
