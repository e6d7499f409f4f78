/**
 * Rate limits shared by several gateways. The catalog keeps a counter for each minute, and each gateway takes requests
 * from it in batches. All gateways together admit as many requests as one would, minus what a gateway has taken and not
 * used, at most a fiftieth of the budget. While the catalog cannot be reached, each gateway counts for itself. Refused
 * keys of an address are counted in the same way, under an account id that no account has.
 */

import type { Principal } from '@datahub/proto/common/v1/principal';
import type { KeyForm } from '@datahub/service-kit/api-key';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { joined } from '@datahub/service-kit/yield-to-loop';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Upstreams } from '../upstreams.ts';
import {
  type Budget,
  budgetsOf,
  type RateLimiter,
  rateHeaders,
  rateLimited,
  refusalsMax,
  refusalsName,
  tooManyRefused,
} from './rate-limiter.ts';

export interface SharedRateLimiterOptions {
  catalog: Pick<Upstreams['catalog'], 'takeRequests'>;
  /** For keys without a rate of their own; 0 for no limit. */
  ratePerMinute: number;
  unknownKeysPerMinute: number;
  /** Counts while the catalog cannot be reached. */
  local: RateLimiter;
  keysMax?: number;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

interface Share {
  /** Taken and not yet used. Below 0: used before it was taken. */
  balance: number;
  /** What no gateway had taken at the last call. */
  left: number;
  endsAt: number;
  taking: Promise<void> | undefined;
  /** For refused keys: settles when all of them so far are counted. */
  counting: Promise<void> | undefined;
}

const takeTimeoutMs = 2_000;
/** After a failed call each gateway counts for itself, and calls again in the background after this pause. */
const awayPauseMs = 1_000;
const batchesAMinute = 50;
const refusedKeysAccount = 'unknown-keys';
/** How long an address waits that has too many refused keys which are not counted yet. */
const countingMs = 1_000;

export const createSharedRateLimiter = (options: SharedRateLimiterOptions): RateLimiter =>
  new SharedRateLimiter(options);

class SharedRateLimiter implements RateLimiter {
  readonly #options: SharedRateLimiterOptions;
  readonly #now: () => number;
  readonly #keys: LRUCache<string, Share>;
  readonly #networks: LRUCache<string, Share>;
  /** When the catalog is called again; 0 while it answers. */
  #awayUntil = 0;

  constructor(options: SharedRateLimiterOptions) {
    const { keysMax: max = 50_000, now = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    this.#keys = new LRUCache({ max });
    this.#networks = new LRUCache({ max });
  }

  admit(principal: Principal, reply: FastifyReply): void | Promise<void> {
    const draws = budgetsOf(principal, this.#options.ratePerMinute).map(({ id, perMinute }) => ({
      perMinute,
      principal: id === principal.keyId ? principal : { ...principal, keyId: id },
      share: shareOf(this.#keys, id),
    }));
    if (draws.length === 0 || this.#use(draws, reply)) return;
    if (this.#awayUntil > 0) {
      this.#callAgain(draws[0] as Draw);
      return this.#options.local.admit(principal, reply);
    }
    return this.#wait(draws, principal, reply);
  }

  admitUser(user: Principal, perMinute: number, reply: FastifyReply): void {
    this.#options.local.admitUser(user, perMinute, reply);
  }

  requireFewRefusals(address: string, form: KeyForm): void {
    this.#options.local.requireFewRefusals(address, form);
    const share = this.#networks.get(refusalsName(address, form));
    if (share === undefined || this.#now() >= share.endsAt) return;
    if (share.left === 0 && share.balance < 1) throw tooManyRefused(share.endsAt - this.#now());
    const perMinute = refusalsMax(form, this.#options.unknownKeysPerMinute);
    if (share.balance <= -uncountedMax(perMinute)) throw tooManyRefused(countingMs);
  }

  noteRefusedKey(address: string, form: KeyForm): void | Promise<void> {
    this.#options.local.noteRefusedKey(address, form);
    const keyId = refusalsName(address, form);
    const share = shareOf(this.#networks, keyId);
    share.balance--;
    if (share.balance >= 1) return;
    const principal = { accountId: refusedKeysAccount, keyId, scopes: [], limits: undefined };
    const perMinute = refusalsMax(form, this.#options.unknownKeysPerMinute);
    share.counting ??= this.#countRefusals({ share, principal, perMinute }).finally(() => {
      share.counting = undefined;
    });
    return joined(share.counting);
  }

  /** Finds out in the background whether the catalog can be reached again. */
  #callAgain(draw: Draw): void {
    if (this.#now() < this.#awayUntil) return;
    this.#awayUntil = Number.POSITIVE_INFINITY;
    this.#take(draw).then(
      () => {
        this.#awayUntil = 0;
      },
      () => {
        this.#awayUntil = this.#now() + awayPauseMs;
      },
    );
  }

  /** One call at a time for a key. */
  #take(draw: Draw): Promise<void> {
    draw.share.taking ??= this.#takeBatch(draw).finally(() => {
      draw.share.taking = undefined;
    });
    return draw.share.taking;
  }

  async #takeBatch({ share, principal, perMinute }: Draw): Promise<void> {
    const sentAt = this.#now();
    const count = batchOf(perMinute) + Math.max(0, -share.balance);
    const ctx = createCallContext({ timeoutMs: takeTimeoutMs, principal });
    const { granted, left, resetMs } = await this.#options.catalog.takeRequests({ perMinute, count }, ctx);
    // What was taken in an earlier minute does not count in a new one.
    if (sentAt + resetMs > share.endsAt + 1_000) share.balance = Math.min(0, share.balance);
    share.balance += granted;
    share.left = left;
    share.endsAt = sentAt + resetMs;
  }

  #hasRequest(share: Share): boolean {
    return share.balance >= 1 && this.#now() < share.endsAt;
  }

  /** Takes one request from each share, if all have one. The headers describe the budget with the least left. */
  #use(draws: readonly Draw[], reply: FastifyReply): boolean {
    if (!draws.every(({ share }) => this.#hasRequest(share))) return false;
    for (const { share } of draws) share.balance--;
    const leftOf = ({ share }: Draw) => share.left + share.balance;
    const least = draws.reduce((one, other) => (leftOf(other) < leftOf(one) ? other : one));
    const resetMs = least.share.endsAt - this.#now();
    rateHeaders(reply, { perMinute: least.perMinute, left: leftOf(least), resetMs });
    return true;
  }

  async #wait(draws: readonly Draw[], principal: Principal, reply: FastifyReply): Promise<void> {
    do {
      for (const draw of draws) {
        try {
          await this.#fill(draw, reply);
        } catch (err) {
          if (err instanceof HubError && err.code === 'RATE_LIMITED') throw err;
          this.#awayUntil = this.#now() + awayPauseMs;
          return this.#options.local.admit(principal, reply);
        }
      }
    } while (!this.#use(draws, reply));
  }

  /** Waits until the share has a request. Throws RATE_LIMITED. */
  async #fill(draw: Draw, reply: FastifyReply): Promise<void> {
    const { share, perMinute } = draw;
    while (!this.#hasRequest(share)) {
      const spent = share.left === 0 && share.balance < 1 && this.#now() < share.endsAt;
      if (!spent) await joined(this.#take(draw));
      if (this.#hasRequest(share) || share.left > 0) continue;
      const resetMs = share.endsAt - this.#now();
      rateHeaders(reply, { perMinute, left: 0, resetMs });
      throw rateLimited(perMinute, resetMs);
    }
  }

  /** Settles when all refusals so far are counted, or the budget of the minute is used up. */
  async #countRefusals(draw: Draw): Promise<void> {
    try {
      do await this.#take(draw);
      while (draw.share.balance < 1 && draw.share.left > 0);
    } catch {
      // While the catalog cannot be reached, only the local limiter counts.
    }
  }
}

function shareOf(shares: LRUCache<string, Share>, id: string): Share {
  let share = shares.get(id);
  if (share === undefined) {
    share = {
      balance: 0,
      left: Number.POSITIVE_INFINITY,
      endsAt: 0,
      taking: undefined,
      counting: undefined,
    };
    shares.set(id, share);
  }
  return share;
}

/** How many refused keys of an address may be uncounted. A caller that sends them one after the other stays below. */
const uncountedMax = (perMinute: number): number => Math.max(10, Math.floor(perMinute / 10));

const batchOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / batchesAMinute));

interface Draw extends Omit<Budget, 'id'> {
  share: Share;
  /** Whose key id names the budget. */
  principal: Principal;
}
