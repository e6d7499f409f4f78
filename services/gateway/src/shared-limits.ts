/**
 * A key's budget where several gateways serve it: each takes some requests at a time off a counter of the minute that
 * the catalog keeps, so that all together admit what one would, but for what was taken and not used (a fiftieth of the
 * budget a gateway). While the catalog cannot be reached each gateway counts for itself.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call';
import type { FastifyReply } from 'fastify';
import { type Limits, rateHeaders, tooMany } from './limits.ts';
import type { Upstreams } from './upstreams.ts';

export interface SharedLimitsOptions {
  catalog: Pick<Upstreams['catalog'], 'takeRequests'>;
  /** For keys without a rate of their own; 0 for no limit. */
  ratePerMinute: number;
  /** What one gateway does by itself. */
  local: Limits;
  keysMax?: number;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

interface Share {
  /** Taken and not yet used. */
  mine: number;
  /** Not taken by anybody when last heard of. */
  left: number;
  endsAt: number;
  taking: Promise<void> | undefined;
}

const takeTimeoutMs = 2_000;
const batchesAMinute = 50;

export function createSharedLimits(options: SharedLimitsOptions): Limits {
  const { catalog, local, keysMax = 50_000, now = () => performance.now() } = options;
  const shares = new Map<string, Share>();

  const shareOf = (keyId: string): Share => {
    let share = shares.get(keyId);
    if (share === undefined) {
      if (shares.size >= keysMax) shares.delete(shares.keys().next().value as string);
      share = { mine: 0, left: Number.POSITIVE_INFINITY, endsAt: 0, taking: undefined };
      shares.set(keyId, share);
    }
    return share;
  };

  /** One question at a time for a key. */
  const take = (share: Share, principal: Principal, perMinute: number): Promise<void> => {
    share.taking ??= ask(share, principal, perMinute).finally(() => {
      share.taking = undefined;
    });
    return share.taking;
  };

  const ask = async (share: Share, principal: Principal, perMinute: number): Promise<void> => {
    const askedAt = now();
    const count = Math.max(1, Math.floor(perMinute / batchesAMinute));
    const ctx = createCallContext({ timeoutMs: takeTimeoutMs, principal });
    const { granted, left, resetMs } = await catalog.takeRequests({ perMinute, count }, ctx);
    // A minute that began meanwhile has its own budget.
    if (askedAt + resetMs > share.endsAt + 1_000) share.mine = 0;
    share.mine += granted;
    share.left = left;
    share.endsAt = askedAt + resetMs;
  };

  const use = (share: Share, perMinute: number, reply: FastifyReply): boolean => {
    if (share.mine < 1 || now() >= share.endsAt) return false;
    share.mine--;
    rateHeaders(reply, { perMinute, left: share.left + share.mine, resetMs: share.endsAt - now() });
    return true;
  };

  const admit = async (
    share: Share,
    principal: Principal,
    { perMinute, reply }: Admission,
  ): Promise<void> => {
    for (;;) {
      const spent = share.left === 0 && share.mine < 1 && now() < share.endsAt;
      if (!spent) {
        try {
          await take(share, principal, perMinute);
        } catch {
          return local.admit(principal, reply);
        }
        if (use(share, perMinute, reply)) return;
        if (share.left > 0) continue;
      }
      const resetMs = share.endsAt - now();
      rateHeaders(reply, { perMinute, left: 0, resetMs });
      throw tooMany(perMinute, resetMs);
    }
  };

  return {
    ...local,
    admit: (principal, reply) => {
      const perMinute = principal.limits?.ratePerMinute ?? options.ratePerMinute;
      if (perMinute === 0) return;
      const share = shareOf(principal.keyId);
      if (use(share, perMinute, reply)) return;
      return admit(share, principal, { perMinute, reply });
    },
  };
}

interface Admission {
  perMinute: number;
  reply: FastifyReply;
}
