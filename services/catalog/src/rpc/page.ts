/** One page of a list, with how many there are in all. */

import type { Collection, Doc, Scalar } from '@datahub/document-store';

/** What a list without a limit gives at most. */
const listMax = 10_000;

export async function listPage<T extends Doc>(
  collection: Collection<T>,
  filter: { accountId: string; where?: Record<string, Scalar>; descending?: boolean },
  page: { offset: number; limit?: number | undefined } | undefined,
): Promise<{ docs: T[]; total: number }> {
  const offset = page?.offset ?? 0;
  const limit = Math.min(page?.limit ?? listMax, listMax);
  const [docs, total] = await Promise.all([
    limit === 0 ? [] : collection.find({ ...filter, offset, limit }),
    collection.count({ accountId: filter.accountId, ...(filter.where ? { where: filter.where } : {}) }),
  ]);
  return { docs, total };
}
