/** Hubs and their trees. */

import type { Complete } from '@datahub/contract/complete';
import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { type Catalog, findHubId, insertOnce, loadHub, makeContext, notFound, update } from '../catalog.ts';
import type { AuditDoc, FolderDoc, HubDoc, QueryDoc, SourceDoc } from '../documents.ts';
import { type HubPatch, makeHub, type NewHub, patchHub } from '../hub.ts';
import { keyLimits, requireMayChangeHubs } from '../key-limits.ts';
import { isHubEmpty, type Settled, settleHub, sweepHub } from '../maintenance/deletion-sweep.ts';
import { listNamed, listPage } from '../pagination.ts';
import { hideFromKeysOfPath } from '../secret-variables/pinned-secrets.ts';
import { buildTree } from '../tree.ts';
import { auditEntry } from './audit.ts';
import { toTaken } from './names-taken.ts';
import { markName } from './query-names/granted-name.ts';
import { mayGrantHub } from './query-names/may-grant.ts';
import { namesOfHub, reachEntries, reachedQueries } from './query-names/reach.ts';
import { toHub } from './to-proto.ts';

/** Nodes of one kind in one hub that a tree shows. */
const treeNodesMax = 50_000;

export function createHubCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createHub: async ({ label, path }, ctx) => {
      const context = makeContext(catalog, ctx);
      requireMayChangeHubs(context.principal.limits);
      if (keyLimits.hubIds.ids(context.principal.limits) !== undefined)
        throw new HubError('SCOPE_DENIED', 'This key may not create hubs.');
      const wanted: Complete<NewHub> = { label, path };
      const made = makeHub(wanted, context);
      const mark = { isGiven: path !== undefined, mayGrant: mayGrantHub(context.principal) };
      const hub = markName({ ...made, path: undefined }, made, mark);
      using _room = await catalog.quota.requireRoom(store.hubs, hub, 'hubs');
      const entry = auditEntry(catalog, ctx, { rpc: 'createHub', resourceId: hub.id });
      const stored = await insertOnce(store.hubs, hub, entry).catch(async (err) => {
        throw await toTaken(catalog, err, hub);
      });
      return { hub: toHub(stored) };
    },

    listHubs: async ({ page, archived }, ctx) => {
      const { accountId, limits } = requirePrincipal(ctx);
      const where = { deleting: 0, archived: archived ? 1 : 0 };
      const isListed = (hub: HubDoc) => !hub.deleting && hub.archived === where.archived;
      const ids = keyLimits.hubIds.ids(limits);
      const { docs, total } = ids
        ? await listNamed(store.hubs, { accountId, ids, isListed }, page)
        : await listPage(store.hubs, { accountId, where }, page);
      return { hubs: docs.map(toHub), total };
    },

    getHub: async ({ hubId: named }, ctx) => {
      const principal = requirePrincipal(ctx);
      const hubId = await findHubId(catalog, principal.accountId, named);
      if (hubId === undefined) throw notFound('hub');
      return { hub: toHub(await loadHub(catalog, principal, hubId)) };
    },

    updateHub: async ({ hubId, label, archived, path, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayChangeHubs(principal.limits);
      const patch: Complete<HubPatch> = { label, archived, path };
      let wanted: HubDoc | undefined;
      const hub = await update(catalog, {
        collection: store.hubs,
        load: () => loadHub(catalog, principal, hubId),
        change: (doc) => {
          const mark = { isGiven: path !== undefined, mayGrant: mayGrantHub(principal) };
          wanted = markName(doc, patchHub(doc, patch), mark);
          return wanted;
        },
        beforeReplace: async (doc, next) => {
          if (doc.path !== next.path && next.path !== undefined) await hideFromKeysOfPath(catalog, next);
        },
        expected,
        entry: auditEntry(catalog, ctx, { rpc: 'updateHub', resourceId: hubId }),
        beside: async (doc, next) => {
          if (doc.path === next.path && doc.grantsByName === next.grantsByName) return [];
          const [lost, gained] = await Promise.all([namesOfHub(catalog, doc), namesOfHub(catalog, next)]);
          return reachEntries(catalog, ctx, { lost, gained });
        },
      }).catch(async (err) => {
        throw await toTaken(catalog, err, wanted);
      });
      // Definitions of queries have the path of their hub.
      if (path !== undefined) await catalog.changes.publish([hubId]);
      return { hub: toHub(hub) };
    },

    deleteHub: async (request, ctx) => {
      requireMayChangeHubs(requirePrincipal(ctx).limits);
      await deleteHub(catalog, ctx, request);
      return {};
    },

    getHubContents: async ({ hubId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const hub = await loadHub(catalog, principal, hubId);
      const page = { accountId: principal.accountId, where: { hubId }, limit: treeNodesMax + 1 };
      const [reached, folders, sources, queries] = await Promise.all([
        reachedQueries(catalog, principal),
        store.folders.findSummaries(page),
        store.sources.findSummaries(page),
        store.queries.findSummaries(page),
      ]);
      const shown = <T>(found: unknown[]) => found.slice(0, treeNodesMax) as T[];
      const ids = reached && new Set(reached);
      const root = await buildTree({
        hub,
        folders: shown<FolderDoc>(folders),
        sources: shown<SourceDoc>(sources),
        queries: shown<QueryDoc>(queries).filter(({ id }) => ids?.has(id) !== false),
      });
      const cut = [folders, sources, queries].some(({ length }) => length > treeNodesMax);
      return { root, ...(cut ? { truncated: true } : {}) };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

/**
 * The tombstone hides the hub and all in it at once; the sweep then removes the documents. Without `recursive` the hub
 * is looked through before and after the tombstone, so that nothing created meanwhile is lost.
 */
async function deleteHub(
  catalog: Catalog,
  ctx: CallContext,
  request: { hubId: string; recursive: boolean } & Expected,
): Promise<void> {
  const { store } = catalog;
  const hub = await loadHub(catalog, requirePrincipal(ctx), request.hubId);
  requireVersion(hub, request);
  if (!request.recursive && !(await isHubEmpty(store, hub))) throw notEmpty();
  const entry = auditEntry(catalog, ctx, { rpc: 'deleteHub', resourceId: hub.id });
  const lost = await reachEntries(catalog, ctx, { lost: await namesOfHub(catalog, hub) });
  const { path, ...unnamed } = hub;
  const tombstone: HubDoc = { ...unnamed, deleting: 1, version: hub.version + 1 };
  if (!request.recursive) {
    tombstone.deleted = entry.doc as AuditDoc;
    if (path !== undefined) tombstone.deletedPath = path;
  }
  if (!(await store.hubs.replace(tombstone, request.recursive ? [entry, ...lost] : undefined)))
    return deleteHub(catalog, ctx, request);
  await finishDeletion(catalog, tombstone);
}

/** What fails is tried again later, because the hub is hidden already. */
async function finishDeletion({ store, leftovers, changes }: Catalog, tombstone: HubDoc): Promise<void> {
  let settled: Settled | undefined;
  const failed = await leftovers.finish(tombstone.id, async () => {
    settled = await settleHub(store, tombstone);
    if (settled === 'kept') return;
    await changes.publish([tombstone.id], { deleted: true });
    await sweepHub(store, tombstone);
  });
  if (settled === undefined) throw outcomeUnknown(failed?.err);
  if (settled === 'kept') throw notEmpty();
}

const notEmpty = () =>
  new HubError('NOT_EMPTY', 'The hub is not empty. Delete what is in it first, or ask with ?recursive=true.');
