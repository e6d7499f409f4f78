/** Bounds the bytes of the rows that the runs of an account told. The newest stay. */

import type { CatalogStore } from '../store.ts';

/** What each document takes, at least. */
const documentBytes = 1_024;
const pageSize = 5_000;
const deletedAtOnce = 100;
const rowsBytesMax = 268_435_456;

/** Ids sort by time, so the first ones go. */
export async function trimRows(
  { watchRunRows }: Pick<CatalogStore, 'watchRunRows'>,
  accountId: string,
  bytesMax = rowsBytesMax,
): Promise<void> {
  const kept: { id: string; bytes: number }[] = [];
  let sum = 0;
  for (let last = pageSize; last === pageSize; ) {
    const afterId = kept.at(-1)?.id;
    const after = afterId === undefined ? {} : { afterId };
    const page = await watchRunRows.findSummaries({ accountId, ...after, limit: pageSize });
    for (const { id, size } of page) {
      const bytes = Math.max(Number(size ?? 0), documentBytes);
      kept.push({ id, bytes });
      sum += bytes;
    }
    last = page.length;
  }
  const first = kept.find(({ bytes }) => {
    if (sum <= bytesMax) return true;
    sum -= bytes;
    return false;
  });
  if (first === undefined || first === kept[0]) return;
  const older = { accountId, beforeId: first.id, limit: deletedAtOnce };
  while ((await watchRunRows.deleteMany(older)) === deletedAtOnce);
}
