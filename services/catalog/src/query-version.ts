/**
 * The versions of stored queries. The present version is the query itself. Before a change replaces it, the catalog
 * copies it under its number. The copy of a number is always the same, so a crash between the two writes, or another
 * change at the same time, neither loses a version nor adds one.
 */

import { queryVersionsKept } from '@datahub/contract/limits';
import { insertIfNew, type Summary } from '@datahub/document-store';
import type { QueryDoc, QueryVersionDoc, VersionStamp } from './documents.ts';
import { isSameState, withoutNames } from './query.ts';
import type { CatalogStore } from './store.ts';

/** Numbers are those of documents: 32 bits. */
const digitsMax = 10;
const deletedAtOnceMax = 200;

const prefixOf = (queryId: string) => `${queryId}/`;
const idOf = (queryId: string, number: number) =>
  `${prefixOf(queryId)}${String(number).padStart(digitsMax, '0')}`;

/** The stamp of a query without one says what is known of it. */
export function stampOf(query: QueryDoc): VersionStamp {
  const { stamp, version, createdAt, updatedAt } = query;
  if (stamp?.docVersion === version) return stamp;
  return { number: version, at: updatedAt ?? createdAt, keyId: '', docVersion: version };
}

interface Change {
  at: number;
  keyId: string;
  restoredFrom?: number | undefined;
}

/** Returns a new query, which is its first version. */
export function stampNew(query: QueryDoc, keyId: string): QueryDoc {
  const { version, createdAt } = query;
  return { ...query, stamp: { number: version, at: createdAt, keyId, docVersion: version } };
}

/** Returns a changed query as its next version. A query that only moves remains the same version. */
export function stampChanged(before: QueryDoc, changed: QueryDoc, change: Change): QueryDoc {
  const docVersion = before.version + 1;
  if (isSameState(before, changed)) return { ...changed, stamp: { ...stampOf(before), docVersion } };
  const { at, keyId, restoredFrom } = change;
  const restored = restoredFrom === undefined ? {} : { restoredFrom };
  return { ...changed, stamp: { number: docVersion, at, keyId, ...restored, docVersion } };
}

type Versions = Pick<CatalogStore, 'queryVersions'>;

/** Call this before a change replaces the query. */
export async function keepVersion({ queryVersions }: Versions, query: QueryDoc): Promise<void> {
  const { id, accountId, hubId } = query;
  const copied = withoutNames(query);
  const bytes = Buffer.byteLength(JSON.stringify(copied));
  const copy = { id: idOf(id, stampOf(query).number), accountId, version: 1, hubId, query: copied, bytes };
  if (await insertIfNew(queryVersions, copy)) return;
  // A copy of MongoDB that is not from one moment can contain versions that are newer than their query.
  const found = await queryVersions.get(accountId, copy.id);
  if (found !== null && !isSameState(found.query, query))
    await queryVersions.replace({ ...copy, version: found.version + 1 });
}

/** Lists the older versions that are kept, newest first. */
export async function listOlder({ queryVersions }: Versions, query: QueryDoc): Promise<Summary[]> {
  const found = await queryVersions.findSummaries({ ...olderThan(query), limit: queryVersionsKept.max });
  return found.slice(0, keptOf(found));
}

export function readOlder(
  { queryVersions }: Versions,
  query: QueryDoc,
  page: { offset: number; limit: number },
): Promise<QueryVersionDoc[]> {
  return queryVersions.find({ ...olderThan(query), ...page });
}

function olderThan(query: QueryDoc) {
  const { id, accountId } = query;
  const beforeId = idOf(id, stampOf(query).number);
  return { accountId, idPrefix: prefixOf(id), beforeId, descending: true };
}

/** The number of older versions to keep. The last one is kept whatever its size. */
function keptOf(older: readonly Summary[]): number {
  const { max, olderBytesMax } = queryVersionsKept;
  let bytes = 0;
  const first = older.findIndex((one, i) => {
    bytes += Number(one.bytes);
    return i === max - 1 || (i > 0 && bytes > olderBytesMax);
  });
  return first === -1 ? older.length : first;
}

/** Deletes the versions that are too old to be kept. */
export async function trimVersions(store: Versions, query: QueryDoc): Promise<void> {
  const last = (await listOlder(store, query)).at(-1);
  if (last !== undefined) await deleteVersions(store, { ...query, beforeId: last.id });
}

/** Returns the query as it was in a version; null if there is no such version. */
export async function findVersion(
  { queryVersions }: Versions,
  query: QueryDoc,
  number: number,
): Promise<QueryDoc | null> {
  const present = stampOf(query).number;
  if (number === present) return query;
  if (number > present) return null;
  return (await queryVersions.get(query.accountId, idOf(query.id, number)))?.query ?? null;
}

type Owner = Pick<QueryDoc, 'id' | 'accountId'>;

async function deleteVersions(
  { queryVersions }: Versions,
  { id, accountId, beforeId }: Owner & { beforeId?: string },
): Promise<void> {
  const older = beforeId === undefined ? {} : { beforeId };
  const filter = { accountId, idPrefix: prefixOf(id), ...older, limit: deletedAtOnceMax };
  while ((await queryVersions.deleteMany(filter)) === deletedAtOnceMax);
}

/** Deletes the versions of a query unless the query exists. The id of a deleted query is never used again. */
export async function deleteOrphans(
  store: Pick<CatalogStore, 'queries' | 'queryVersions'>,
  query: Owner,
): Promise<void> {
  if ((await store.queries.get(query.accountId, query.id)) === null) await deleteVersions(store, query);
}

/** The queries that have older versions, deleted ones included. Reads one version of each. */
export async function* scanVersioned({ queryVersions }: Versions): AsyncIterable<Owner> {
  let after: { accountId: string; id: string } | undefined;
  for (;;) {
    const [found] = await queryVersions.scan({ after, limit: 1 });
    if (found === undefined) return;
    const { accountId, query } = found;
    yield { accountId, id: query.id };
    after = { accountId, id: idOf(query.id, 10 ** digitsMax - 1) };
  }
}
