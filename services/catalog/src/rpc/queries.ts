/** Stored queries. */

import type {
  CatalogServiceService,
  FindQueryRequest,
  ListQueriesRequest,
  ListQueriesResponse,
} from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield, inGroups } from '@datahub/service-kit/yield-to-loop';
import {
  type Catalog,
  findHubId,
  findParent,
  insertInHub,
  loadHub,
  loadQuery,
  makeContext,
  notFound,
  remove,
} from '../catalog.ts';
import type { QueryDoc, SourceDoc } from '../documents.ts';
import { published } from '../events/hub-event.ts';
import { requireMayWriteQueries } from '../key-limits.ts';
import { listNamed, listPage } from '../pagination.ts';
import { makeQuery, type NewQuery } from '../query.ts';
import { deleteOrphans, stampNew } from '../query-version.ts';
import { requireNotKept } from '../secret-variables/kept-secrets.ts';
import { hideFromKeys } from '../secret-variables/pinned-secrets.ts';
import { readBroken, readStates, stateOf } from '../signature.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { toTaken } from './names-taken.ts';
import { changeQuery, claimSource, loadSourceIn } from './query-changes.ts';
import { markName } from './query-names/granted-name.ts';
import { mayGrantQuery } from './query-names/may-grant.ts';
import { nameIn, reachEntries, reachedQueries } from './query-names/reach.ts';
import { toQuery } from './to-proto.ts';

export function createQueryCalls(catalog: Catalog) {
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
      const wanted: NewQuery = {
        ...request,
        hubId: hub.id,
        parentNodeId: parent.nodeId,
        sourceId: source.id,
        engine: source.engine,
        context: request.context?.variables,
      };
      const made = makeQuery(wanted, context);
      const mark = { isGiven: true, mayGrant: mayGrantQuery(context.principal, made) };
      const query = stampNew(markName({ ...made, path: undefined }, made, mark), context.principal.keyId);
      await requireNotKept(catalog, undefined, query);
      const warnings = catalog.checkStatement(query, source, true);
      using _room = await catalog.quota.requireRoom(store.queries, query, 'queries');
      await hideFromKeys(catalog, undefined, query);
      const created = await insertInHub(catalog, {
        collection: store.queries,
        doc: query,
        made: [
          auditEntry(catalog, ctx, { rpc: 'createQuery', resourceId: query.id }),
          ...(await published(catalog, query)),
          ...(await reachEntries(catalog, ctx, { gained: nameIn(hub, query) })),
        ],
        unmade: undoEntry(catalog, ctx, { rpc: 'deleteQuery', resourceId: query.id }),
        confirm: () => claimSource(catalog, query),
      }).catch(async (err) => {
        throw await toTaken(catalog, err, query);
      });
      return { query: toQuery(created), warnings };
    },

    listQueries: (request, ctx) => listQueries(catalog, requirePrincipal(ctx), request),

    getQuery: async ({ queryId, signature }, ctx) => {
      const query = await loadQuery(catalog, requirePrincipal(ctx), queryId);
      const described = await store.signatures.get(query.accountId, queryId);
      const signatureJson = signature ? await currentSignature(catalog, query) : '';
      return { query: toQuery(query, signatureJson, stateOf(query, described)) };
    },

    findQuery: async (named, ctx) => ({ queryId: await findByPath(catalog, requirePrincipal(ctx), named) }),

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
      const beside = async (query: QueryDoc) => {
        const hub = await loadHub(catalog, principal, query.hubId);
        return reachEntries(catalog, ctx, { lost: [queryId, ...nameIn(hub, query)] });
      };
      await remove({ collection: store.queries, load, expected, entry, beside });
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
      // Each definition can have a quarter of a megabyte, of which only the name is kept.
      const found = await inGroups(queryIds, namedAtOnce, async (id) => {
        const query = await loadQuery(catalog, principal, id).catch(toUnreadable);
        return query && { queryId: id, hubId: query.hubId, label: query.label };
      });
      return { queries: found.filter((query) => query !== undefined) };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

async function listQueries(
  catalog: Catalog,
  { accountId, limits }: Principal,
  { hubId, page, signatures, state }: ListQueriesRequest,
): Promise<ListQueriesResponse> {
  const { store } = catalog;
  await loadHub(catalog, { accountId, limits } as Principal, hubId);
  const limited = await reachedQueries(catalog, { accountId, limits });
  const broken = state === 'broken' ? await readBroken(catalog, { accountId, hubId }) : undefined;
  const isListed = (query: QueryDoc) =>
    query.hubId === hubId && (!broken || stateOf(query, broken.get(query.id)).state === 'broken');
  const ids = broken ? [...broken.keys()].filter((id) => limited?.includes(id) !== false).sort() : limited;
  const { docs, total } = ids
    ? await listNamed(store.queries, { accountId, ids, isListed }, page)
    : await listPage(store.queries, { accountId, where: { hubId } }, page);
  const states = broken
    ? docs.map(({ id }) => broken.get(id))
    : await readStates(catalog, { accountId, hubId }, docs);
  const described = signatures ? await currentSignatures(catalog, docs) : [];
  const queries = docs.map((query, i) => toQuery(query, described[i], stateOf(query, states[i])));
  return { queries, total };
}

async function findByPath(
  catalog: Catalog,
  principal: Principal,
  { hub, path }: FindQueryRequest,
): Promise<string> {
  const { store } = catalog;
  const { accountId } = principal;
  const hubId = await findHubId(catalog, accountId, hub);
  if (hubId === undefined) throw notFound('query');
  const [found] = await store.queries.findSummaries({ accountId, where: { path, hubId }, limit: 1 });
  if (found === undefined) throw notFound('query');
  return (await loadQuery(catalog, principal, found.id)).id;
}

const namedMax = 1_000;
const namedAtOnce = 16;

/** Returns undefined for a query that does not exist, or that the key may not use. */
function toUnreadable(err: unknown): undefined {
  if (err instanceof HubError && (err.code === 'NOT_FOUND' || err.code === 'SCOPE_DENIED')) return undefined;
  throw err;
}

/** The most characters of all signatures in one list. Beyond it, the signatures of the last queries are left out. */
const signaturesCharactersMax = 8 * 1_048_576;
/** One can have half a megabyte. */
const signaturesAtOnce = 4;

/** Returns the signatures in the order of the queries. */
async function currentSignatures(catalog: Catalog, queries: readonly QueryDoc[]): Promise<string[]> {
  const sources = new Map<string, Promise<SourceDoc | null>>();
  const sourceOf = ({ accountId, sourceId }: QueryDoc) => {
    const source = sources.get(sourceId) ?? catalog.store.sources.get(accountId, sourceId);
    sources.set(sourceId, source);
    return source;
  };
  const found: string[] = [];
  const mayYield = createLoopYield();
  let characters = 0;
  while (found.length < queries.length && characters <= signaturesCharactersMax) {
    const some = queries.slice(found.length, found.length + signaturesAtOnce);
    const read = await Promise.all(some.map((query) => currentSignature(catalog, query, sourceOf(query))));
    for (const signature of read) characters += signature.length;
    found.push(...read);
    await mayYield();
  }
  return found;
}

/**
 * Returns the signature if it describes the current query at the current source, and the source still accepts the query,
 * else an empty text.
 */
async function currentSignature(
  { store }: Catalog,
  query: QueryDoc,
  reading: Promise<SourceDoc | null> = store.sources.get(query.accountId, query.sourceId),
): Promise<string> {
  const [described, source] = await Promise.all([store.signatures.get(query.accountId, query.id), reading]);
  const isCurrent =
    described?.queryVersion === query.version &&
    described.state !== 'broken' &&
    described.settingsVersion === String(source?.settingsVersion);
  return isCurrent ? described.signatureJson : '';
}
