/**
 * The queries that have a cache, and the choice of the executor that caches their answers. With rendezvous hashing, all
 * gateways choose the same executor, and if it is gone, the same next one.
 */

import { LRUCache } from 'lru-cache';

const queriesMax = 10_000;
/** After this time, a query that lost its cache setting can go to any executor again. */
const rememberedMs = 60_000;

export interface CachedQueries {
  has(name: string): boolean;
  add(name: string): void;
}

/**
 * Creates the set of one gateway, which learns the queries from the executors. `name` has the account and the query.
 */
export function createCachedQueries(): CachedQueries {
  const names = new LRUCache<string, true>({ max: queriesMax, ttl: rememberedMs, ttlResolution: 1_000 });
  return {
    has: (name) => names.size > 0 && names.has(name),
    add: (name) => void names.set(name, true),
  };
}

/**
 * The executor with the highest score caches the query. FNV-1a with the finalizer of MurmurHash3, which spreads the
 * bits.
 */
export function scoreOf(name: string, address: string): number {
  const text = `${name} ${address}`;
  let score = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) score = Math.imul(score ^ text.charCodeAt(i), 0x01000193);
  score = Math.imul(score ^ (score >>> 16), 0x85ebca6b);
  score = Math.imul(score ^ (score >>> 13), 0xc2b2ae35);
  return (score ^ (score >>> 16)) >>> 0;
}
