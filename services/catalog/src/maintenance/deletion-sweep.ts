/** Removes what a tombstone hid, and takes up again what a crash left half done. */

import type { Collection, Doc } from '@datahub/document-store';
import type { FolderDoc, HubDoc } from '../documents.ts';
import type { CatalogStore } from '../store.ts';

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
  const beside = hub.deleted && { collection: 'audit', doc: hub.deleted };
  await store.hubs.delete(hub.accountId, hub.id, { beside });
}

/** Visits every hub and folder once: finishes deletions of hubs, and gives folders back whose deletion was cut off. */
export async function sweepLeftovers(store: CatalogStore): Promise<void> {
  for await (const hub of scanAll<HubDoc>(store.hubs)) {
    if (hub.deleting) await sweepHub(store, hub);
  }
  for await (const folder of scanAll<FolderDoc>(store.folders)) {
    if (folder.deleting) await unmarkFolder(store, folder);
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

/** Gives back a folder that was marked to be deleted. False where it was changed meanwhile, or is gone. */
export function unmarkFolder(store: CatalogStore, marked: FolderDoc): Promise<boolean> {
  return store.folders.replace({ ...marked, deleting: 0, version: marked.version + 1 });
}

/** What is left to do of changes that have been made already. */
export interface Leftovers {
  /** Does the rest of the change to this document, now or, where that fails, with `retry`. True where it is done. */
  finish(id: string, rest: () => Promise<unknown>): Promise<boolean>;
  retry(): Promise<void>;
}

/** Beyond it, the next start finds what is left. */
const leftoversMax = 1_000;

export function createLeftovers(onFailure: (err: unknown) => void): Leftovers {
  const left = new Map<string, () => Promise<unknown>>();
  const finish: Leftovers['finish'] = async (id, rest) => {
    try {
      await rest();
      left.delete(id);
      return true;
    } catch (err) {
      onFailure(err);
      if (left.size < leftoversMax) left.set(id, rest);
      return false;
    }
  };
  return {
    finish,
    retry: async () => {
      for (const [id, rest] of [...left]) if (!(await finish(id, rest))) return;
    },
  };
}
