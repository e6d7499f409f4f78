/** Reads one page of a list and the total number of documents. */

import { largestResponse } from '@datahub/contract/limits';
import type { Collection, Doc, Scalar } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';

interface ListFilter {
  accountId: string;
  where?: Record<string, Scalar>;
  descending?: boolean;
}

/** Documents of a list without a limit. */
const listMax = 10_000;
/** Read at a time: as many as are still small where each is as large as it may be. */
const batchMax = 200;

/** Throws TOO_LARGE for a page of more characters than `largestResponse`. */
export async function listPage<T extends Doc>(
  collection: Collection<T>,
  filter: ListFilter,
  page: { offset: number; limit?: number | undefined } | undefined,
): Promise<{ docs: T[]; total: number }> {
  const offset = page?.offset ?? 0;
  const limit = Math.min(page?.limit ?? listMax, listMax);
  const [docs, total] = await Promise.all([
    findBounded(collection, filter, { offset, limit }),
    collection.count({ accountId: filter.accountId, ...(filter.where ? { where: filter.where } : {}) }),
  ]);
  return { docs, total };
}

/** The same for a key that is limited to these ids. */
export async function listNamed<T extends Doc>(
  collection: Collection<T>,
  { accountId, ids, isListed }: { accountId: string; ids: string[]; isListed: (doc: T) => boolean },
  page: { offset: number; limit?: number | undefined } | undefined,
): Promise<{ docs: T[]; total: number }> {
  const found = await Promise.all([...new Set(ids)].map((id) => collection.get(accountId, id)));
  const all = found.filter((doc) => doc !== null && isListed(doc)) as T[];
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  const offset = page?.offset ?? 0;
  const docs = all.slice(offset, offset + (page?.limit ?? all.length));
  if (docs.reduce((sum, doc) => sum + JSON.stringify(doc).length, 0) > largestResponse) throw tooLarge();
  return { docs, total: all.length };
}

async function findBounded<T extends Doc>(
  collection: Collection<T>,
  filter: ListFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<T[]> {
  const docs: T[] = [];
  let characters = 0;
  while (docs.length < limit) {
    const last = docs.at(-1)?.id;
    const from = last === undefined ? { offset } : filter.descending ? { beforeId: last } : { afterId: last };
    const wanted = Math.min(batchMax, limit - docs.length);
    const batch = await collection.find({ ...filter, ...from, limit: wanted });
    for (const doc of batch) characters += JSON.stringify(doc).length;
    if (characters > largestResponse) throw tooLarge();
    docs.push(...batch);
    if (batch.length < wanted) break;
  }
  return docs;
}

function tooLarge(): HubError {
  const mebibytes = largestResponse / 1_048_576;
  return new HubError(
    'TOO_LARGE',
    `The list is larger than ${mebibytes} MiB. Request a part of it with limit and offset.`,
  );
}
