/**
 * Spreads the deliveries of an account over time, so that thousands of one account do not hold up those of others: a
 * number at once, then so many a second. This is the virtual scheduling of the generic cell rate algorithm (ITU-T I.371).
 */

import { LRUCache } from 'lru-cache';

export interface DeliveryPace {
  /** When the next delivery of the account is due, in milliseconds since 1970; at the earliest now. */
  nextAt(accountId: string, nowMs: number): number;
}

const perSecond = 20;
const atOnce = 200;
export const stepMs = 1_000 / perSecond;
/** An account that is dropped has at most as many at once again. */
const accountsMax = 10_000;

/** `elapsedMs` never goes back, as the clock may. */
export function createDeliveryPace(elapsedMs: () => number): DeliveryPace {
  /** When the next delivery would be due if none were sent at once. */
  const regularAt = new LRUCache<string, number>({ max: accountsMax });
  return {
    nextAt: (accountId, nowMs) => {
      const elapsed = elapsedMs();
      const at = Math.max(regularAt.get(accountId) ?? elapsed, elapsed);
      regularAt.set(accountId, at + stepMs);
      return nowMs + Math.max(0, Math.round(at - elapsed - atOnce * stepMs));
    },
  };
}
