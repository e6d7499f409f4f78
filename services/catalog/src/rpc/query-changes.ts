/** Changes of a stored query. Each one makes a version, unless the query only moves. */

import type { CompanionWrite } from '@datahub/document-store';
import type { Query, QueryWarning } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import type { Expected } from '@datahub/service-kit/call/expected-version';
import {
  type Catalog,
  findParent,
  loadHub,
  loadQuery,
  loadSource,
  overtaken,
  refusalOf,
  untilWritten,
  update,
} from '../catalog.ts';
import type { QueryDoc, SourceDoc } from '../documents.ts';
import { published } from '../events/hub-event.ts';
import { requireMayWriteQueries } from '../key-limits.ts';
import { isSameState, patchQuery, type QueryChange, type QueryPatch } from '../query.ts';
import { deleteOrphans, keepVersion, stampChanged, trimVersions } from '../query-version.ts';
import { requireNotKept } from '../secret-variables/kept-secrets.ts';
import { hideFromKeys } from '../secret-variables/pinned-secrets.ts';
import { auditEntry, undoEntry } from './audit.ts';
import { toTaken } from './names-taken.ts';
import { markName } from './query-names/granted-name.ts';
import { mayGrantQuery } from './query-names/may-grant.ts';
import { nameIn, reachEntries } from './query-names/reach.ts';
import { toQuery } from './to-proto.ts';

interface Requested {
  rpc: 'updateQuery' | 'restoreQuery';
  queryId: string;
  expected: Expected;
  /** Returns the change of the query as it is now. */
  change: (doc: QueryDoc) => Promise<QueryChange>;
  /** The number of the version to restore. */
  restoredFrom?: number;
}

export async function changeQuery(
  catalog: Catalog,
  ctx: CallContext,
  { rpc, queryId, expected, change, restoredFrom }: Requested,
): Promise<{ query: Query; warnings: QueryWarning[] }> {
  const { store } = catalog;
  const principal = requirePrincipal(ctx);
  const { accountId, keyId } = principal;
  requireMayWriteQueries(principal.limits);
  let before: QueryDoc | undefined;
  let wanted: QueryDoc | undefined;
  let warnings: QueryWarning[] = [];
  const isRestored = restoredFrom !== undefined;
  const query = await update(catalog, {
    collection: store.queries,
    load: async () => (before = await loadQuery(catalog, principal, queryId)),
    change: async (doc, at) => {
      const changed = await applyChange(catalog, principal, { doc, change: await change(doc), isRestored });
      ({ next: wanted, warnings } = changed);
      return changed.next === doc ? doc : stampChanged(doc, changed.next, { at, keyId, restoredFrom });
    },
    beforeReplace: async (doc, next) => {
      await hideFromKeys(catalog, doc, next);
      if (!isSameState(doc, next)) await keepVersion(store, doc);
    },
    expected,
    entry: auditEntry(catalog, ctx, { rpc, resourceId: queryId }),
    beside: async (doc, next) => [
      ...(isSameState(doc, next) ? [] : await published(catalog, next)),
      ...(await reachChange(catalog, ctx, { before: doc, next })),
    ],
  }).catch(async (err) => {
    // If the query was deleted meanwhile, its versions may have been deleted before the last one was kept.
    const isGone = before !== undefined && err instanceof HubError && err.code === 'NOT_FOUND';
    if (isGone)
      await catalog.leftovers.finish(queryId, () => deleteOrphans(store, { accountId, id: queryId }));
    throw await toTaken(catalog, err, wanted);
  });
  if (before !== undefined && query.sourceId !== before.sourceId)
    await confirmSource(catalog, ctx, { rpc, before, query });
  if (query.version !== before?.version) {
    await catalog.changes.publish([query.id]);
    await catalog.leftovers.finish(query.id, () => trimVersions(store, query));
  }
  return { query: toQuery(query), warnings };
}

interface Bound {
  rpc: Requested['rpc'];
  before: QueryDoc;
  query: QueryDoc;
}

/** Takes the change back if the new source has got another engine meanwhile. */
async function confirmSource(
  catalog: Catalog,
  ctx: CallContext,
  { rpc, before, query }: Bound,
): Promise<void> {
  let refusal: HubError | undefined;
  try {
    refusal = await refusalOf(claimSource(catalog, query));
    const back = { ...before, version: query.version + 1, updatedAt: catalog.nowMs() };
    const undone = undoEntry(catalog, ctx, { rpc, resourceId: query.id });
    if (refusal !== undefined) await catalog.store.queries.replace(back, undone);
  } catch (err) {
    throw outcomeUnknown(err);
  }
  if (refusal !== undefined) throw refusal;
}

async function applyChange(
  catalog: Catalog,
  principal: Principal,
  { doc, change, isRestored }: { doc: QueryDoc; change: QueryChange; isRestored: boolean },
): Promise<{ next: QueryDoc; warnings: QueryWarning[] }> {
  const { hubId = doc.hubId, parentNodeId, sourceId, cache, context, notNull, tool, ...alike } = change;
  if (hubId !== doc.hubId) throw otherHub(doc.hubId);
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
  const patch: QueryPatch = {
    ...alike,
    parentNodeId,
    context: context?.variables,
    isRestored,
    cache: cache && (cache.policy ?? null),
    notNull: notNull?.names,
    tool: tool && (tool.tool ?? null),
    source: source && { id: source.id, engine: source.engine },
  };
  const mark = { isGiven: change.path !== undefined, mayGrant: mayGrantQuery(principal, doc) };
  const next = markName(doc, patchQuery(doc, patch), mark);
  if (next.context !== doc.context || next.path !== doc.path) await requireNotKept(catalog, doc, next);
  // Only a changed statement is checked, so that renaming never fails because of an old statement.
  if (
    next.query !== doc.query ||
    next.command !== doc.command ||
    next.engine !== doc.engine ||
    source?.pooling !== undefined ||
    source?.sessionJson !== undefined ||
    next.context !== doc.context ||
    next.cache !== doc.cache ||
    next.sessionJson !== doc.sessionJson ||
    next.transactionJson !== doc.transactionJson
  ) {
    const bound = source ?? (await catalog.store.sources.get(doc.accountId, doc.sourceId));
    const isNew = !isRestored && next.query !== doc.query;
    return { next, warnings: catalog.checkStatement(next, bound, isNew) };
  }
  return { next, warnings: [] };
}

/** What a change of the path means for keys that name queries. */
async function reachChange(
  catalog: Catalog,
  ctx: CallContext,
  { before, next }: { before: QueryDoc; next: QueryDoc },
): Promise<CompanionWrite[]> {
  if (before.path === next.path && before.grantsByName === next.grantsByName) return [];
  const hub = await loadHub(catalog, requirePrincipal(ctx), next.hubId);
  return reachEntries(catalog, ctx, { lost: nameIn(hub, before), gained: nameIn(hub, next) });
}

function otherHub(hubId: string): HubError {
  const detail = `must be ${hubId}, the hub of this query; a query cannot move to another hub`;
  return fieldError([{ path: ['hubId'], detail }]);
}

export async function loadSourceIn(
  catalog: Catalog,
  principal: Principal,
  wanted: { sourceId: string; hubId: string },
): Promise<SourceDoc> {
  const source = await loadSource(catalog, principal, wanted.sourceId);
  if (source.hubId === wanted.hubId) return source;
  const detail = 'is a source of another hub; a query and its source must be in the same hub';
  throw fieldError([{ path: ['sourceId'], detail }]);
}

/**
 * Makes sure that a query that was just bound to a source has its engine. A change of the engine that is under way sees
 * the query then, because this write makes it look again.
 */
export async function claimSource(
  { store: { sources } }: Catalog,
  { accountId, sourceId, engine }: QueryDoc,
): Promise<void> {
  await untilWritten(async () => {
    const source = await sources.get(accountId, sourceId);
    if (source === null) return;
    if (source.engine !== engine) throw new HubError('CONFLICT', engineChanged);
    const { changesEngine, ...settled } = source;
    if (!changesEngine) return;
    if (!(await sources.replace({ ...settled, version: source.version + 1 }))) return overtaken;
  });
}

const engineChanged = 'The engine of the source changed meanwhile. Check the statement and try again.';
