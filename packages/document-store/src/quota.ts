/** Bounds how many documents of a kind an account may have, so that no account can fill the store. */

import { HubError } from '@datahub/service-kit/call/error';
import { LRUCache } from 'lru-cache';
import type { Collection, Doc } from './document-store.ts';
import { createKeyedMutex, type KeyedMutex } from './keyed-mutex.ts';

export interface Quota {
  /**
   * Call this before inserting a document of `what`, and dispose what it resolves with after the insert: the next document
   * of the account and kind may wait for that. Rejects with QUOTA_EXCEEDED, unless an earlier attempt has inserted the
   * document. Each further process that inserts at the same time can exceed the quota by one document, or by 1 %.
   */
  requireRoom<T extends Doc>(
    collection: Collection<T>,
    doc: Pick<Doc, 'accountId' | 'id'>,
    what: string,
  ): Promise<Disposable>;
}

const cachedCountsMax = 10_000;

const free: Disposable = { [Symbol.dispose]: () => {} };

/** At most `max` of each kind; 0 for no bound. */
export function createQuota(max: number): Quota {
  if (max === 0) return { requireRoom: async () => free };
  const mutex = createKeyedMutex();
  /** How many more an account may create before they are counted again, because counting takes time linear in them. */
  const credits = new LRUCache<string, number>({ max: cachedCountsMax });
  const hasCredit = (key: string): boolean => {
    const credit = credits.get(key) ?? 0;
    if (credit > 0) credits.set(key, credit - 1);
    return credit > 0;
  };
  return {
    requireRoom: async (collection, doc, what) => {
      const { accountId } = doc;
      const key = `${what} ${accountId}`;
      if (hasCredit(key)) return free;
      const turn = await takeTurn(mutex, key);
      try {
        if (hasCredit(key)) return endTurn(turn);
        const count = await collection.count({ accountId });
        if (count >= max) await requireInserted(collection, doc, { count, max, what });
        // Other processes may hold the same credit at the same time.
        credits.set(key, Math.max(0, Math.floor((max - count) / 100)));
        return turn;
      } catch (err) {
        turn[Symbol.dispose]();
        throw err;
      }
    },
  };
}

function takeTurn(mutex: KeyedMutex, key: string): Promise<Disposable> {
  return new Promise((enter) => {
    const untilLeft = () => new Promise<void>((leave) => enter({ [Symbol.dispose]: leave }));
    void mutex(key, untilLeft);
  });
}

function endTurn(turn: Disposable): Disposable {
  turn[Symbol.dispose]();
  return free;
}

async function requireInserted<T extends Doc>(
  collection: Collection<T>,
  { accountId, id }: Pick<Doc, 'accountId' | 'id'>,
  { count, max, what }: { count: number; max: number; what: string },
): Promise<void> {
  if ((await collection.get(accountId, id)) !== null) return;
  throw new HubError(
    'QUOTA_EXCEEDED',
    `The account has ${count} ${what} already, and ${max} are allowed. Delete what is not needed, or ask the operator for more.`,
  );
}
