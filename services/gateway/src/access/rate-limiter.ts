/** Limits the requests of a key, and the refused keys of an address, with token buckets in memory. */

import { hash } from 'node:crypto';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { KeyForm } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { keyLimits } from './key-limits.ts';

export interface RateLimiterOptions {
  /** For keys without a rate of their own; 0 for no limit. */
  ratePerMinute: number;
  unknownKeysPerMinute: number;
  /** The least recently used bucket is dropped first. */
  bucketsMax?: number;
  /** Monotonic, in milliseconds. */
  now?: () => number;
}

export interface RateLimiter {
  /** Takes one request from each budget of the key and sets the headers. Throws or rejects with RATE_LIMITED. */
  admit(principal: Principal, reply: FastifyReply): void | Promise<void>;
  /** Takes one request from the budget of a signed-in user, which each gateway counts for itself. */
  admitUser(user: Principal, perMinute: number, reply: FastifyReply): void;
  /** Throws RATE_LIMITED while an address has sent too many refused keys of this form. */
  requireFewRefusals(address: string, form: KeyForm): void;
  /** The refusal is answered after it is counted, so a caller that waits for each answer cannot exceed the limit. */
  noteRefusedKey(address: string, form: KeyForm): void | Promise<void>;
}

/**
 * How often an address may be refused in a minute, for each form by itself: a client whose keys are malformed refuses
 * nobody else at its address. Nobody guesses what is random, so there the limit only bounds the look-ups.
 */
export const refusalsMax = (form: KeyForm, unknownKeysPerMinute: number): number =>
  form === 'random' ? 20 * unknownKeysPerMinute : unknownKeysPerMinute;

interface Bucket {
  tokens: number;
  filledAt: number;
}

const minuteMs = 60_000;

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { bucketsMax = 50_000, now = () => performance.now() } = options;
  const keys = new LRUCache<string, Bucket>({ max: bucketsMax });
  const users = new LRUCache<string, Bucket>({ max: bucketsMax });
  const networks = new LRUCache<string, Bucket>({ max: bucketsMax });

  /** The bucket, refilled for the time since its last use. */
  const bucketOf = (buckets: LRUCache<string, Bucket>, name: string, perMinute: number): Bucket => {
    const at = now();
    let bucket = buckets.get(name);
    if (bucket === undefined) {
      bucket = { tokens: perMinute, filledAt: at };
      buckets.set(name, bucket);
    }
    bucket.tokens = Math.min(perMinute, bucket.tokens + ((at - bucket.filledAt) * perMinute) / minuteMs);
    bucket.filledAt = at;
    return bucket;
  };

  const refuse = (bucket: Bucket, perMinute: number): HubError =>
    rateLimited(perMinute, ((1 - bucket.tokens) * minuteMs) / perMinute);

  return {
    admit: (principal, reply) => {
      const budgets = budgetsOf(principal, options.ratePerMinute);
      if (budgets.length === 0) return;
      const all = budgets.map(({ id, perMinute }) => ({ perMinute, bucket: bucketOf(keys, id, perMinute) }));
      const { bucket, perMinute } = all.reduce((one, other) =>
        other.bucket.tokens < one.bucket.tokens ? other : one,
      );
      const admitted = bucket.tokens >= 1;
      if (admitted) for (const { bucket } of all) bucket.tokens -= 1;
      const resetMs = ((perMinute - bucket.tokens) * minuteMs) / perMinute;
      rateHeaders(reply, { perMinute, left: Math.floor(bucket.tokens), resetMs });
      if (!admitted) throw refuse(bucket, perMinute);
    },

    admitUser: ({ keyId, user }, perMinute, reply) => {
      // A subject can be as long as a token.
      const name = hash('sha256', JSON.stringify([keyId, user?.issuer, user?.subject]), 'base64url');
      const bucket = bucketOf(users, name, perMinute);
      const admitted = bucket.tokens >= 1;
      if (admitted) bucket.tokens -= 1;
      const resetMs = ((perMinute - bucket.tokens) * minuteMs) / perMinute;
      userRateHeaders(reply, { perMinute, left: Math.floor(bucket.tokens), resetMs });
      if (!admitted) throw refuse(bucket, perMinute);
    },

    requireFewRefusals: (address, form) => {
      const name = refusalsName(address, form);
      if (!networks.has(name)) return;
      const perMinute = refusalsMax(form, options.unknownKeysPerMinute);
      const bucket = bucketOf(networks, name, perMinute);
      if (bucket.tokens < 1) throw tooManyRefused(((1 - bucket.tokens) * minuteMs) / perMinute);
    },

    noteRefusedKey: (address, form) => {
      const perMinute = refusalsMax(form, options.unknownKeysPerMinute);
      bucketOf(networks, refusalsName(address, form), perMinute).tokens -= 1;
    },
  };
}

export interface Budget {
  id: string;
  perMinute: number;
}

/** The budgets that each request of a key uses: its own, and those of the keys with a rate that it was made with. */
export function budgetsOf({ keyId, limits, budgets }: Principal, ratePerMinute: number): Budget[] {
  if (budgets === undefined) {
    const perMinute = keyLimits.ratePerMinute(limits, ratePerMinute);
    return perMinute > 0 ? [{ id: keyId, perMinute }] : [];
  }
  return budgets.budgets
    .map(({ id, perMinute = ratePerMinute }) => ({ id, perMinute }))
    .filter(({ perMinute }) => perMinute > 0);
}

/** The name of what is counted: a network, and the form of its keys. */
export const refusalsName = (address: string, form: KeyForm): string => `${form}/${networkOf(address)}`;

/** The network that an address is counted for: a /64 of IPv6, since one host usually has all of its addresses. */
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

export const rateHeaderNames = ['ratelimit', 'ratelimit-policy'];

/** Sets `RateLimit` and `RateLimit-Policy`. */
export function rateHeaders(
  reply: FastifyReply,
  { perMinute, left, resetMs }: { perMinute: number; left: number; resetMs: number },
): void {
  reply.header('ratelimit-policy', `"default";q=${perMinute};w=60`);
  reply.header('ratelimit', `"default";r=${left};t=${Math.ceil(resetMs / 1_000)}`);
}

/** Adds the budget of the user to the headers of the key. */
function userRateHeaders(
  reply: FastifyReply,
  { perMinute, left, resetMs }: { perMinute: number; left: number; resetMs: number },
): void {
  const add = (name: string, value: string) => {
    const before = reply.getHeader(name);
    reply.header(name, before === undefined ? value : `${before}, ${value}`);
  };
  add('ratelimit-policy', `"user";q=${perMinute};w=60`);
  add('ratelimit', `"user";r=${left};t=${Math.ceil(resetMs / 1_000)}`);
}

export function rateLimited(perMinute: number, retryAfterMs: number): HubError {
  return new HubError('RATE_LIMITED', `At most ${perMinute} requests a minute. Try again later.`, {
    retryable: true,
    retryAfterMs,
  });
}

export const tooManyRefused = (retryAfterMs: number): HubError =>
  new HubError('RATE_LIMITED', 'Your address has sent too many keys that were refused. Try again later.', {
    retryable: true,
    retryAfterMs,
  });
