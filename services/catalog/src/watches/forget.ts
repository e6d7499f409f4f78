/** Deletes what is left of a deleted watch. */

import type { CatalogStore } from '../store.ts';
import type { WatchStateDoc } from './documents.ts';

const batchSize = 100;

/** The records of its runs go when they expire. */
export async function forgetWatch(
  { store }: { store: Pick<CatalogStore, 'watchSnapshots' | 'watchStates'> },
  { accountId, id }: Pick<WatchStateDoc, 'accountId' | 'id'>,
): Promise<void> {
  const filter = { accountId, idPrefix: `${id}/`, limit: batchSize };
  while ((await store.watchSnapshots.deleteMany(filter)) === filter.limit);
  await store.watchStates.delete(accountId, id);
}
