/** Repairs what a clock that was set back left of deliveries. */

import type { Catalog } from '../catalog.ts';
import type { AccountDoc } from '../documents.ts';
import { clockSkewMsMax, settleDelivery } from '../events/deliveries.ts';
import { findBatches } from '../pagination.ts';
import { scanAll } from './deletion-sweep.ts';

const all = { offset: 0, limit: Number.POSITIVE_INFINITY };

/**
 * Returns a function that reads all deliveries that wait, at its first call and whenever the clock was set back since.
 * `elapsedMs` never goes back.
 */
export function createDeliverySweep(
  catalog: Catalog,
  elapsedMs: () => number,
): (closed: AbortSignal) => Promise<void> {
  let lead = Number.POSITIVE_INFINITY;
  return async (closed) => {
    const now = catalog.nowMs() - elapsedMs();
    const wasSetBack = now < lead - clockSkewMsMax;
    if (wasSetBack) await settleDeliveries(catalog, closed);
    lead = wasSetBack ? now : Math.max(lead, now);
  };
}

async function settleDeliveries(catalog: Catalog, closed: AbortSignal): Promise<void> {
  const { accounts, deliveries } = catalog.store;
  for await (const { id: accountId } of scanAll<AccountDoc>(accounts)) {
    for await (const batch of findBatches(deliveries, { accountId, where: { state: 'pending' } }, all)) {
      for (const delivery of batch) await settleDelivery(catalog, delivery);
      if (closed.aborted) return;
    }
  }
}
