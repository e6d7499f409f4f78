/**
 * A key's budget where several gateways serve it: each takes some requests at a time off a counter of the minute that
 * the catalog keeps, so that all together admit what one would, but for what was taken and not used (a fiftieth of the
 * budget a gateway). While the catalog cannot be reached each gateway counts for itself. Refused keys of an address are
 * counted in the same way, under an account that is nobody's.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply } from 'fastify';
import type { Upstreams } from '../upstreams.ts';
import { type Budget, budgetsOf, type Limits, networkOf, rateHeaders, tooMany } from './rate-limiter.ts';

export interface SharedLimitsOptions {
  catalog: Pick<Upstreams['catalog'], 'takeRequests'>;
  /** For keys without a rate of their own; 0 for no limit. */
  ratePerMinute: number;
  unknownKeysPerMinute: number;
  /** What one gateway does by itself. */
  local: Limits;
  keysMax?: number;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

interface Share {
  /** Taken and not yet used; below 0 what was used before it was taken. */
  mine: number;
  /** Not taken by anybody when last heard of. */
  left: number;
  endsAt: number;
  taking: Promise<void> | undefined;
  /** Of refused keys: until all so far are counted. */
  counting: Promise<void> | undefined;
}

const takeTimeoutMs = 2_000;
const batchesAMinute = 50;
/** Where refused keys are counted; no account has such an id. */
const nobody = 'unknown-keys';
/** What an address waits that sends more bad keys at once than may be uncounted. */
const countingMs = 1_000;

export function createSharedLimits(options: SharedLimitsOptions): Limits {
  const { catalog, local, keysMax = 50_000, now = () => performance.now() } = options;
  const keys = new Map<string, Share>();
  const networks = new Map<string, Share>();

  const shareOf = (shares: Map<string, Share>, id: string): Share => {
    let share = shares.get(id);
    if (share === undefined) {
      if (shares.size >= keysMax) shares.delete(shares.keys().next().value as string);
      share = { mine: 0, left: Number.POSITIVE_INFINITY, endsAt: 0, taking: undefined, counting: undefined };
      shares.set(id, share);
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
    const count = batchOf(perMinute) + Math.max(0, -share.mine);
    const ctx = createCallContext({ timeoutMs: takeTimeoutMs, principal });
    const { granted, left, resetMs } = await catalog.takeRequests({ perMinute, count }, ctx);
    // A minute that began meanwhile has its own budget.
    if (askedAt + resetMs > share.endsAt + 1_000) share.mine = Math.min(0, share.mine);
    share.mine += granted;
    share.left = left;
    share.endsAt = askedAt + resetMs;
  };

  const hasOne = (share: Share): boolean => share.mine >= 1 && now() < share.endsAt;

  /** Waits until the share holds a request. Throws RATE_LIMITED. */
  const fill = async ({ share, perMinute, principal }: Draw, reply: FastifyReply): Promise<void> => {
    while (!hasOne(share)) {
      const spent = share.left === 0 && share.mine < 1 && now() < share.endsAt;
      if (!spent) await take(share, principal, perMinute);
      if (hasOne(share) || share.left > 0) continue;
      const resetMs = share.endsAt - now();
      rateHeaders(reply, { perMinute, left: 0, resetMs });
      throw tooMany(perMinute, resetMs);
    }
  };

  /** One request off each; the headers name the budget that has the least left. */
  const use = (draws: readonly Draw[], reply: FastifyReply): boolean => {
    if (!draws.every(({ share }) => hasOne(share))) return false;
    for (const { share } of draws) share.mine--;
    const leftOf = ({ share }: Draw) => share.left + share.mine;
    const least = draws.reduce((one, other) => (leftOf(other) < leftOf(one) ? other : one));
    const resetMs = least.share.endsAt - now();
    rateHeaders(reply, { perMinute: least.perMinute, left: leftOf(least), resetMs });
    return true;
  };

  const admit = async (draws: readonly Draw[], principal: Principal, reply: FastifyReply): Promise<void> => {
    do {
      for (const draw of draws) {
        try {
          await fill(draw, reply);
        } catch (err) {
          if (err instanceof HubError && err.code === 'RATE_LIMITED') throw err;
          return local.admit(principal, reply);
        }
      }
    } while (!use(draws, reply));
  };

  /** Until all refusals so far are counted, or the minute's budget is spent. */
  const countRefusals = async (share: Share, network: string): Promise<void> => {
    const principal = { accountId: nobody, keyId: network, scopes: [], limits: undefined };
    try {
      do await take(share, principal, options.unknownKeysPerMinute);
      while (share.mine < 1 && share.left > 0);
    } catch {
      // While the catalog is away, what this gateway counts by itself is all there is.
    }
  };

  return {
    requireTolerance: (address) => {
      local.requireTolerance(address);
      const share = networks.get(networkOf(address));
      if (share === undefined || now() >= share.endsAt) return;
      const perMinute = options.unknownKeysPerMinute;
      if (share.left === 0 && share.mine < 1) throw tooMany(perMinute, share.endsAt - now());
      if (share.mine <= -uncountedMax(perMinute)) throw tooMany(perMinute, countingMs);
    },

    noteRefusedKey: (address) => {
      local.noteRefusedKey(address);
      const network = networkOf(address);
      const share = shareOf(networks, network);
      share.mine--;
      if (share.mine >= 1) return;
      share.counting ??= countRefusals(share, network).finally(() => {
        share.counting = undefined;
      });
      return share.counting;
    },

    admit: (principal, reply) => {
      const draws = budgetsOf(principal, options.ratePerMinute).map(({ id, perMinute }) => ({
        perMinute,
        principal: id === principal.keyId ? principal : { ...principal, keyId: id },
        share: shareOf(keys, id),
      }));
      if (draws.length === 0 || use(draws, reply)) return;
      return admit(draws, principal, reply);
    },
  };
}

/** Bad keys of one address whose count is still asked for: who sends them one after the other never gets there. */
const uncountedMax = (perMinute: number): number => Math.max(10, Math.floor(perMinute / 10));

const batchOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / batchesAMinute));

interface Draw extends Omit<Budget, 'id'> {
  share: Share;
  /** Whose key id names the budget. */
  principal: Principal;
}
