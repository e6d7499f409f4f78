/**
 * The sources of queries, which a gateway learns from executors. All gateways send the calls to one source to the same
 * executors, where its connections are open and its statements prepared.
 */

import { LRUCache } from 'lru-cache';

const queriesMax = 20_000;
/** After this time, a query that was bound to another source is noticed. */
const rememberedMs = 300_000;

export interface QuerySources {
  get(name: string): string | undefined;
  set(name: string, sourceId: string): void;
}

/** `name` has the account and the query. */
export function createQuerySources(): QuerySources {
  const sources = new LRUCache<string, string>({ max: queriesMax, ttl: rememberedMs, ttlResolution: 1_000 });
  return {
    get: (name) => sources.get(name),
    set: (name, sourceId) => void sources.set(name, sourceId),
  };
}
