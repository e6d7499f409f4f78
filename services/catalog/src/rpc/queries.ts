/** Stored queries. */

import type { CatalogServiceService, QueryWarning } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError } from '@datahub/service-kit/call/error';
import {
  type Catalog,
  findParent,
  insertInHub,
  loadHub,
  loadQuery,
  loadSource,
  makeContext,
  remove,
  update,
} from '../catalog.ts';
import type { QueryDoc, SourceDoc } from '../documents.ts';
import { keyLimits, requireMayWriteQueries } from '../key-limits.ts';
import { makeQuery, patchQuery } from '../query.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { listNamed, listPage } from './pagination.ts';
import { toQuery } from './to-proto.ts';

type QueryCalls = Pick<
  Calls<typeof CatalogServiceService>,
  'createQuery' | 'listQueries' | 'getQuery' | 'updateQuery' | 'deleteQuery'
>;

export function createQueryCalls(catalog: Catalog): QueryCalls {
  const { store } = catalog;
  return {
    createQuery: async (request, ctx) => {
      const context = makeContext(catalog, ctx);
      requireMayWriteQueries(context.principal.limits);
      const hub = await loadHub(catalog, context.principal, request.hubId);
      const source = await loadSourceIn(catalog, context.principal, {
        sourceId: request.sourceId,
        hubId: hub.id,
      });
      const parent = await findParent(catalog, hub, {
        nodeId: request.parentNodeId,
        nodeSubType: 'queries',
      });
      const query = makeQuery(
        {
          hubId: hub.id,
          parentNodeId: parent.nodeId,
          label: request.label,
          sourceId: source.id,
          engine: source.engine,
          query: request.query,
          command: request.command,
          context: request.context?.variables,
          cache: request.cache,
          notNull: request.notNull,
        },
        context,
      );
      const warnings = catalog.checkStatement(query, source.pooling);
      await catalog.quota.requireRoom(store.queries, query.accountId, 'queries');
      await insertInHub(catalog, {
        collection: store.queries,
        doc: query,
        made: auditEntry(catalog, ctx, { rpc: 'createQuery', resourceId: query.id }),
        unmade: undoEntry(catalog, ctx, { rpc: 'deleteQuery', resourceId: query.id }),
      });
      return { query: toQuery(query), warnings };
    },

    listQueries: async ({ hubId, page, signatures }, ctx) => {
      const principal = requirePrincipal(ctx);
      await loadHub(catalog, principal, hubId);
      const { accountId, limits } = principal;
      const isListed = (query: QueryDoc) => query.hubId === hubId;
      const ids = keyLimits.queryIds.ids(limits);
      const { docs, total } = ids
        ? await listNamed(store.queries, { accountId, ids, isListed }, page)
        : await listPage(store.queries, { accountId, where: { hubId } }, page);
      const described = signatures ? await currentSignatures(catalog, docs) : [];
      return { queries: docs.map((query, i) => toQuery(query, described[i])), total };
    },

    getQuery: async ({ queryId, signature }, ctx) => {
      const query = await loadQuery(catalog, requirePrincipal(ctx), queryId);
      return { query: toQuery(query, signature ? await currentSignature(catalog, query) : '') };
    },

    updateQuery: async (request, ctx) => {
      const principal = requirePrincipal(ctx);
      requireMayWriteQueries(principal.limits);
      let before: QueryDoc | undefined;
      let warnings: QueryWarning[] = [];
      const query = await update(catalog, {
        collection: store.queries,
        load: async () => (before = await loadQuery(catalog, principal, request.queryId)),
        change: async (doc) => {
          const changed = await changeQuery(catalog, principal, { doc, request });
          ({ warnings } = changed);
          return changed.next;
        },
        expected: request,
        entry: auditEntry(catalog, ctx, { rpc: 'updateQuery', resourceId: request.queryId }),
      });
      if (query.version !== before?.version) await catalog.changes.publish([query.id]);
      return { query: toQuery(query), warnings };
    },

    deleteQuery: async ({ queryId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const load = () => loadQuery(catalog, principal, queryId);
      const entry = auditEntry(catalog, ctx, { rpc: 'deleteQuery', resourceId: queryId });
      await remove({ collection: store.queries, load, expected, entry });
      // Nothing reads a signature without its query. If this fails, the signature is deleted with the hub.
      await store.signatures.delete(principal.accountId, queryId).catch(() => {});
      await catalog.changes.publish([queryId]);
      return {};
    },
  };
}

/** The most characters of all signatures in one list. Beyond it, the signatures of the last queries are left out. */
const signaturesCharactersMax = 8 * 1_048_576;
const signaturesAtOnce = 50;

/** Returns the signatures in the order of the queries. */
async function currentSignatures(catalog: Catalog, queries: readonly QueryDoc[]): Promise<string[]> {
  const sources = new Map<string, Promise<SourceDoc | null>>();
  const sourceOf = ({ accountId, sourceId }: QueryDoc) => {
    const source = sources.get(sourceId) ?? catalog.store.sources.get(accountId, sourceId);
    sources.set(sourceId, source);
    return source;
  };
  const found: string[] = [];
  let characters = 0;
  while (found.length < queries.length && characters <= signaturesCharactersMax) {
    const some = queries.slice(found.length, found.length + signaturesAtOnce);
    const read = await Promise.all(some.map((query) => currentSignature(catalog, query, sourceOf(query))));
    for (const signature of read) characters += signature.length;
    found.push(...read);
  }
  return found;
}

/** Returns the signature if it describes the current query at the current source, else an empty text. */
async function currentSignature(
  { store }: Catalog,
  query: QueryDoc,
  reading: Promise<SourceDoc | null> = store.sources.get(query.accountId, query.sourceId),
): Promise<string> {
  const [described, source] = await Promise.all([store.signatures.get(query.accountId, query.id), reading]);
  const isCurrent =
    described?.queryVersion === query.version &&
    described.settingsVersion === String(source?.settingsVersion);
  return isCurrent ? described.signatureJson : '';
}

type UpdateRequest = Parameters<QueryCalls['updateQuery']>[0];

async function changeQuery(
  catalog: Catalog,
  principal: Principal,
  { doc, request }: { doc: QueryDoc; request: UpdateRequest },
): Promise<{ next: QueryDoc; warnings: QueryWarning[] }> {
  const { label, parentNodeId, command, query, cache, sourceId } = request;
  const source =
    sourceId === undefined || sourceId === doc.sourceId
      ? undefined
      : await loadSourceIn(catalog, principal, {
          sourceId,
          hubId: doc.hubId,
        });
  if (parentNodeId !== undefined) {
    const hub = await loadHub(catalog, principal, doc.hubId);
    await findParent(catalog, hub, {
      nodeId: parentNodeId,
      nodeSubType: 'queries',
    });
  }
  const next = patchQuery(doc, {
    label,
    parentNodeId,
    command,
    query,
    context: request.context?.variables,
    cache: cache && (cache.policy ?? null),
    notNull: request.notNull?.names,
    source: source && { id: source.id, engine: source.engine },
  });
  // Only a changed statement is checked, so that renaming never fails because of an old statement.
  if (
    next.query !== doc.query ||
    next.command !== doc.command ||
    next.engine !== doc.engine ||
    source?.pooling !== undefined ||
    next.context !== doc.context ||
    next.cache !== doc.cache
  ) {
    const bound = source ?? (await catalog.store.sources.get(doc.accountId, doc.sourceId));
    return { next, warnings: catalog.checkStatement(next, bound?.pooling) };
  }
  return { next, warnings: [] };
}

async function loadSourceIn(
  catalog: Catalog,
  principal: Principal,
  wanted: { sourceId: string; hubId: string },
): Promise<SourceDoc> {
  const source = await loadSource(catalog, principal, wanted.sourceId);
  if (source.hubId === wanted.hubId) return source;
  const detail = 'is a source of another hub; a query and its source must be in the same hub';
  throw fieldError([{ path: ['sourceId'], detail }]);
}
