/** Bounds the bytes of what runs, events and deliveries leave of an account. The newest stay. */

import type { Collection, Doc } from '@datahub/document-store';

type Kept = Pick<Collection<Doc>, 'findSummaries' | 'deleteMany'>;

/** What each document takes, at least. */
const documentBytes = 1_024;
const pageSize = 5_000;
const deletedAtOnce = 100;
const bytesMaxDefault = 268_435_456;
const checkedEvery = 1_048_576;

/** Call when documents are written: on average once for a megabyte, it deletes the oldest. */
export async function trimNowAndThen(
  kept: Kept,
  accountId: string,
  written: readonly { size?: number }[],
): Promise<void> {
  const bytes = written.reduce((sum, { size = 0 }) => sum + Math.max(size, documentBytes), 0);
  if (Math.random() < bytes / checkedEvery) await trimOldest(kept, accountId);
}

/** Ids sort by time, so the first ones go. Their `size` is in the summary of the collection. */
export async function trimOldest(kept: Kept, accountId: string, bytesMax = bytesMaxDefault): Promise<void> {
  const found = await bytesOf(kept, { accountId });
  let sum = sumOf(found);
  const first = found.find(({ bytes }) => {
    if (sum <= bytesMax) return true;
    sum -= bytes;
    return false;
  });
  if (first === undefined || first === found[0]) return;
  const older = { accountId, beforeId: first.id, limit: deletedAtOnce };
  while ((await kept.deleteMany(older)) === deletedAtOnce);
}

interface KeptBytes {
  id: string;
  bytes: number;
}

async function bytesOf(
  kept: Pick<Kept, 'findSummaries'>,
  { accountId }: { accountId: string },
): Promise<KeptBytes[]> {
  const found: KeptBytes[] = [];
  for (let last = pageSize; last === pageSize; ) {
    const afterId = found.at(-1)?.id;
    const after = afterId === undefined ? {} : { afterId };
    const page = await kept.findSummaries({ accountId, ...after, limit: pageSize });
    for (const { id, size } of page) found.push({ id, bytes: Math.max(Number(size ?? 0), documentBytes) });
    last = page.length;
  }
  return found;
}

export const keptBytes = async (kept: Pick<Kept, 'findSummaries'>, accountId: string): Promise<number> =>
  sumOf(await bytesOf(kept, { accountId }));

const sumOf = (found: readonly KeptBytes[]): number => found.reduce((sum, { bytes }) => sum + bytes, 0);

/** Smaller documents are counted now and then. */
const countedMin = 65_536;

/** Whether an account has room for one more document, beside those whose ids do not begin with `ownPrefix`. */
export async function hasRoom(
  kept: Pick<Kept, 'findSummaries'>,
  { accountId, ownPrefix, bytes }: { accountId: string; ownPrefix: string; bytes: number },
  bytesMax = bytesMaxDefault,
): Promise<boolean> {
  if (Math.random() >= bytes / countedMin) return true;
  const others = (await bytesOf(kept, { accountId })).filter(({ id }) => !id.startsWith(ownPrefix));
  return sumOf(others) + bytes <= bytesMax;
}
