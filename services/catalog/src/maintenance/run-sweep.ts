/** Removes the oldest runs of queries of accounts that have too many. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Position } from '@datahub/document-store';
import type { CatalogStore } from '../store.ts';

const pageSize = 100;
/** Documents deleted by one write, and the pause after it in which others use the store. */
const removedMax = 1_000;
const restMs = 500;

export async function removeOldRuns(
  { accounts, queryRuns }: Pick<CatalogStore, 'accounts' | 'queryRuns'>,
  max: number,
  closed: AbortSignal,
): Promise<void> {
  let after: Position | undefined;
  while (!closed.aborted) {
    const page = await accounts.scan({ after, limit: pageSize });
    for (const { accountId } of page) {
      let left = (await queryRuns.count({ accountId })) - max;
      for (; left > 0 && !closed.aborted; left -= removedMax) {
        await queryRuns.deleteMany({ accountId, limit: Math.min(left, removedMax) });
        await sleep(restMs, undefined, { ref: false });
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = { accountId: last.accountId, id: last.id };
  }
}
