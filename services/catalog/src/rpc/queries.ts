/** Stored queries. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import {
  type Catalog,
  findParent,
  insertInHub,
  loadHub,
  loadQuery,
  makeContext,
  remove,
} from '../catalog.ts';
import type { QueryDoc, SourceDoc } from '../documents.ts';
import { keyLimits, requireMayWriteQueries } from '../key-limits.ts';
import { makeQuery } from '../query.ts';
import { deleteOrphans, stampNew } from '../query-version.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { listNamed, listPage } from './pagination.ts';
import { changeQuery, loadSourceIn } from './query-changes.ts';
import { toQuery } from './to-proto.ts';

type QueryCalls = Pick<
  Calls<typeof CatalogServiceService>,
  'createQuery' | 'listQueries' | 'getQuery' | 'updateQuery' | 'deleteQuery' | 'nameQueries'
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
      const made = makeQuery(
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
      const query = stampNew(made, context.principal.keyId);
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

    updateQuery: (request, ctx) => {
      const change = async () => request;
      return changeQuery(catalog, ctx, {
        rpc: 'updateQuery',
        queryId: request.queryId,
        expected: request,
        change,
      });
    },

    deleteQuery: async ({ queryId, ...expected }, ctx) => {
      const principal = requirePrincipal(ctx);
      const load = () => loadQuery(catalog, principal, queryId);
      const entry = auditEntry(catalog, ctx, { rpc: 'deleteQuery', resourceId: queryId });
      await remove({ collection: store.queries, load, expected, entry });
      // Nothing reads a signature without its query. If this fails, the signature is deleted with the hub.
      await store.signatures.delete(principal.accountId, queryId).catch(() => {});
      const { accountId } = principal;
      await catalog.leftovers.finish(queryId, () => deleteOrphans(store, { accountId, id: queryId }));
      await catalog.changes.publish([queryId], { deleted: true });
      return {};
    },

    nameQueries: async ({ queryIds }, ctx) => {
      const principal = requirePrincipal(ctx);
      if (queryIds.length > namedMax)
        throw new HubError('TOO_LARGE', `A call can name at most ${namedMax} queries.`);
      const found = await Promise.all(
        queryIds.map((queryId) => loadQuery(catalog, principal, queryId).catch(toUnreadable)),
      );
      const queries = found.filter((query) => query !== undefined);
      return { queries: queries.map(({ id, hubId, label }) => ({ queryId: id, hubId, label })) };
    },
  };
}

const namedMax = 1_000;

/** Returns undefined for a query that does not exist, or that the key may not use. */
function toUnreadable(err: unknown): undefined {
  if (err instanceof HubError && (err.code === 'NOT_FOUND' || err.code === 'SCOPE_DENIED')) return undefined;
  throw err;
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
