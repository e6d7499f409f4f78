/** The parts that every call of the catalog uses, and what calls share: load a document of the caller, change it by compare and set. */

import type { Collection, CompanionWrite, CompanionWrites, Doc } from '@datahub/document-store';
import type { Quota } from '@datahub/document-store/quota';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { Seal } from '@datahub/sealing/sealer';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { fieldError, HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import { type Expected, requireVersion } from '@datahub/service-kit/call/expected-version';
import { type CreateId, operationIdOf } from '@datahub/service-kit/id';
import { turnForText } from '@datahub/service-kit/yield-to-loop';
import type { ChangeFeed } from './change-feed.ts';
import type { AuditDoc, BoardDoc, FolderDoc, HubDoc, NodeSubType, QueryDoc, SourceDoc } from './documents.ts';
import type { MailPolicy } from './events/documents.ts';
import type { EventClock } from './events/event-clock.ts';
import type { DeliveryPace } from './events/pace.ts';
import { categoryOf, type Parent } from './folder.ts';
import type { MakeContext } from './hub.ts';
import { keyLimits, requireMayHaveBoards, requireMayReadWatches, requireMayUse } from './key-limits.ts';
import type { Leftovers } from './maintenance/leftovers.ts';
import { tooMany } from './one-by-one.ts';
import { weightOf } from './pagination.ts';
import type { CheckStatement } from './query.ts';
import type { SlotStreams } from './slots/slot-streams.ts';
import type { CatalogStore } from './store.ts';
import type { StoredBytes } from './stored-bytes.ts';
import type { WatchDoc } from './watches/documents.ts';
import type { Schedules } from './watches/schedule.ts';

export interface Catalog {
  store: CatalogStore;
  nowMs: () => number;
  /** From 0 to less than 1. */
  random: () => number;
  createId: CreateId;
  seal: Seal;
  checkStatement: CheckStatement;
  changes: ChangeFeed;
  namespace: string;
  quota: Quota;
  leftovers: Leftovers;
  storedBytes: StoredBytes;
  slots: SlotStreams;
  schedules: Schedules;
  pace: DeliveryPace;
  eventClock: EventClock;
  /** Undefined if mail is off. */
  mail?: MailPolicy | undefined;
}

export function makeContext(catalog: Catalog, ctx: CallContext): MakeContext & { principal: Principal } {
  const principal = requirePrincipal(ctx);
  const { accountId } = principal;
  const createId = ctx.operation === undefined ? catalog.createId : fixedIds(catalog, ctx.operation);
  return { accountId, nowMs: catalog.nowMs(), createId, principal };
}

/** In each attempt at an operation its resources get the same ids, so it creates them once. */
function fixedIds({ namespace, createId }: Catalog, operation: string): CreateId {
  let created = 0;
  return (kind, atMs) => {
    const place = created++ === 0 ? operation : `${operation}/${created}`;
    return operationIdOf({ namespace, kind }, place) ?? createId(kind, atMs);
  };
}

/** Inserts a new document. Resolves to the stored one, which an earlier attempt at the same operation may have inserted. */
export async function insertOnce<T extends Doc>(
  collection: Collection<T>,
  doc: T,
  made?: CompanionWrites,
): Promise<T> {
  try {
    await collection.insert(doc, made);
    return doc;
  } catch (err) {
    if (!(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
    // The id is random, or that of the operation.
    const own = await collection.get(doc.accountId, doc.id);
    if (own === null) throw err;
    return own;
  }
}

const attemptsMax = 50;

/** What an attempt of `untilWritten` resolves to if another write came first. */
export const overtaken = Symbol('overtaken');

/** Repeats a read and the write that depends on it until no other write comes in between. Throws UNAVAILABLE at last. */
export async function untilWritten<T>(attempt: () => Promise<T | typeof overtaken>): Promise<T> {
  for (let i = 0; i < attemptsMax; i++) {
    const written = await attempt();
    if (written !== overtaken) return written;
  }
  throw tooMany();
}

interface Update<T extends Doc> {
  collection: Collection<T>;
  load: () => Promise<T>;
  /** Returns the very document it was given when nothing changes. */
  change: (doc: T, nowMs: number) => T | Promise<T>;
  /** Called before each attempt to replace the document. */
  beforeReplace?: (doc: T, changed: T) => Promise<void>;
  expected?: Expected;
  /** Of the audit: written in one step with the change, and alone if nothing changes. */
  entry: CompanionWrite;
  /** What else is written in one step with the change. */
  beside?: (doc: T, changed: T) => Promise<CompanionWrite[]>;
}

/** Applies a change to the document as it is now; concurrent updates are applied one after the other. */
export async function update<T extends Doc & { updatedAt: number | null }>(
  catalog: Catalog,
  { collection, load, change, beforeReplace, expected = {}, entry, beside }: Update<T>,
): Promise<T> {
  const { accountId, resourceId } = entry.doc as AuditDoc;
  const attempt = async () => {
    const doc = await load();
    requireVersion(doc, expected);
    const nowMs = catalog.nowMs();
    const changed = await change(doc, nowMs);
    if (changed === doc) {
      await insertOnce(catalog.store.audit, entry.doc as AuditDoc);
      return doc;
    }
    await beforeReplace?.(doc, changed);
    await turnForText(weightOf(changed));
    const next = { ...changed, version: doc.version + 1, updatedAt: nowMs };
    const others = (await beside?.(doc, next)) ?? [];
    return (await collection.replace(next, [entry, ...others])) ? next : overtaken;
  };
  return catalog.store.oneByOne(`${accountId} ${resourceId}`, () => untilWritten(attempt));
}

interface Removal<T extends Doc> extends Pick<Update<T>, 'collection' | 'load' | 'expected' | 'entry'> {
  /** What else is written in one step with the deletion. */
  beside?: (doc: T) => Promise<CompanionWrite[]>;
}

/** Deletes the document at the version that the caller expects. Throws NOT_FOUND if there is none. */
export async function remove<T extends Doc>({
  collection,
  load,
  expected = {},
  entry,
  beside,
}: Removal<T>): Promise<void> {
  await untilWritten(async () => {
    const doc = await load();
    const { accountId, id, version } = doc;
    requireVersion({ version }, expected);
    const others = (await beside?.(doc)) ?? [];
    const guard = expected.expectedVersion === undefined ? {} : { version };
    return (await collection.delete(accountId, id, { ...guard, companion: [entry, ...others] })) || overtaken;
  });
}

/** One message for a document that never existed and for one of another account. */
export function notFound(what: string): HubError {
  return new HubError('NOT_FOUND', `There is no such ${what}.`);
}

export async function loadHub(catalog: Catalog, principal: Principal, hubId: string): Promise<HubDoc> {
  const hub = await catalog.store.hubs.get(principal.accountId, hubId);
  if (hub === null || hub.deleting) throw notFound('hub');
  keyLimits.hubIds.require(principal.limits, hub.id);
  return hub;
}

/** The id of a hub that is named by its id or path. Undefined if no hub has the path. */
export async function findHubId(
  { store }: Pick<Catalog, 'store'>,
  accountId: string,
  named: string,
): Promise<string | undefined> {
  // Ids have dots, and paths have none.
  if (named.includes('.')) return named;
  const [found] = await store.hubs.find({ accountId, where: { path: named }, limit: 1 });
  return found?.id;
}

export async function loadFolder(catalog: Catalog, principal: Principal, id: string): Promise<FolderDoc> {
  const wanted = { collection: catalog.store.folders, id, what: 'folder' };
  return (await loadInHub(catalog, principal, wanted)).doc;
}

export async function loadSource(catalog: Catalog, principal: Principal, id: string): Promise<SourceDoc> {
  const wanted = { collection: catalog.store.sources, id, what: 'source' };
  return (await loadInHub(catalog, principal, wanted)).doc;
}

export async function loadQuery(catalog: Catalog, principal: Principal, id: string): Promise<QueryDoc> {
  return (await loadQueryAndHub(catalog, principal, id)).query;
}

/** Boards show queries of a whole hub, so a key that is limited to some has none. */
export async function loadBoard(catalog: Catalog, principal: Principal, id: string): Promise<BoardDoc> {
  const wanted = { collection: catalog.store.boards, id, what: 'board' };
  const { doc } = await loadInHub(catalog, principal, wanted);
  requireMayHaveBoards(principal.limits);
  return doc;
}

/** A key that is limited to queries sees their watches. */
export async function loadWatch(catalog: Catalog, principal: Principal, id: string): Promise<WatchDoc> {
  requireMayReadWatches(principal.limits);
  const wanted = { collection: catalog.store.watches, id, what: 'watch' };
  const { doc } = await loadInHub(catalog, principal, wanted);
  keyLimits.queryIds.require(principal.limits, doc.queryId);
  if (keyLimits.queries.isSet(principal.limits)) await loadQuery(catalog, principal, doc.queryId);
  return doc;
}

export async function loadQueryAndHub(
  catalog: Catalog,
  principal: Principal,
  id: string,
): Promise<{ query: QueryDoc; hub: HubDoc }> {
  const wanted = { collection: catalog.store.queries, id, what: 'query' };
  const { doc, hub } = await loadInHub(catalog, principal, wanted);
  requireMayUse(principal.limits, { hub, query: doc });
  return { query: doc, hub };
}

interface Wanted<T extends Doc> {
  collection: Collection<T>;
  id: string;
  what: string;
}

/** Documents of a hub that is being deleted count as deleted. */
async function loadInHub<T extends Doc & { hubId: string }>(
  catalog: Catalog,
  principal: Principal,
  { collection, id, what }: Wanted<T>,
): Promise<{ doc: T; hub: HubDoc }> {
  const doc = await collection.get(principal.accountId, id);
  if (doc === null) throw notFound(what);
  const hub = await catalog.store.hubs.get(principal.accountId, doc.hubId);
  if (hub === null || hub.deleting) throw notFound(what);
  keyLimits.hubIds.require(principal.limits, doc.hubId);
  return { doc, hub };
}

/** The parent that a request names, or the category when it names none. */
export async function findParent(
  catalog: Catalog,
  hub: HubDoc,
  wanted: { nodeId: string | undefined; nodeSubType: NodeSubType },
): Promise<Parent> {
  const category = wanted.nodeSubType === 'queries' ? hub.queriesNodeId : hub.sourcesNodeId;
  if (wanted.nodeId === undefined) return { nodeId: category, nodeSubType: wanted.nodeSubType };
  const parent = categoryOf(hub, wanted.nodeId) ?? (await findFolder(catalog, hub, wanted.nodeId));
  if (parent === undefined) throw notFound('parent node');
  if (parent.nodeSubType !== wanted.nodeSubType) {
    const detail = `is a node for ${parent.nodeSubType}, not for ${wanted.nodeSubType}`;
    throw fieldError([{ path: ['parentNodeId'], detail }]);
  }
  return parent;
}

export async function findFolder(catalog: Catalog, hub: HubDoc, nodeId: string): Promise<Parent | undefined> {
  const folder = await catalog.store.folders.get(hub.accountId, nodeId);
  if (folder === null || folder.deleting || folder.hubId !== hub.id) return undefined;
  return { nodeId: folder.id, nodeSubType: folder.nodeSubType };
}

interface NewNode<T extends Doc> {
  collection: Collection<T>;
  doc: T;
  /** The entry of the audit, and what else is written in one step with the node. */
  made: CompanionWrites;
  /** The entry of its deletion, if it cannot stay. */
  unmade: CompanionWrite;
  /** Throws CONFLICT if something else that the node depends on has changed meanwhile. */
  confirm?: () => Promise<void>;
}

/**
 * Inserts a node, then checks that its hub and folder still exist. A deletion writes its tombstone before it looks for
 * contents, so one of the two always sees the other. Resolves to the node as `insertOnce` does.
 */
export async function insertInHub<T extends Doc & { hubId: string; parentNodeId: string }>(
  catalog: Catalog,
  { collection, doc: wanted, made, unmade, confirm }: NewNode<T>,
): Promise<T> {
  const doc = await insertOnce(collection, wanted, made);
  let refusal: HubError | undefined;
  try {
    const missing = await findMissing(catalog, doc);
    refusal = missing === undefined ? await refusalOf(confirm?.()) : notFound(missing);
    if (refusal !== undefined) await collection.delete(doc.accountId, doc.id, { companion: unmade });
  } catch (err) {
    // The node is there, and may have to go.
    throw outcomeUnknown(err);
  }
  if (refusal !== undefined) throw refusal;
  return doc;
}

/** Resolves to the error if a check refuses with NOT_FOUND or CONFLICT. Other errors are thrown. */
export async function refusalOf(check: Promise<unknown> | undefined): Promise<HubError | undefined> {
  try {
    await check;
    return undefined;
  } catch (err) {
    if (err instanceof HubError && (err.code === 'CONFLICT' || err.code === 'NOT_FOUND')) return err;
    throw err;
  }
}

async function findMissing(
  catalog: Catalog,
  doc: Doc & { hubId: string; parentNodeId: string },
): Promise<string | undefined> {
  const hub = await catalog.store.hubs.get(doc.accountId, doc.hubId);
  if (hub === null || hub.deleting) return 'hub';
  const found = categoryOf(hub, doc.parentNodeId) || (await findFolder(catalog, hub, doc.parentNodeId));
  return found ? undefined : 'parent node';
}
