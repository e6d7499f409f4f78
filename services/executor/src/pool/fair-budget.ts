/** Which account may have another connection, or another waiting place, of the process. */

import type { AccountUsage, ConnectionBudget, ConnectionLimits, GrowingPool } from './pool-types.ts';

/** What a waiting execution counts as, besides its values: its request, its statement, its deadline. */
const waiterBytes = 8_192;

/**
 * Shares the connections and the waiting places of the process fairly among accounts: an account may have another one
 * only while it has fewer of them than are left unused. Alone it gets half of all, beside one other such account a third,
 * and some are always left for the next account. (Dynamic thresholds, Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998.)
 */
export class FairBudget implements ConnectionBudget {
  readonly limits: ConnectionLimits;
  open = 0;
  busy = 0;
  #waitingCount = 0;
  #waitingBytes = 0;
  readonly #usages = new Map<string, AccountUsage>();
  readonly #waiting = new Set<GrowingPool>();
  readonly #closeIdlest: (accountId?: string) => boolean;

  /** `closeIdlest` closes the connection that has been idle longest, of one account or of all; false if none is idle. */
  constructor(limits: ConnectionLimits, closeIdlest: (accountId?: string) => boolean) {
    this.limits = limits;
    this.#closeIdlest = closeIdlest;
  }

  usage(accountId: string): AccountUsage {
    let usage = this.#usages.get(accountId);
    if (usage === undefined) {
      usage = { accountId, open: 0, busy: 0, waiting: 0, waitingBytes: 0 };
      this.#usages.set(accountId, usage);
    }
    return usage;
  }

  reserve(usage: AccountUsage): boolean {
    const { connectionsMax, connectionsPerAccountMax } = this.limits;
    if (usage.busy >= connectionsPerAccountMax || usage.busy >= connectionsMax - this.busy) return false;
    if (usage.open >= connectionsPerAccountMax && !this.#closeIdlest(usage.accountId)) return false;
    if (this.open >= connectionsMax && !this.#closeIdlest()) return false;
    usage.open++;
    usage.busy++;
    this.open++;
    this.busy++;
    return true;
  }

  cancel(usage: AccountUsage): void {
    usage.open--;
    usage.busy--;
    this.open--;
    this.busy--;
  }

  markBusy(usage: AccountUsage): void {
    usage.busy++;
    this.busy++;
  }

  markIdle(usage: AccountUsage): void {
    usage.busy--;
    this.busy--;
    if (this.#waiting.size > 0) this.#growWaiting();
  }

  markClosed(usage: AccountUsage): void {
    usage.open--;
    this.open--;
  }

  waitForRoom(pool: GrowingPool): void {
    this.#waiting.add(pool);
  }

  isWaitingForRoom(pool: GrowingPool): boolean {
    return this.#waiting.has(pool);
  }

  reserveWaiting(usage: AccountUsage, bytes: number): boolean {
    const { waitingPerAccountMax, waitingMax, waitingBytesMax } = this.limits;
    const countMax = Math.min(waitingPerAccountMax, waitingMax - this.#waitingCount);
    if (usage.waiting >= countMax) return false;
    if (usage.waitingBytes + waiterBytes + bytes > waitingBytesMax - this.#waitingBytes) return false;
    this.#countWaiting(usage, 1, waiterBytes + bytes);
    return true;
  }

  stopWaiting(usage: AccountUsage, bytes: number): void {
    this.#countWaiting(usage, -1, -waiterBytes - bytes);
  }

  #countWaiting(usage: AccountUsage, count: number, bytes: number): void {
    usage.waiting += count;
    usage.waitingBytes += bytes;
    this.#waitingCount += count;
    this.#waitingBytes += bytes;
  }

  mustYield(usage: AccountUsage): boolean {
    if (this.#waiting.size === 0 || this.busy < this.limits.connectionsMax) return false;
    for (const pool of this.#waiting) if (pool.usage.busy + 1 < usage.busy) return true;
    return false;
  }

  /** Drops the accounts that no pool counts for any more. */
  retain(usages: ReadonlySet<AccountUsage>): void {
    for (const [accountId, usage] of this.#usages) if (!usages.has(usage)) this.#usages.delete(accountId);
  }

  /** The account with the fewest busy connections goes first. */
  #growWaiting(): void {
    const pools = [...this.#waiting].sort((a, b) => a.usage.busy - b.usage.busy);
    this.#waiting.clear();
    for (const pool of pools) pool.grow();
  }
}
