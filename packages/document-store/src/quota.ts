/** How many documents of a kind an account may have, so that nobody fills the store by making things. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Collection, Doc } from './document-store.ts';

export interface Quota {
  /**
   * To be called before one of `what` is made. Rejects with QUOTA_EXCEEDED. What is made at the same moment, here or
   * by another process, is not seen: an account may get past its bound by a hundredth.
   */
  requireRoom<T extends Doc>(collection: Collection<T>, accountId: string, what: string): Promise<void>;
}

/** Accounts and kinds whose last count is remembered. */
const rememberedMax = 10_000;

/** At most `max` of each kind; 0 for no bound. */
export function createQuota(max: number): Quota {
  /** How many more may be made before they are counted again: counting takes as long as there are many. */
  const credits = new Map<string, number>();
  return {
    requireRoom: async (collection, accountId, what) => {
      if (max === 0) return;
      const name = `${what} ${accountId}`;
      const credit = credits.get(name) ?? 0;
      credits.delete(name);
      if (credit > 0) {
        credits.set(name, credit - 1);
        return;
      }
      const count = await collection.count({ accountId });
      if (count >= max) {
        throw new HubError(
          'QUOTA_EXCEEDED',
          `The account has ${count} ${what} already, and ${max} are allowed. Delete what is not needed, or ask the operator for more.`,
        );
      }
      if (credits.size >= rememberedMax) credits.delete(credits.keys().next().value as string);
      // Many processes may each take so much.
      credits.set(name, Math.floor((max - count) / 100));
    },
  };
}
