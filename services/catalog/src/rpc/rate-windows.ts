/** Request budgets that all gateways share: one counter per key and minute, incremented atomically in the store. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';

export const minuteMs = 60_000;

export function createWindowCalls(catalog: Catalog) {
  return {
    takeRequests: async ({ perMinute, count }, ctx) => {
      const { accountId, keyId } = requirePrincipal(ctx);
      const nowMs = catalog.nowMs();
      const endsAt = nowMs - (nowMs % minuteMs) + minuteMs;
      const taken = await take(catalog, { accountId, id: `${keyId}.${endsAt / minuteMs}`, endsAt, count });
      const over = Math.max(0, taken - perMinute);
      return {
        granted: Math.max(0, count - over),
        left: Math.max(0, perMinute - taken),
        resetMs: endsAt - nowMs,
      };
    },
  } satisfies Partial<Calls<typeof CatalogServiceService>>;
}

interface Take {
  accountId: string;
  id: string;
  endsAt: number;
  count: number;
}

/** The total for the window, including this request. */
export async function take(
  { store: { windows } }: Catalog,
  { accountId, id, endsAt, count }: Take,
): Promise<number> {
  const taken = await windows.add(accountId, id, { counter: 'taken', by: count });
  if (taken !== null) return taken;
  try {
    await windows.insert({ id, accountId, version: 1, taken: count, expiresAt: endsAt + minuteMs });
    return count;
  } catch (err) {
    if (!(err instanceof HubError) || err.code !== 'CONFLICT') throw err;
  }
  return (await windows.add(accountId, id, { counter: 'taken', by: count })) ?? count;
}
