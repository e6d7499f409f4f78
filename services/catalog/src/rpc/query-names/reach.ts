/** What names in `limits.queries` of keys stand for, and which keys gain or lose a query by a change of names. */

import type { CompanionWrite } from '@datahub/document-store';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { inGroups } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, findHubId, update } from '../../catalog.ts';
import type { HubDoc, KeyDoc, QueryDoc } from '../../documents.ts';
import { keyLimits } from '../../key-limits.ts';
import { findBatches } from '../../pagination.ts';
import { stampChanged } from '../../query-version.ts';
import { auditEntry } from '../audit.ts';
import { grantedNameOf, markName, readName } from './granted-name.ts';
import { mayGrantHub, mayGrantQuery } from './may-grant.ts';

/** The ids of the queries that the key is limited to; undefined if it is not limited to queries. */
export async function reachedQueries(
  catalog: Catalog,
  { accountId, limits }: Pick<Principal, 'accountId' | 'limits'>,
): Promise<string[] | undefined> {
  const byId = keyLimits.queryIds.ids(limits);
  if (!keyLimits.queries.isSet(limits)) return byId;
  const hubs = new Map<string, Promise<HubDoc | undefined>>();
  // A definition can have half a megabyte.
  const named = await inGroups(limits?.queries ?? [], namesAtOnce, async (name) => {
    const parts = readName(name);
    if (parts === undefined) return name;
    const hub = hubs.get(parts.hubPath) ?? findHub(catalog, accountId, parts.hubPath);
    hubs.set(parts.hubPath, hub);
    const found = await findNamed(catalog, await hub, parts.path);
    return found === undefined || grantedNameOf(found.hub, found.query) === undefined ? [] : found.query.id;
  });
  const ids = named.flat();
  return byId === undefined ? ids : ids.filter((id) => byId.includes(id));
}

async function findHub(catalog: Catalog, accountId: string, hubPath: string): Promise<HubDoc | undefined> {
  const id = await findHubId(catalog, accountId, hubPath);
  const hub = id === undefined ? null : await catalog.store.hubs.get(accountId, id);
  return hub === null || hub.deleting ? undefined : hub;
}

interface Found {
  hub: HubDoc;
  query: QueryDoc;
}

async function findNamed(
  { store }: Catalog,
  hub: HubDoc | undefined,
  path: string,
): Promise<Found | undefined> {
  if (hub === undefined) return undefined;
  const { accountId, id: hubId } = hub;
  const [query] = await store.queries.find({ accountId, where: { path, hubId }, limit: 1 });
  return query && { hub, query };
}

/**
 * Makes a name count, because a caller that may do so creates or changes a key with it. Resolves to what is wrong with the
 * name, or undefined.
 */
export async function grantName(
  catalog: Catalog,
  ctx: CallContext,
  { principal, name }: { principal: Principal; name: string },
): Promise<string | undefined> {
  const parts = readName(name);
  const { accountId, keyId } = principal;
  const { store } = catalog;
  if (parts === undefined) return undefined;
  const named = await findHub(catalog, accountId, parts.hubPath);
  if (named === undefined) return `names a hub that does not exist: no hub has the path ${parts.hubPath}`;
  const found = await findNamed(catalog, named, parts.path);
  if (found === undefined) return 'names a query that does not exist';
  const { hub, query } = found;
  if (!keyLimits.hubIds.isAllowed(principal.limits, hub.id))
    return 'names a query of a hub that this key may not use';
  if (hub.grantsByName !== 1 && !mayGrantHub(principal))
    return `names a hub whose path counts only after a key for the whole account has given it: send PUT /v1/hubs/${hub.id} with this path`;
  if (query.grantsByName !== 1 && !mayGrantQuery(principal, query))
    return `names a query whose path counts only after a key that may create keys for it has given it: send PUT /v1/queries/${query.id} with this path`;
  const alone = { ...ctx, operation: undefined };
  if (hub.grantsByName !== 1) {
    await update(catalog, {
      collection: store.hubs,
      load: async () => (await store.hubs.get(accountId, hub.id)) ?? hub,
      change: (doc) => (doc.path === hub.path ? markName(doc, doc, granted) : doc),
      entry: auditEntry(catalog, alone, { rpc: 'updateHub', resourceId: hub.id }),
    });
    await catalog.changes.publish([hub.id]);
  }
  if (query.grantsByName === 1) return undefined;
  await update(catalog, {
    collection: store.queries,
    load: async () => (await store.queries.get(accountId, query.id)) ?? query,
    change: (doc, at) => {
      const next = doc.path === query.path ? markName(doc, doc, granted) : doc;
      return next === doc ? doc : stampChanged(doc, next, { at, keyId });
    },
    entry: auditEntry(catalog, alone, { rpc: 'updateQuery', resourceId: query.id }),
  });
  await catalog.changes.publish([query.id]);
  return undefined;
}

const granted = { isGiven: true, mayGrant: true };

/** Keys whose reach a change reports at most. */
const keysMax = 1_000;
/** Names that are looked up at a time. */
const namesAtOnce = 50;

/** The keys with names, in batches between which other requests run: together they can have 25 MB of names. */
const findNamingKeys = ({ store }: Catalog, accountId: string): AsyncGenerator<KeyDoc[]> =>
  findBatches(store.keys, { accountId, where: { namesQueries: 1 } }, { offset: 0, limit: keysMax });

/**
 * The audit entries of keys that gain or lose queries, to be written in one step with the change of names. `lost` and
 * `gained` are names that a query has no longer or has now.
 */
export async function reachEntries(
  catalog: Catalog,
  ctx: CallContext,
  { lost = [], gained = [] }: { lost?: readonly string[]; gained?: readonly string[] },
): Promise<CompanionWrite[]> {
  const [before, after] = [new Set(lost), new Set(gained)];
  for (const name of lost) if (after.delete(name)) before.delete(name);
  if (before.size + after.size === 0) return [];
  const accountId = ctx.principal?.accountId ?? '';
  const alone = { ...ctx, operation: undefined };
  const entries: CompanionWrite[] = [];
  for await (const keys of findNamingKeys(catalog, accountId)) {
    for (const { id: resourceId, limits } of keys) {
      const { queries = [] } = limits;
      if (queries.some((name) => after.has(name)))
        entries.push(auditEntry(catalog, alone, { rpc: 'gainQuery', resourceId }));
      if (queries.some((name) => before.has(name)))
        entries.push(auditEntry(catalog, alone, { rpc: 'loseQuery', resourceId }));
    }
  }
  return entries;
}

/** The name by which keys reach the query, if it has one. */
export function nameIn(hub: HubDoc, query: QueryDoc): string[] {
  const name = grantedNameOf(hub, query);
  return name === undefined ? [] : [name];
}

/** The names that keys list and that count in this hub, so that a change of the hub's path concerns them. */
export async function namesOfHub(catalog: Catalog, hub: HubDoc): Promise<string[]> {
  if (hub.path === undefined || hub.grantsByName !== 1) return [];
  const { accountId, path: hubPath } = hub;
  const paths = new Set<string>();
  for await (const keys of findNamingKeys(catalog, accountId)) {
    for (const name of keys.flatMap(({ limits: { queries = [] } }) => queries)) {
      const parts = readName(name);
      if (parts?.hubPath === hubPath) paths.add(parts.path);
    }
  }
  const found = await inGroups([...paths], namesAtOnce, (path) => findNamed(catalog, hub, path));
  return found.flatMap((one) => (one === undefined ? [] : nameIn(hub, one.query)));
}
