/**
 * Counts of uses: one audit entry for each hour, key, action and document. Two days after a day has ended, its hours are
 * added up in one entry for the day.
 */

import { createHash } from 'node:crypto';
import { insertIfNew } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { DistinctSketch } from '@datahub/service-kit/distinct-sketch';
import { createFixedId } from '@datahub/service-kit/id';
import type { Catalog } from '../catalog.ts';
import type { AuditDoc } from '../documents.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
/** How long after its end a day is kept in hours. */
const hoursKeptMs = 2 * dayMs;

const countMax = 4_294_967_295;
const attemptsMax = 50;

/** What is counted together. */
type Use = Pick<AuditDoc, 'accountId' | 'keyId' | 'action' | 'resourceId'>;

export const hourOf = (ms: number): number => ms - (ms % hourMs);
/** The start of the day in UTC. */
export const dayOf = (ms: number): number => ms - (ms % dayMs);

/** The same for all hours of one day. */
export const dayKeyOf = ({ accountId, keyId, action, resourceId, at }: AuditDoc): string =>
  JSON.stringify([accountId, keyId, action, resourceId, dayOf(at)]);

/** The id of the count in the hour, or other interval, that begins at a time. */
function countIdOf(namespace: string, { keyId, action, resourceId }: Use, atMs: number): string {
  const seed = createHash('sha256')
    .update(JSON.stringify([keyId, action, resourceId]))
    .digest();
  return createFixedId({ namespace, kind: 'evt', atMs }, seed);
}

/** The count of the hour of a time, the present one by default, to be added with `addUse`. */
export function hourlyUse(
  { namespace, nowMs }: Pick<Catalog, 'namespace' | 'nowMs'>,
  { users, ...use }: Omit<AuditDoc, 'id' | 'version' | 'at' | 'users'> & { users?: Uint8Array },
  atMs = nowMs(),
): AuditDoc {
  const at = hourOf(atMs);
  return {
    ...use,
    ...{ id: countIdOf(namespace, use, at), version: 1, at },
    ...{ counted: 1, joinsAt: dayOf(at) + dayMs + hoursKeptMs },
    ...(users === undefined ? {} : mergedUsers(users)),
  };
}

/** Repeats the compare-and-set until it succeeds, because several gateways count at the same time. */
export async function addUse({ store }: Pick<Catalog, 'store'>, use: AuditDoc): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const old = await store.audit.get(use.accountId, use.id);
    const isWritten =
      old === null ? await insertIfNew(store.audit, use) : await store.audit.replace(sumOf(old, use));
    if (isWritten) return;
  }
  throw new HubError('UNAVAILABLE', 'Too many calls count the same use at once. Try again.', {
    retryable: true,
  });
}

/** The next version of `old`. */
function sumOf(old: AuditDoc, ...more: Pick<AuditDoc, 'count' | 'failed' | 'users'>[]): AuditDoc {
  const all = [old, ...more];
  const total = (name: 'count' | 'failed') =>
    Math.min(
      all.reduce((sum, one) => sum + one[name], 0),
      countMax,
    );
  const users = mergedUsers(...all.map((one) => Buffer.from(one.users ?? '', 'base64')));
  return { ...old, count: total('count'), failed: total('failed'), ...users, version: old.version + 1 };
}

/** Merges sketches, whose content callers may not rely on, into one of at most 1 KiB. */
function mergedUsers(...sketches: Uint8Array[]): Pick<AuditDoc, 'users'> {
  if (sketches.every(({ length }) => length === 0)) return {};
  const merged = new DistinctSketch();
  for (const bytes of sketches) merged.merge(bytes);
  return { users: Buffer.from(merged.toBytes()).toString('base64') };
}

/**
 * Adds the hours of one day to its entry, and deletes them. The entry says which hours it has, so that neither a crash in
 * between nor a second process counts one twice, and an hour that is written later is not lost.
 */
export async function joinDay(
  { store, namespace }: Pick<Catalog, 'store' | 'namespace'>,
  hour: AuditDoc,
): Promise<void> {
  const { accountId, keyId, action, resourceId, personId } = hour;
  const by = { keyId, ...(personId === undefined ? {} : { personId }) };
  const use = { accountId, ...by, action, resourceId };
  const day = dayOf(hour.at);
  const starts = Array.from({ length: 24 }, (_, i) => day + i * hourMs);
  const read = starts.map((at) => store.audit.get(accountId, countIdOf(namespace, use, at)));
  const found = (await Promise.all(read)).filter((doc) => doc !== null);
  // An hour of another namespace has another id.
  if (!found.some(({ id }) => id === hour.id)) found.push(hour);

  const id = countIdOf(namespace, use, day + 1);
  const before = await store.audit.get(accountId, id);
  const added = found.filter(({ at }) => !hasHour(before, at));
  const empty = { ...use, id, version: 0, at: day, requestId: '', counted: 1, count: 0, failed: 0 } as const;
  const hours = added.reduce((mask, { at }) => mask | maskOf(at), before?.hours ?? 0);
  const doc = { ...sumOf(before ?? empty, ...added), hours };
  const isWritten =
    added.length === 0 ||
    (before === null ? await insertIfNew(store.audit, doc) : await store.audit.replace(doc));
  // If another process was faster, the next sweep continues with what it wrote.
  if (!isWritten) return;
  await Promise.all(found.map(({ id, version }) => store.audit.delete(accountId, id, { version })));
}

const maskOf = (at: number): number => 1 << ((at % dayMs) / hourMs);

/** Whether the entry of a day contains the hour. */
const hasHour = (day: AuditDoc | null, at: number): boolean => ((day?.hours ?? 0) & maskOf(at)) !== 0;
