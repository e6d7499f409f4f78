/** The executions of a query by key and day, and those with a key by day, from the audit log. */

import { withScope } from '@datahub/contract/roles';
import type {
  CatalogServiceService,
  DayUsage,
  GetQueryUsageResponse,
  KeyUsage,
  UserDayUsage,
} from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { DistinctSketch } from '@datahub/service-kit/distinct-sketch';
import { createFixedId } from '@datahub/service-kit/id';
import { createLoopYield, nextTurn } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, loadQuery } from '../catalog.ts';
import type { AuditDoc } from '../documents.ts';
import { findKey } from '../people/acting.ts';
import { dayMs, dayOf } from '../usage/use-counts.ts';
import { loadReadableKey } from './key-access.ts';

/** Today and the days before it. */
const days = 30;
/**
 * Read at a time, twice as many each time: FerretDB reads the whole collection for each batch. On SQLite the largest one
 * holds the event loop for 6 ms, and longer with sketches of users.
 */
const batchMin = 500;
const batchMax = 4_000;
/**
 * There is one entry per key, query and hour of the last three days, and one for each day before: these are at least
 * 1,000 keys that execute a query, or 1,000 queries with a key, in every hour of the 30 days.
 */
const entriesMaxDefault = 100_000;
/** Of a key: these are 10,000 queries in every hour of the day. */
const todayEntriesMaxDefault = 240_000;
const keysMax = 1_000;

interface UsageOptions {
  /** How long counts are kept. */
  usageKeptMs: number;
  /** The most entries that one call reads. Beyond it, the answer has fewer days. */
  entriesMax?: number;
  /** Beyond it, the usage of a key has only the last hours of today. */
  todayEntriesMax?: number;
}

export function createUsageCalls(catalog: Catalog, options: UsageOptions) {
  return {
    getQueryUsage: async ({ queryId }, ctx) => {
      const principal = requirePrincipal(ctx);
      const { id } = await loadQuery(catalog, principal, queryId);
      const today = dayOf(catalog.nowMs());
      const { accountId } = principal;
      // Today is always read whole: it has at most 24 entries for each key.
      const todayEntriesMax = Number.POSITIVE_INFINITY;
      const { fromMs, usage } = await readUsage(catalog, {
        ...options,
        todayEntriesMax,
        accountId,
        of: { resourceId: id },
        today,
      });
      const keys = await usage.toKeys();
      const shown = keys.slice(0, keysMax);
      const named = withScope(principal, 'keys:read') ? await withNames(catalog, principal, shown) : shown;
      return {
        from: toDay(fromMs),
        to: toDay(today),
        keys: named,
        totalKeys: keys.length,
        ...(await usage.total()),
      };
    },

    getKeyUsage: async ({ keyId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      await loadReadableKey(catalog, ctx, keyId);
      const today = dayOf(catalog.nowMs());
      const range = { ...options, accountId, of: { keyId }, today };
      const { fromMs, usage, truncated } = await readUsage(catalog, range);
      return {
        from: toDay(fromMs),
        to: toDay(today),
        ...(await usage.total()),
        days: usage.daysOf(keyId),
        truncated,
      };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

interface UsageRange extends UsageOptions {
  accountId: string;
  of: { resourceId: string } | { keyId: string };
  /** The start of the day. */
  today: number;
}

interface ReadUsage {
  usage: Usage;
  /** The start of the first day. */
  fromMs: number;
  /** True if a part of today was not read. All other days are whole. */
  truncated: boolean;
}

/** Reads days, newest first. */
async function readUsage(catalog: Catalog, range: UsageRange): Promise<ReadUsage> {
  const { accountId, of, today, usageKeptMs } = range;
  const { entriesMax = entriesMaxDefault, todayEntriesMax = todayEntriesMaxDefault } = range;
  // The sweep may have deleted a part of the day on which the oldest entries were written.
  const keptFrom = dayOf(catalog.nowMs() - usageKeptMs) + dayMs;
  let fromMs = Math.max(today - (days - 1) * dayMs, Math.min(keptFrom, today));
  const where = { ...of, action: 'query.execute' };
  const afterId = createFixedId(
    { namespace: catalog.namespace, kind: 'evt', atMs: fromMs },
    Buffer.alloc(10),
  );
  const usage = new Usage();
  const endOfTurn = createLoopYield();
  let beforeId: string | undefined;
  for (let read = 0, limit = batchMin; ; limit = Math.min(2 * limit, batchMax)) {
    const page = { accountId, where, afterId, limit, descending: true };
    const batch = await catalog.store.audit.find({
      ...page,
      ...(beforeId === undefined ? {} : { beforeId }),
    });
    for (const entry of batch) {
      if (entry.at >= fromMs) usage.add(entry);
      await endOfTurn();
    }
    const last = batch.at(-1);
    if (last === undefined || batch.length < limit) break;
    beforeId = last.id;
    read += limit;
    // SQLite does not wait, and other calls must run between batches.
    await nextTurn();
    const isToday = dayOf(last.at) === today;
    if (read < (isToday ? todayEntriesMax : entriesMax)) continue;
    if (isToday) return { usage, fromMs: today, truncated: true };
    // Only a part of this day was read.
    fromMs = dayOf(last.at) + dayMs;
    usage.removeBefore(toDay(fromMs));
    break;
  }
  return { usage, fromMs, truncated: false };
}

interface Count {
  count: number;
  failed: number;
}

/** The executions with a key, and the signed-in users, by day. */
interface OfKey {
  days: Map<string, OfDay>;
  users: Map<string, DistinctSketch>;
}

/** By resource. An entry of the whole day stands for its hours, which may be there until they are deleted. */
class OfDay {
  readonly #hours = new Map<string, Count>();
  readonly #whole = new Map<string, Count>();

  add({ resourceId, hours, ...entry }: AuditDoc): void {
    const counts = hours === undefined ? this.#hours : this.#whole;
    const { count, failed } = counts.get(resourceId) ?? { count: 0, failed: 0 };
    counts.set(resourceId, { count: count + entry.count, failed: failed + entry.failed });
  }

  sum(): Count {
    return sumOf([...new Map([...this.#hours, ...this.#whole]).values()]);
  }
}

class Usage {
  readonly #keys = new Map<string, OfKey>();

  add(entry: AuditDoc): void {
    const { keyId, at, users } = entry;
    const ofKey: OfKey = this.#keys.get(keyId) ?? { days: new Map(), users: new Map() };
    this.#keys.set(keyId, ofKey);
    const day = toDay(at);
    const ofDay = ofKey.days.get(day) ?? new OfDay();
    ofKey.days.set(day, ofDay);
    ofDay.add(entry);
    if (users === undefined) return;
    const sketch = ofKey.users.get(day) ?? new DistinctSketch();
    sketch.merge(Buffer.from(users, 'base64'));
    ofKey.users.set(day, sketch);
  }

  removeBefore(first: string): void {
    for (const [keyId, ofKey] of this.#keys) {
      for (const byDay of [ofKey.days, ofKey.users])
        for (const day of byDay.keys()) if (day < first) byDay.delete(day);
      if (ofKey.days.size === 0) this.#keys.delete(keyId);
    }
  }

  async total(): Promise<Pick<GetQueryUsageResponse, 'count' | 'failed' | 'users'>> {
    const total = { count: 0, failed: 0 };
    const all = new DistinctSketch();
    const endOfTurn = createLoopYield();
    for (const { days, users } of this.#keys.values()) {
      const { count, failed } = sumOf(inOrder(days));
      total.count += count;
      total.failed += failed;
      for (const sketch of users.values()) all.merge(sketch);
      await endOfTurn();
    }
    return { ...total, users: all.estimate() };
  }

  daysOf(keyId: string): UserDayUsage[] {
    const { days, users } = this.#keys.get(keyId) ?? { days: new Map(), users: new Map() };
    return inOrder(days).map((day) => ({ ...day, users: users.get(day.day)?.estimate() ?? 0 }));
  }

  /** The keys with the most executions first. */
  async toKeys(): Promise<KeyUsage[]> {
    const keys: KeyUsage[] = [];
    const endOfTurn = createLoopYield();
    for (const [keyId, { days, users }] of this.#keys) {
      const sorted = inOrder(days);
      keys.push({ keyId, days: sorted, ...sumOf(sorted), users: estimateOf([...users.values()]) });
      await endOfTurn();
    }
    return keys.sort((a, b) => b.count - a.count || (a.keyId < b.keyId ? -1 : 1));
  }
}

const inOrder = (days: ReadonlyMap<string, OfDay>): DayUsage[] =>
  [...days].map(([day, counts]) => ({ day, ...counts.sum() })).sort((a, b) => (a.day < b.day ? -1 : 1));

function sumOf(all: readonly Count[]): Count {
  const sum = { count: 0, failed: 0 };
  for (const { count, failed } of all) {
    sum.count += count;
    sum.failed += failed;
  }
  return sum;
}

function estimateOf(sketches: readonly DistinctSketch[]): number {
  if (sketches.length === 0) return 0;
  const merged = new DistinctSketch();
  for (const sketch of sketches) merged.merge(sketch);
  return merged.estimate();
}

/** Revoked keys have no name. */
function withNames(catalog: Catalog, { accountId }: Principal, keys: KeyUsage[]): Promise<KeyUsage[]> {
  return Promise.all(
    keys.map(async (key) => ({
      ...key,
      name: (await findKey(catalog, { accountId, keyId: key.keyId }))?.name,
    })),
  );
}

const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
