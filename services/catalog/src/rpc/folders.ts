/** Folders below the two categories of a hub. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import {
  type Catalog,
  findFolder,
  findParent,
  insertInHub,
  loadFolder,
  loadHub,
  makeContext,
  notFound,
  overtaken,
  refusalOf,
  untilWritten,
  update,
} from '../catalog.ts';
import type { FolderDoc } from '../documents.ts';
import { categoryOf, heightOf, isAbove, levelOf, levelsMax, makeFolder, patchFolder } from '../folder.ts';
import { requireMayChangeHubs } from '../key-limits.ts';
import { unmarkFolder } from '../maintenance/deletion-sweep.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { toFolder } from './to-proto.ts';

const foldersMax = 5_000;

export function createFolderCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createFolder: async ({ hubId, label, parentNodeId }, ctx) => {
      const context = makeContext(catalog, ctx);
      requireMayChangeHubs(context.principal.limits);
      const hub = await loadHub(catalog, context.principal, hubId);
      const nodeId = parentNodeId ?? hub.queriesNodeId;
      const parent = categoryOf(hub, nodeId) ?? (await findFolder(catalog, hub, nodeId));
      if (parent === undefined) throw notFound('parent node');
      if ((await levelInStore(catalog, context.accountId, nodeId)) >= levelsMax) throw tooDeep();
      const folder = makeFolder({ label, hub, parent }, context);
      await requireRoom(catalog, folder);
      using _room = await catalog.quota.requireRoom(store.folders, folder, 'folders');
      const made = await insertInHub(catalog, {
        collection: store.folders,
        doc: folder,
        made: auditEntry(catalog, ctx, { rpc: 'createFolder', resourceId: folder.id }),
        unmade: undoEntry(catalog, ctx, { rpc: 'deleteFolder', resourceId: folder.id }),
      });
      return { folder: toFolder(made) };
    },

    updateFolder: async ({ nodeId, label, parentNodeId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayChangeHubs(principal.limits);
      let before: FolderDoc | undefined;
      const folder = await update(catalog, {
        collection: store.folders,
        load: async () => (before = await loadFolder(catalog, principal, nodeId)),
        change: async (doc) => {
          if (parentNodeId !== undefined)
            await requirePlace(catalog, principal, { folder: doc, parentNodeId });
          return patchFolder(doc, { label, parentNodeId });
        },
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'updateFolder', resourceId: nodeId }),
      });
      if (before !== undefined && before.parentNodeId !== folder.parentNodeId)
        await confirmMove(catalog, ctx, { moved: folder, from: before.parentNodeId });
      return { folder: toFolder(folder) };
    },

    deleteFolder: async (request, ctx) => {
      requireMayChangeHubs(requirePrincipal(ctx).limits);
      await deleteFolder(catalog, ctx, request);
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

async function requireRoom({ store }: Catalog, { accountId, hubId, id }: FolderDoc): Promise<void> {
  if ((await store.folders.count({ accountId, where: { hubId } })) < foldersMax) return;
  if ((await store.folders.get(accountId, id)) !== null) return;
  throw new HubError('CONFLICT', `A hub has at most ${foldersMax} folders.`);
}

async function requirePlace(
  catalog: Catalog,
  principal: Principal,
  { folder, parentNodeId }: { folder: FolderDoc; parentNodeId: string },
): Promise<void> {
  const hub = await loadHub(catalog, principal, folder.hubId);
  await findParent(catalog, hub, {
    nodeId: parentNodeId,
    nodeSubType: folder.nodeSubType,
  });
  const folders = await catalog.store.folders.find({
    accountId: folder.accountId,
    where: { hubId: folder.hubId },
    limit: foldersMax,
  });
  const all = new Map(folders.map((one) => [one.id, one]));
  if (isAbove(folder.id, parentNodeId, all)) {
    throw new HubError('CONFLICT', 'A folder cannot be moved into itself or below itself.');
  }
  if (levelOf(parentNodeId, all) + heightOf(folder.id, all) > levelsMax) throw tooDeep();
}

interface Move {
  moved: FolderDoc;
  from: string;
}

/**
 * Looks at the place of a folder again after the move. Each of two concurrent moves looks after its write, so the later
 * one sees the other, is taken back and fails; if both see each other, both fail.
 */
async function confirmMove(catalog: Catalog, ctx: CallContext, move: Move): Promise<void> {
  let refusal: HubError | undefined;
  // A failure is tried again later, because the folder is in its new place.
  const failed = await catalog.leftovers.finish(move.moved.id, async () => {
    refusal = await settleMove(catalog, ctx, move);
  });
  if (failed !== undefined) throw outcomeUnknown(failed.err);
  if (refusal !== undefined) throw refusal;
}

/**
 * Takes a move back if the folder cannot be where it is now. Resolves to the reason. If the folder cannot be in its old
 * place either, it is moved to its category, which is never below it.
 */
async function settleMove(
  catalog: Catalog,
  ctx: CallContext,
  { moved, from }: Move,
): Promise<HubError | undefined> {
  const { folders } = catalog.store;
  const principal = requirePrincipal(ctx);
  const { accountId, id, parentNodeId } = moved;
  return untilWritten(async () => {
    const folder = await folders.get(accountId, id);
    // A later move looks at its own place.
    if (folder === null || folder.parentNodeId !== parentNodeId) return undefined;
    const refusal = await refusalOf(requirePlace(catalog, principal, { folder, parentNodeId }));
    if (refusal === undefined) return undefined;
    const hub = await catalog.store.hubs.get(accountId, folder.hubId);
    if (hub === null || hub.deleting) return refusal;
    const back = { ...folder, parentNodeId: from, version: folder.version + 1, updatedAt: catalog.nowMs() };
    if (!(await folders.replace(back, undoEntry(catalog, ctx, { rpc: 'updateFolder', resourceId: id }))))
      return overtaken;
    const category = folder.nodeSubType === 'queries' ? hub.queriesNodeId : hub.sourcesNodeId;
    if (from !== category) await settleMove(catalog, ctx, { moved: back, from: category });
    return refusal;
  });
}

const tooDeep = () => new HubError('CONFLICT', `Folders can be nested at most ${levelsMax} deep.`);

async function levelInStore({ store }: Catalog, accountId: string, nodeId: string): Promise<number> {
  let level = 0;
  for (let at: string | undefined = nodeId; level <= levelsMax; level++) {
    at = (await store.folders.get(accountId, at))?.parentNodeId;
    if (at === undefined) break;
  }
  return level;
}

/**
 * The mark keeps new nodes out while the folder is looked through; see `insertInHub`. Only the marked version is
 * deleted, because another process that starts takes the mark away.
 */
async function deleteFolder(
  catalog: Catalog,
  ctx: CallContext,
  request: { nodeId: string } & Expected,
): Promise<void> {
  const { folders } = catalog.store;
  const folder = await loadFolder(catalog, requirePrincipal(ctx), request.nodeId);
  const { accountId, id } = folder;
  const companion = auditEntry(catalog, ctx, { rpc: 'deleteFolder', resourceId: id });
  try {
    requireVersion(folder, request);
    const marked = folder.deleting ? folder : await mark(catalog, folder);
    if (marked !== undefined) {
      await requireEmpty(catalog, folder);
      if (await folders.delete(accountId, id, { version: marked.version, companion })) return;
    }
  } catch (err) {
    await catalog.leftovers.finish(id, () => unmarkFolder(catalog.store, folder));
    throw err;
  }
  return deleteFolder(catalog, ctx, request);
}

/** Resolves to undefined if the folder has changed. */
async function mark(catalog: Catalog, folder: FolderDoc): Promise<FolderDoc | undefined> {
  await requireEmpty(catalog, folder);
  const marked = { ...folder, deleting: 1, version: folder.version + 1 };
  return (await catalog.store.folders.replace(marked)) ? marked : undefined;
}

async function requireEmpty({ store }: Catalog, folder: FolderDoc): Promise<void> {
  const filter = { accountId: folder.accountId, where: { parentNodeId: folder.id } };
  const counts = await Promise.all([
    store.folders.count(filter),
    store.sources.count(filter),
    store.queries.count(filter),
  ]);
  if (counts.some((count) => count > 0)) {
    throw new HubError('NOT_EMPTY', 'The folder is not empty. Move or delete what is in it first.');
  }
}
