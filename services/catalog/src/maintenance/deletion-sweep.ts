/** Deletes the contents of deleted hubs, and finishes deletions that a crash interrupted. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Collection, Doc } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { overtaken, untilWritten } from '../catalog.ts';
import type { FolderDoc, HubDoc, SourceDoc } from '../documents.ts';
import type { DestinationDoc } from '../events/documents.ts';
import { destinationsMax } from '../events/event.ts';
import { deleteOrphans, scanVersioned } from '../query-version.ts';
import type { CatalogStore } from '../store.ts';
import { forgetWatch } from '../watches/forget.ts';

const batchSize = 500;
/** A key alone can have hundreds of KB. */
const batchCharactersMax = 1_048_576;

export async function sweepHub(store: CatalogStore, hub: HubDoc): Promise<void> {
  const filter = { accountId: hub.accountId, where: { hubId: hub.id }, limit: batchSize };
  const empty = async <T extends Doc>(collection: Collection<T>) => {
    while ((await collection.deleteMany(filter)) > 0);
  };
  await sweepHubWatches(store, filter);
  await empty(store.boards);
  await empty(store.signatures);
  await empty(store.sourceChecks);
  await empty(store.sourceLogins);
  await empty(store.queries);
  // After the queries: a change that is under way copies a query before it changes it.
  await empty(store.queryVersions);
  await empty(store.sources);
  await empty(store.folders);
  await store.hubs.delete(hub.accountId, hub.id);
}

/** A gateway that runs one of the watches then finds that it is gone. */
async function sweepHubWatches(
  store: CatalogStore,
  filter: { accountId: string; where: { hubId: string }; limit: number },
): Promise<void> {
  for (let left = batchSize; left === batchSize; ) {
    const { accountId } = filter;
    const watches = await store.watches.findSummaries(filter);
    for (const { id } of watches) {
      await forgetWatch({ store }, { accountId, id });
      await store.watches.delete(accountId, id);
    }
    left = watches.length;
  }
  await sweepDestinations(store, { accountId: filter.accountId, hubId: filter.where.hubId });
  while ((await store.watchRuns.deleteMany(filter)) > 0);
  while ((await store.events.deleteMany(filter)) > 0);
}

/** Takes the hub from destinations, and deletes those of this hub alone, unless their recipients ended the mails. */
async function sweepDestinations(
  { destinations }: CatalogStore,
  { accountId, hubId }: { accountId: string; hubId: string },
): Promise<void> {
  for (const { id } of await destinations.findSummaries({ accountId, limit: destinationsMax }))
    await untilWritten(async () => {
      const destination = await destinations.get(accountId, id);
      if (!destination?.hubIds?.includes(hubId)) return;
      // It is the record that its recipient wants no mails, whoever asks next.
      if (destination.mailEndedAt !== undefined) return;
      const { version, hubIds } = destination;
      const left = hubIds.filter((one) => one !== hubId);
      const isDone = goesWithHub(destination, hubId)
        ? await destinations.delete(accountId, id, { version })
        : await destinations.replace({ ...destination, hubIds: left, version: version + 1 });
      return isDone ? undefined : overtaken;
    });
}

/**
 * Deletes what is known about a source if the source was deleted. Call this after the deletion, and after writing what is
 * known, because the deletion may have come first.
 */
export async function sweepSource(
  { sources, sourceChecks, sourceLogins }: CatalogStore,
  { accountId, id }: Pick<SourceDoc, 'accountId' | 'id'>,
): Promise<void> {
  if ((await sources.get(accountId, id)) !== null) return;
  await sourceChecks.delete(accountId, id);
  await sourceLogins.delete(accountId, id);
}

/** Whether a hub that is deleted only if it is empty is deleted now, or visible again. */
export type Settled = 'deleted' | 'kept';

/**
 * Decides about a tombstone with `deleted`: the hub is deleted if it is empty, or becomes visible again. Several
 * processes may do this at once. The first write decides for all.
 */
export async function settleHub(store: CatalogStore, tombstone: HubDoc): Promise<Settled> {
  const { deleted, deletedPath, ...hub } = tombstone;
  if (deleted === undefined) return 'deleted';
  const next = { ...hub, version: hub.version + 1 };
  const isEmpty = await isHubEmpty(store, hub);
  const isWritten = isEmpty
    ? await store.hubs.replace(next, { collection: 'audit', doc: deleted })
    : await restoreHub(store, { ...next, deleting: 0 }, deletedPath);
  if (isWritten) return isEmpty ? 'deleted' : 'kept';
  const now = await store.hubs.get(hub.accountId, hub.id);
  if (now === null) return 'deleted';
  return now.deleting ? settleHub(store, now) : 'kept';
}

/** Another hub may have taken the path meanwhile. */
function restoreHub(store: CatalogStore, hub: HubDoc, path: string | undefined): Promise<boolean> {
  if (path === undefined) return store.hubs.replace(hub);
  return store.hubs.replace({ ...hub, path }).catch((taken) => {
    if (!(taken instanceof HubError) || taken.code !== 'CONFLICT') throw taken;
    return store.hubs.replace(hub);
  });
}

export async function isHubEmpty(
  store: CatalogStore,
  { accountId, id }: Pick<HubDoc, 'accountId' | 'id'>,
): Promise<boolean> {
  const filter = { accountId, where: { hubId: id } };
  const counts = await Promise.all([
    store.folders.count(filter),
    store.sources.count(filter),
    store.queries.count(filter),
    store.boards.count(filter),
  ]);
  if (counts.some((count) => count > 0)) return false;
  const destinations = await store.destinations.find({ accountId, limit: destinationsMax });
  return !destinations.some((one) => goesWithHub(one, id));
}

/** Of a hub that is deleted: it is told of no other. That its recipient ended the mails stays known. */
const goesWithHub = ({ hubIds, mailEndedAt }: DestinationDoc, hubId: string): boolean =>
  mailEndedAt === undefined && hubIds?.length === 1 && hubIds[0] === hubId;

/**
 * Reads every hub, every folder and a version of every query once: finishes deletions of hubs and queries, and restores
 * folders whose deletion was interrupted.
 */
export async function sweepLeftovers(store: CatalogStore): Promise<void> {
  for await (const hub of scanAll<HubDoc>(store.hubs)) {
    if (hub.deleting && (await settleHub(store, hub)) === 'deleted') await sweepHub(store, hub);
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
    const docs = await collection.scan({ after, limit: batchSize, charactersMax: batchCharactersMax });
    yield* docs;
    const last = docs.at(-1);
    if (last === undefined) return;
    after = { accountId: last.accountId, id: last.id };
  }
}

/** Restores a folder that was marked for deletion. A deletion that is still under way then begins again. */
export async function unmarkFolder(
  { folders }: CatalogStore,
  { accountId, id }: Pick<FolderDoc, 'accountId' | 'id'>,
): Promise<void> {
  await untilWritten(async () => {
    const folder = await folders.get(accountId, id);
    if (!folder?.deleting) return;
    if (!(await folders.replace({ ...folder, deleting: 0, version: folder.version + 1 }))) return overtaken;
  });
}
