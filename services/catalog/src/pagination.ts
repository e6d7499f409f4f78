/** Reads the documents of lists, in batches that fit into a turn of the event loop. */

import { largestResponse, listTooLarge, pageItemsMax } from '@datahub/contract/limits';
import type { Collection, Doc, Scalar } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';

interface ListFilter {
  accountId: string;
  where?: Record<string, Scalar>;
  /** Exclusive, as `beforeId` is. */
  afterId?: string;
  beforeId?: string;
  descending?: boolean;
}

interface Page {
  offset: number;
  limit?: number | undefined;
}

/** Documents of a list without a limit. */
const batchMax = 200;
const batchCharactersMax = 1_048_576;
/** Documents that are read by their ids at a time. */
const namedAtOnce = 10;
/** What a value of a document counts beside its characters, because it takes memory of its own. */
const charactersOfValue = 16;
/** The most characters of JSON for one of a text. */
const escapedMax = 6;

/** Throws TOO_LARGE for a page of more characters than `largestResponse`. */
export async function listPage<T extends Doc>(
  collection: Collection<T>,
  filter: ListFilter,
  page: Page | undefined,
): Promise<{ docs: T[]; total: number }> {
  const limit = Math.min(page?.limit ?? pageItemsMax, pageItemsMax);
  const { descending: _, ...counted } = filter;
  const [docs, total] = await Promise.all([
    collect(findBatches(collection, filter, { offset: page?.offset ?? 0, limit })),
    collection.count(counted),
  ]);
  return { docs, total };
}

/** The same for documents that no index finds: reads all of the account. */
export async function listSome<T extends Doc>(
  collection: Collection<T>,
  { accountId, isListed }: { accountId: string; isListed: (doc: T) => boolean },
  page: Page | undefined,
): Promise<{ docs: T[]; total: number }> {
  const offset = page?.offset ?? 0;
  const end = offset + (page?.limit ?? pageItemsMax);
  let total = 0;
  async function* read(): AsyncGenerator<T[]> {
    const all = { offset: 0, limit: Number.POSITIVE_INFINITY };
    for await (const batch of findBatches(collection, { accountId }, all)) {
      const listed = batch.filter(isListed);
      yield listed.filter((_, at) => total + at >= offset && total + at < end);
      total += listed.length;
    }
  }
  const docs = await collect(read());
  return { docs, total };
}

/** The same for a key that is limited to these ids. */
export async function listNamed<T extends Doc>(
  collection: Collection<T>,
  { accountId, ids, isListed }: { accountId: string; ids: string[]; isListed: (doc: T) => boolean },
  page: Page | undefined,
): Promise<{ docs: T[]; total: number }> {
  const offset = page?.offset ?? 0;
  const end = offset + (page?.limit ?? pageItemsMax);
  const sorted = [...new Set(ids)].sort();
  let total = 0;
  async function* read(): AsyncGenerator<T[]> {
    const mayYield = createLoopYield();
    for (let i = 0; i < sorted.length; i += namedAtOnce) {
      const some = sorted.slice(i, i + namedAtOnce);
      const found = await Promise.all(some.map((id) => collection.get(accountId, id)));
      const listed = found.filter((doc) => doc !== null && isListed(doc)) as T[];
      yield listed.filter((_, at) => total + at >= offset && total + at < end);
      total += listed.length;
      await mayYield();
    }
  }
  const docs = await collect(read());
  return { docs, total };
}

/** The documents in order. Other requests run between the batches. */
export async function* findBatches<T extends Doc>(
  collection: Collection<T>,
  filter: ListFilter,
  { offset, limit }: { offset: number; limit: number },
): AsyncGenerator<T[]> {
  const mayYield = createLoopYield();
  let last: string | undefined;
  let left = limit;
  while (left > 0) {
    const from = last === undefined ? { offset } : filter.descending ? { beforeId: last } : { afterId: last };
    const wanted = Math.min(batchMax, left);
    const bounds = { limit: wanted, charactersMax: batchCharactersMax };
    const batch = await collection.find({ ...filter, ...from, ...bounds });
    yield batch;
    left -= batch.length;
    if (batch.length === 0) return;
    if (batch.length < wanted && escapedMax * weightOf(batch) <= batchCharactersMax) return;
    last = batch.at(-1)?.id;
    await mayYield();
  }
}

async function collect<T extends Doc>(batches: AsyncIterable<T[]>): Promise<T[]> {
  const docs: T[] = [];
  let weight = 0;
  for await (const batch of batches) {
    weight += weightOf(batch);
    if (weight > largestResponse) throw tooLarge();
    docs.push(...batch);
  }
  return docs;
}

/** The characters of all texts in a value, and more for each value. Takes no longer for long texts. */
export function weightOf(value: unknown): number {
  let weight = charactersOfValue;
  if (typeof value === 'string') weight += value.length;
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) weight += name.length + weightOf(member);
  return weight;
}

const tooLarge = () => new HubError('TOO_LARGE', listTooLarge);
