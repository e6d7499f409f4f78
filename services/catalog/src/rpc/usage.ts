/** The executions of a query by key and day, and those with a key by day, from the audit log. */

import { withScope } from '@datahub/contract/roles';
import type { CatalogServiceService, KeyUsage } from '@datahub/proto/catalog/v1/catalog';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { createFixedId } from '@datahub/service-kit/id';
import { createLoopYield, nextTurn } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, loadQuery } from '../catalog.ts';
import { findKey } from '../people/acting.ts';
import { toDay, UsageByDay } from '../usage/usage-by-day.ts';
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
      const { keys: shown, totalKeys } = await usage.toKeys(keysMax);
      const named = withScope(principal, 'keys:read') ? await withNames(catalog, principal, shown) : shown;
      return {
        from: toDay(fromMs),
        to: toDay(today),
        keys: named,
        totalKeys,
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
        days: await usage.toDays(),
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
  usage: UsageByDay;
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
  const usage = new UsageByDay('keyId' in of ? 'resourceId' : 'keyId');
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
    usage.removeBefore(fromMs);
    break;
  }
  return { usage, fromMs, truncated: false };
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
