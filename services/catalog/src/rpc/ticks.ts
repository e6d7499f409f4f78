/** The RPCs of the gateways that run watches. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { type Catalog, notFound } from '../catalog.ts';
import { shareOut } from '../events/share-out.ts';
import type { WatchStateDoc } from '../watches/documents.ts';
import { endTick } from '../watches/end-tick.ts';
import { keepTick, takeTick } from '../watches/take-ticks.ts';
import { replaceState } from '../watches/watch-state.ts';

/** Ticks of one call. */
const takenMax = 100;
/** So many more are read, to find those of other accounts behind ones whose account has no place. */
const ticksBehind = 100;
/** The pause of a tick whose account has no place, while others can be behind it. */
const postponedMs = 5_000;
const nextMaxMs = 3_600_000;

export function createTickCalls(catalog: Catalog) {
  const { store } = catalog;
  return {
    takeTicks: async ({ limit, running, accountMax }) => {
      const now = catalog.nowMs();
      const readMax = Math.min(limit, takenMax) + ticksBehind;
      const { found: next, isAll } = await store.watchStates.findDue(Number.MAX_SAFE_INTEGER, readMax);
      const nextInMs = Math.min(nextMaxMs, (next[0]?.dueAt ?? Number.POSITIVE_INFINITY) - now);
      if (nextInMs > 0) return { ticks: [], lagMs: 0, nextInMs };
      const due = next.filter(({ dueAt }) => dueAt !== null && dueAt <= now);
      const { mine, later } = shareOut(due, { limit, running, accountMax: () => accountMax || takenMax });
      const taken = await Promise.allSettled(mine.map((state) => takeTick(catalog, state)));
      const postpone = (state: WatchStateDoc) =>
        replaceState(catalog, state, { change: { dueAt: now + postponedMs } });
      if (!isAll && due.length === next.length) await Promise.allSettled(later.map(postpone));
      const ticks = taken.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
      const failed = taken.find((one) => one.status === 'rejected');
      // What was leased must reach the gateway.
      if (failed !== undefined && ticks.length === 0) throw failed.reason;
      return { ticks, lagMs: Math.max(0, now - (mine[0]?.dueAt ?? now)), nextInMs: 0 };
    },

    keepTick: async ({ watchId, lease: token }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      await keepTick(catalog, { accountId, watchId, token });
      return {};
    },

    endTick: async (request, ctx) => {
      await endTick(catalog, requirePrincipal(ctx).accountId, request);
      return {};
    },

    readSnapshot: async ({ watchId, snapshotId }, ctx) => {
      const { accountId } = requirePrincipal(ctx);
      const isOwn = snapshotId.startsWith(`${watchId}/`);
      const kept = isOwn ? await store.watchSnapshots.get(accountId, snapshotId) : null;
      if (kept === null) throw notFound('snapshot');
      return {
        snapshot: { digest: '', rows: Buffer.from(kept.rows), ndjson: Buffer.from(kept.ndjson) },
      };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}
