/**
 * Keeps the most recently used classifiers in memory, bounded in number and in bytes. The others are only in the store.
 */

import type { ClassifierDeps } from './classifier-deps.ts';
import { ClassifierLog } from './classifier-log.ts';

export interface ClassifierCache {
  get(accountId: string, classifierId: string): ClassifierLog;
  delete(classifierId: string): void;
  /** Evicts idle classifiers, and the least recently used ones while the cache exceeds its bounds. */
  sweep(): void;
  readonly count: number;
  /** The memory of all cached classifiers in bytes. */
  readonly size: number;
}

export interface ClassifierCacheOptions {
  countMax: number;
  bytesMax: number;
  idleMs: number;
}

export function createClassifierCache(
  deps: Omit<ClassifierDeps, 'onLoaded'>,
  options: ClassifierCacheOptions,
): ClassifierCache {
  /** In order of use: the most recently used classifier is last. */
  const cached = new Map<string, ClassifierLog>();
  const sizeOf = (logs: Iterable<ClassifierLog>) => {
    let size = 0;
    for (const log of logs) size += log.size;
    return size;
  };
  const drop = (key: string, log: ClassifierLog) => {
    cached.delete(key);
    log.release();
  };
  /**
   * Evicts the least recently used classifier of the account that uses the most memory, so one account doesn't evict
   * the classifiers of others. Never evicts `used`.
   */
  const trim = (used?: ClassifierLog) => {
    let size = sizeOf(cached.values());
    while (cached.size > options.countMax || size > options.bytesMax) {
      const sizes = new Map<string, number>();
      for (const log of cached.values()) {
        // Their number is bounded, too, so an empty classifier counts as a byte.
        sizes.set(log.accountId, (sizes.get(log.accountId) ?? 1) + log.size + 1);
      }
      let most: string | undefined;
      for (const [accountId, own] of sizes)
        if (most === undefined || own > (sizes.get(most) ?? 0)) most = accountId;
      const found = [...cached].find(([, log]) => log.accountId === most && log !== used);
      if (found === undefined) return;
      const [key, log] = found;
      size -= log.size;
      drop(key, log);
    }
  };
  const open = (accountId: string, classifierId: string): ClassifierLog => {
    const log: ClassifierLog = new ClassifierLog(accountId, classifierId, {
      ...deps,
      onLoaded: () => trim(log),
    });
    return log;
  };
  return {
    get: (accountId, classifierId) => {
      const key = `${accountId}/${classifierId}`;
      const log = cached.get(key) ?? open(accountId, classifierId);
      cached.delete(key);
      cached.set(key, log);
      trim(log);
      return log;
    },
    delete: (classifierId) => {
      for (const [key, log] of cached) if (key.endsWith(`/${classifierId}`)) drop(key, log);
    },
    sweep: () => {
      const idleSince = performance.now() - options.idleMs;
      for (const [key, log] of cached) if (log.usedAt < idleSince) drop(key, log);
      trim();
    },
    get count() {
      return cached.size;
    },
    get size() {
      return sizeOf(cached.values());
    },
  };
}
