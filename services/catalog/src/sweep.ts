/** Removes what a tombstone hid, and takes up again what a crash left half done. */

import type { Collection, Doc } from '@datahub/document-store';
import type { FolderDoc, HubDoc } from './documents.ts';
import type { CatalogStore } from './store.ts';

const batchSize = 500;

export async function sweepHub(store: CatalogStore, hub: HubDoc): Promise<void> {
  const filter = { accountId: hub.accountId, where: { hubId: hub.id }, limit: batchSize };
  const empty = async <T extends Doc>(collection: Collection<T>) => {
    while ((await collection.deleteMany(filter)) > 0);
  };
  await empty(store.signatures);
  await empty(store.queries);
  await empty(store.sources);
  await empty(store.folders);
  await store.hubs.delete(hub.accountId, hub.id);
}

/** Visits every hub and folder once: finishes deletions of hubs, and gives folders back whose deletion was cut off. */
export async function sweepLeftovers(store: CatalogStore): Promise<void> {
  for await (const hub of scanAll<HubDoc>(store.hubs)) {
    if (hub.deleting) await sweepHub(store, hub);
  }
  for await (const folder of scanAll<FolderDoc>(store.folders)) {
    if (folder.deleting) await store.folders.replace({ ...folder, deleting: 0, version: folder.version + 1 });
  }
}

export async function* scanAll<T extends Doc>(collection: Collection<T>): AsyncIterable<T> {
  let after: { accountId: string; id: string } | undefined;
  for (;;) {
    const docs = await collection.scan({ after, limit: batchSize });
    yield* docs;
    const last = docs.at(-1);
    if (last === undefined || docs.length < batchSize) return;
    after = { accountId: last.accountId, id: last.id };
  }
}
