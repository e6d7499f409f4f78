/** Deletes the contents of deleted hubs, and finishes deletions that a crash interrupted. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Collection, Doc } from '@datahub/document-store';
import type { FolderDoc, HubDoc } from '../documents.ts';
import { deleteOrphans, scanVersioned } from '../query-version.ts';
import type { CatalogStore } from '../store.ts';

const batchSize = 500;

export async function sweepHub(store: CatalogStore, hub: HubDoc): Promise<void> {
  const filter = { accountId: hub.accountId, where: { hubId: hub.id }, limit: batchSize };
  const empty = async <T extends Doc>(collection: Collection<T>) => {
    while ((await collection.deleteMany(filter)) > 0);
  };
  await empty(store.signatures);
  await empty(store.sourceChecks);
  await empty(store.sourceLogins);
  await empty(store.queries);
  // After the queries: a change that is under way copies a query before it changes it.
  await empty(store.queryVersions);
  await empty(store.sources);
  await empty(store.folders);
  const companion = hub.deleted && { collection: 'audit', doc: hub.deleted };
  await store.hubs.delete(hub.accountId, hub.id, { companion });
}

/**
 * Reads every hub, every folder and a version of every query once: finishes deletions of hubs and queries, and restores
 * folders whose deletion was interrupted.
 */
export async function sweepLeftovers(store: CatalogStore): Promise<void> {
  for await (const hub of scanAll<HubDoc>(store.hubs)) {
    if (hub.deleting) await sweepHub(store, hub);
  }
  for await (const folder of scanAll<FolderDoc>(store.folders)) {
    if (folder.deleting) await unmarkFolder(store, folder);
  }
  for await (const query of scanVersioned(store)) {
    await deleteOrphans(store, query);
    await turnEnd();
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

/** Restores a folder that was marked for deletion. False if it has changed since, or is gone. */
export function unmarkFolder(store: CatalogStore, marked: FolderDoc): Promise<boolean> {
  return store.folders.replace({ ...marked, deleting: 0, version: marked.version + 1 });
}

/** Cleanup that is still to do after changes that are already in force. */
export interface Leftovers {
  /** Runs the cleanup for this document now; if it fails, `retry` runs it again. True if it succeeded. */
  finish(id: string, rest: () => Promise<unknown>): Promise<boolean>;
  retry(): Promise<void>;
}

/** Cleanup beyond this number is found by the next start. */
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
