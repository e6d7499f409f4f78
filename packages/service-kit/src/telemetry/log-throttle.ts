/** Keeps repeated events from filling the log. */

import { LRUCache } from 'lru-cache';

const keysMax = 1_000;

/** Returns a function that is true on the first call for a key, and then once in `everyMs` for the same key. */
export function createThrottle(everyMs: number, now = () => performance.now()): (key?: string) => boolean {
  const loggedAt = new LRUCache<string, number>({ max: keysMax });
  return (key = '') => {
    const at = now();
    if (at - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < everyMs) return false;
    loggedAt.set(key, at);
    return true;
  };
}
