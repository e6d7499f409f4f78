/** Request budgets that all gateways share: one counter per key and minute, incremented atomically in the store. */

import type { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { type Calls, requirePrincipal } from '@datahub/service-kit/call/call';
import type { Catalog } from '../catalog.ts';
import { minuteMs, take } from '../rates/windows.ts';

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
