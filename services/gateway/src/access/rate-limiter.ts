/** How often a key, and an address without a good key, may ask. Token buckets in memory, bounded in number. */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply } from 'fastify';
import { keyLimits } from './key-limits.ts';

export interface LimitsOptions {
  /** For keys without a rate of their own; 0 for no limit. */
  ratePerMinute: number;
  unknownKeysPerMinute: number;
  bucketsMax?: number;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

export interface Limits {
  /** Takes one request off each budget of the key and says in headers what is left. Throws or rejects with RATE_LIMITED. */
  admit(principal: Principal, reply: FastifyReply): void | Promise<void>;
  /** Throws RATE_LIMITED while an address has sent too many bad keys. */
  requireTolerance(address: string): void;
  /** A refusal is answered once it is counted, so that nobody who waits for answers gets ahead of the count. */
  noteRefusedKey(address: string): void | Promise<void>;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

const minuteMs = 60_000;

export function createLimits(options: LimitsOptions): Limits {
  const { bucketsMax = 50_000, now = () => performance.now() } = options;
  const keys = new Map<string, Bucket>();
  const addresses = new Map<string, Bucket>();

  /** The bucket, filled up to this moment; one that was not used for long makes way for new ones. */
  const bucketOf = (buckets: Map<string, Bucket>, name: string, perMinute: number): Bucket => {
    const at = now();
    let bucket = buckets.get(name);
    if (bucket === undefined) {
      if (buckets.size >= bucketsMax) buckets.delete(buckets.keys().next().value as string);
      bucket = { tokens: perMinute, filledAt: at };
      buckets.set(name, bucket);
    }
    bucket.tokens = Math.min(perMinute, bucket.tokens + ((at - bucket.filledAt) * perMinute) / minuteMs);
    bucket.filledAt = at;
    return bucket;
  };

  const refuse = (bucket: Bucket, perMinute: number): HubError =>
    tooMany(perMinute, ((1 - bucket.tokens) * minuteMs) / perMinute);

  return {
    admit: (principal, reply) => {
      const all = budgetsOf(principal, options.ratePerMinute).map(({ id, perMinute }) => ({
        perMinute,
        bucket: bucketOf(keys, id, perMinute),
      }));
      if (all.length === 0) return;
      const { bucket, perMinute } = all.reduce((one, other) =>
        other.bucket.tokens < one.bucket.tokens ? other : one,
      );
      const admitted = bucket.tokens >= 1;
      if (admitted) for (const { bucket } of all) bucket.tokens -= 1;
      const resetMs = ((perMinute - bucket.tokens) * minuteMs) / perMinute;
      rateHeaders(reply, { perMinute, left: Math.floor(bucket.tokens), resetMs });
      if (!admitted) throw refuse(bucket, perMinute);
    },

    requireTolerance: (address) => {
      const network = networkOf(address);
      if (!addresses.has(network)) return;
      const bucket = bucketOf(addresses, network, options.unknownKeysPerMinute);
      if (bucket.tokens < 1) throw refuse(bucket, options.unknownKeysPerMinute);
    },

    noteRefusedKey: (address) => {
      bucketOf(addresses, networkOf(address), options.unknownKeysPerMinute).tokens -= 1;
    },
  };
}

export interface Budget {
  id: string;
  perMinute: number;
}

/** What each request of a key draws on: its own budget, and those of the rated keys that it was made with. */
export function budgetsOf({ keyId, limits, budgets }: Principal, ratePerMinute: number): Budget[] {
  if (budgets === undefined) {
    const perMinute = keyLimits.ratePerMinute(limits, ratePerMinute);
    return perMinute > 0 ? [{ id: keyId, perMinute }] : [];
  }
  return budgets.budgets
    .map(({ id, perMinute = ratePerMinute }) => ({ id, perMinute }))
    .filter(({ perMinute }) => perMinute > 0);
}

/** Whom an address stands for: of IPv6 the first 64 bits, for whoever has one such address has all of them. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [head = '', tail] = (address.split('%', 1)[0] as string).split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  while (groups.length + after.length < 8) groups.push('0');
  const network = [...groups, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}

/** What is left of a key's budget, as `RateLimit` and `RateLimit-Policy` say it. */
export function rateHeaders(
  reply: FastifyReply,
  { perMinute, left, resetMs }: { perMinute: number; left: number; resetMs: number },
): void {
  reply.header('ratelimit-policy', `"default";q=${perMinute};w=60`);
  reply.header('ratelimit', `"default";r=${left};t=${Math.ceil(resetMs / 1_000)}`);
}

export function tooMany(perMinute: number, retryAfterMs: number): HubError {
  return new HubError('RATE_LIMITED', `At most ${perMinute} requests a minute. Try again later.`, {
    retryable: true,
    retryAfterMs,
  });
}
