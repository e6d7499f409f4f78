/** Deletes what is left of a deleted watch. */

import { inGroups } from '@datahub/service-kit/yield-to-loop';
import type { CatalogStore } from '../store.ts';
import type { WatchStateDoc } from './documents.ts';

const batchSize = 100;
/** Rows that are deleted at a time. Those of one run can have some megabytes. */
const atOnce = 4;

type Store = Pick<CatalogStore, 'watchRunRows' | 'watchRuns' | 'watchSnapshots' | 'watchStates'>;

/** The records of its runs go when they expire, and without the rows that they told. */
export async function forgetWatch(
  { store }: { store: Store },
  watch: Pick<WatchStateDoc, 'accountId' | 'id'>,
): Promise<void> {
  const { accountId, id } = watch;
  const filter = { accountId, idPrefix: `${id}/`, limit: batchSize };
  while ((await store.watchSnapshots.deleteMany(filter)) === filter.limit);
  await forgetRows(store, watch);
  // Last: a state without a watch has this done again.
  await store.watchStates.delete(accountId, id);
}

async function forgetRows(
  { watchRuns, watchRunRows }: Store,
  { accountId, id: watchId }: Pick<WatchStateDoc, 'accountId' | 'id'>,
): Promise<void> {
  for (let after = {}; ; ) {
    const runs = await watchRuns.find({ accountId, where: { watchId }, ...after, limit: batchSize });
    const told = runs.flatMap(({ rowsId }) => rowsId ?? []);
    await inGroups(told, atOnce, (rowsId) => watchRunRows.delete(accountId, rowsId));
    const last = runs.at(-1);
    if (last === undefined || runs.length < batchSize) return;
    after = { afterId: last.id };
  }
}
