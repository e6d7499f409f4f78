/** Bounds how many documents of a kind an account may have, so that no account can fill the store. */

import { HubError } from '@datahub/service-kit/call/error';
import { LRUCache } from 'lru-cache';
import type { Collection, Doc } from './document-store.ts';

export interface Quota {
  /**
   * Call this before inserting a document of `what`. Rejects with QUOTA_EXCEEDED, unless an earlier attempt has inserted it.
   * Concurrent inserts, here or in other processes, are not counted, so an account can exceed its quota by 1 %.
   */
  requireRoom<T extends Doc>(
    collection: Collection<T>,
    doc: Pick<Doc, 'accountId' | 'id'>,
    what: string,
  ): Promise<void>;
}

const cachedCountsMax = 10_000;

/** At most `max` of each kind; 0 for no bound. */
export function createQuota(max: number): Quota {
  if (max === 0) return { requireRoom: async () => {} };
  /** How many more an account may create before they are counted again, because counting takes time linear in them. */
  const credits = new LRUCache<string, number>({ max: cachedCountsMax });
  return {
    requireRoom: async (collection, { accountId, id }, what) => {
      const key = `${what} ${accountId}`;
      const credit = credits.get(key) ?? 0;
      if (credit > 0) {
        credits.set(key, credit - 1);
        return;
      }
      const count = await collection.count({ accountId });
      if (count >= max) {
        if ((await collection.get(accountId, id)) !== null) return;
        throw new HubError(
          'QUOTA_EXCEEDED',
          `The account has ${count} ${what} already, and ${max} are allowed. Delete what is not needed, or ask the operator for more.`,
        );
      }
      // Other processes may hold the same credit at the same time.
      credits.set(key, Math.floor((max - count) / 100));
    },
  };
}
