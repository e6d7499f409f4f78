/** Sources: connections to the users' databases, their secrets sealed before anything is stored. */

import type { Complete } from '@datahub/contract/complete';
import type { CatalogServiceService, UpdateSourceRequest } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import {
  type Catalog,
  findParent,
  insertInHub,
  loadHub,
  loadSource,
  makeContext,
  overtaken,
  remove,
  untilWritten,
  update,
} from '../catalog.ts';
import type { SourceDoc } from '../documents.ts';
import { requireMayChangeHubs } from '../key-limits.ts';
import { sweepSource } from '../maintenance/deletion-sweep.ts';
import { tooMany } from '../one-by-one.ts';
import { listPage } from '../pagination.ts';
import { makeSource, patchSource, type SourcePatch } from '../source.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { toSource } from './to-proto.ts';

export function createSourceCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    createSource: async (request, ctx) => {
      const context = { ...makeContext(catalog, ctx), seal: catalog.seal };
      requireMayChangeHubs(context.principal.limits);
      const hub = await loadHub(catalog, context.principal, request.hubId);
      const parent = await findParent(catalog, hub, {
        nodeId: request.parentNodeId,
        nodeSubType: 'sources',
      });
      const source = await makeSource(
        {
          hubId: hub.id,
          parentNodeId: parent.nodeId,
          label: request.label,
          engine: request.engine,
          settings: request.connectionSettings ?? {},
        },
        context,
      );
      using _room = await catalog.quota.requireRoom(store.sources, source, 'sources');
      const made = await insertInHub(catalog, {
        collection: store.sources,
        doc: source,
        made: auditEntry(catalog, ctx, { rpc: 'createSource', resourceId: source.id }),
        unmade: undoEntry(catalog, ctx, { rpc: 'deleteSource', resourceId: source.id }),
      });
      return { source: toSource(made) };
    },

    listSources: async ({ hubId, page }, ctx) => {
      const principal = requirePrincipal(ctx);
      await loadHub(catalog, principal, hubId);
      const { docs, total } = await listPage(
        store.sources,
        { accountId: principal.accountId, where: { hubId } },
        page,
      );
      return { sources: docs.map(toSource), total };
    },

    getSource: async ({ sourceId }, ctx) => ({
      source: toSource(await loadSource(catalog, requirePrincipal(ctx), sourceId)),
    }),

    updateSource: async (request, ctx) => ({ source: toSource(await updateSource(catalog, ctx, request)) }),

    deleteSource: async ({ sourceId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayChangeHubs(principal.limits);
      const load = () => loadSource(catalog, principal, sourceId);
      const entry = auditEntry(catalog, ctx, { rpc: 'deleteSource', resourceId: sourceId });
      await remove({ collection: store.sources, load, expected, entry });
      await catalog.changes.publish([sourceId], { deleted: true });
      const { accountId } = principal;
      await catalog.leftovers.finish(sourceId, () => sweepSource(store, { accountId, id: sourceId }));
      return {};
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

async function updateSource(
  catalog: Catalog,
  ctx: CallContext,
  request: UpdateSourceRequest,
): Promise<SourceDoc> {
  const principal = requirePrincipal(ctx);
  requireMayChangeHubs(principal.limits);
  const { sourceId, label, engine, parentNodeId, connectionSettings: settings } = request;
  const patch: Complete<SourcePatch> = { label, engine, parentNodeId, settings };
  const expected = await announceEngine(catalog, principal, { request, patch });
  let before: SourceDoc | undefined;
  const source = await update(catalog, {
    collection: catalog.store.sources,
    load: async () => (before = await loadSource(catalog, principal, sourceId)),
    change: async (doc) => {
      const { changesEngine, ...settled } = doc;
      const isOtherEngine = engine !== undefined && engine !== doc.engine;
      if (isOtherEngine) {
        await requireUnbound(catalog, doc);
        if (!changesEngine) throw tooMany();
      }
      if (parentNodeId !== undefined) {
        const hub = await loadHub(catalog, principal, doc.hubId);
        await findParent(catalog, hub, {
          nodeId: parentNodeId,
          nodeSubType: 'sources',
        });
      }
      return patchSource(isOtherEngine ? settled : doc, patch, catalog.seal);
    },
    expected,
    entry: auditEntry(catalog, ctx, { rpc: 'updateSource', resourceId: sourceId }),
  });
  if (source.version !== before?.version) await catalog.changes.publish([source.id]);
  return source;
}

interface EngineChange {
  request: { sourceId: string } & Expected;
  patch: SourcePatch;
}

/**
 * Marks a source whose engine will change, so that a query that is bound from now on is seen, see `claimSource`. Returns
 * the version to expect of the source then.
 */
async function announceEngine(
  catalog: Catalog,
  principal: Principal,
  { request, patch }: EngineChange,
): Promise<Expected> {
  return untilWritten(async () => {
    const source = await loadSource(catalog, principal, request.sourceId);
    if (patch.engine === undefined || patch.engine === source.engine || source.changesEngine) return request;
    requireVersion(source, request);
    await requireUnbound(catalog, source);
    // A change that will be refused leaves no mark.
    await patchSource(source, patch, catalog.seal);
    const version = source.version + 1;
    if (!(await catalog.store.sources.replace({ ...source, changesEngine: 1, version }))) return overtaken;
    return request.expectedVersion === undefined ? {} : { expectedVersion: version };
  });
}

async function requireUnbound({ store }: Catalog, source: SourceDoc): Promise<void> {
  const bound = await store.queries.count({ accountId: source.accountId, where: { sourceId: source.id } });
  if (bound === 0) return;
  throw new HubError(
    'CONFLICT',
    `The engine cannot change while queries are bound to the source (${bound} now). Bind them to another source first.`,
  );
}
