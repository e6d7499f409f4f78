/** Finds the accounts with the most data when the store is full, for the operator's log. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Collection, Doc, Position } from '@datahub/document-store';
import type { CatalogStore } from '../store.ts';

export interface Share {
  accountId: string;
  bytes: number;
}

const pageSize = 50;
const namedMax = 5;
/** Documents that were not read by then are not counted. */
const tookMaxMs = 30_000;

/** The largest accounts, largest first. Yields to other work between pages. */
export async function largestAccounts(store: CatalogStore, closed: AbortSignal): Promise<Share[]> {
  const { hubs, folders, sources, queries, queryVersions, signatures, operations, audit } = store;
  const stopAt = performance.now() + tookMaxMs;
  const bytes = new Map<string, number>();
  const count = async <T extends Doc>(collection: Collection<T>) => {
    let after: Position | undefined;
    while (!closed.aborted && performance.now() < stopAt) {
      const page = await collection.scan({ after, limit: pageSize });
      for (const doc of page) bytes.set(doc.accountId, (bytes.get(doc.accountId) ?? 0) + sizeOf(doc));
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return;
      after = { accountId: last.accountId, id: last.id };
      await turnEnd();
    }
  };
  await count(operations);
  await count(queries);
  await count(queryVersions);
  await count(signatures);
  await count(sources);
  await count(hubs);
  await count(folders);
  await count(audit);
  const shares = [...bytes].map(([accountId, taken]) => ({ accountId, bytes: taken }));
  return shares.toSorted((a, b) => b.bytes - a.bytes).slice(0, namedMax);
}

function sizeOf(doc: Doc & { answer?: Uint8Array }): number {
  const { answer, ...rest } = doc;
  return Buffer.byteLength(JSON.stringify(rest)) + (answer?.byteLength ?? 0);
}
