/**
 * How the connections of the whole process are shared among accounts. An account may open one more only while it
 * holds fewer busy ones than are left free: alone it gets half of all, beside one other such account a third, and
 * something is always left for one that comes new. (Dynamic thresholds, Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998.)
 */

export interface ConnectionLimits {
  /** Connections of this process, idle ones included. */
  connectionsMax: number;
  /** Of one account, over all its sources. */
  connectionsPerAccountMax: number;
  /** Executions of one account that may wait for a connection at the same time, over all its sources. */
  waitingPerAccountMax: number;
}

export const defaultConnectionLimits: ConnectionLimits = {
  connectionsMax: 200,
  connectionsPerAccountMax: 100,
  waitingPerAccountMax: 500,
};

/** What one account has in use. Pools count in it directly. */
export interface Share {
  readonly accountId: string;
  /** Open or being opened. */
  open: number;
  /** Of those, not idle. */
  busy: number;
  waiting: number;
}

/** A pool that waits for the budget to let it grow. */
export interface Hungry {
  readonly share: Share;
  pump(): void;
}

export class ConnectionBudget {
  open = 0;
  busy = 0;
  readonly limits: ConnectionLimits;
  private readonly shares = new Map<string, Share>();
  private readonly hungry = new Set<Hungry>();
  private readonly closeIdlest: (accountId?: string) => boolean;

  /** `closeIdlest` closes the connection that has been idle longest, of one account or of all; false when none is. */
  constructor(limits: ConnectionLimits, closeIdlest: (accountId?: string) => boolean) {
    this.limits = limits;
    this.closeIdlest = closeIdlest;
  }

  share(accountId: string): Share {
    let share = this.shares.get(accountId);
    if (share === undefined) {
      share = { accountId, open: 0, busy: 0, waiting: 0 };
      this.shares.set(accountId, share);
    }
    return share;
  }

  /** Counts one more open and busy connection, closing an idle one for it where all are taken. False: not now. */
  take(share: Share): boolean {
    const { connectionsMax, connectionsPerAccountMax } = this.limits;
    if (share.busy >= connectionsPerAccountMax || share.busy >= connectionsMax - this.busy) return false;
    if (share.open >= connectionsPerAccountMax && !this.closeIdlest(share.accountId)) return false;
    if (this.open >= connectionsMax && !this.closeIdlest()) return false;
    share.open++;
    share.busy++;
    this.open++;
    this.busy++;
    return true;
  }

  use(share: Share): void {
    share.busy++;
    this.busy++;
  }

  /** A busy connection became idle. */
  rest(share: Share): void {
    share.busy--;
    this.busy--;
    if (this.hungry.size > 0) this.feed();
  }

  /** An idle connection was closed. */
  drop(share: Share): void {
    share.open--;
    this.open--;
  }

  /** The pool is pumped once there is room. */
  wait(pool: Hungry): void {
    this.hungry.add(pool);
  }

  /** True when this account should let a connection go rather than hand it to its own next in line. */
  mustYield(share: Share): boolean {
    if (this.hungry.size === 0 || this.busy < this.limits.connectionsMax) return false;
    for (const pool of this.hungry) if (pool.share.busy + 1 < share.busy) return true;
    return false;
  }

  /** Forgets the accounts that no pool counts for any more. */
  keep(shares: ReadonlySet<Share>): void {
    for (const [accountId, share] of this.shares) if (!shares.has(share)) this.shares.delete(accountId);
  }

  /** Lets the hungry pools try again, the account with the fewest busy connections first. */
  feed(): void {
    const pools = [...this.hungry].sort((a, b) => a.share.busy - b.share.busy);
    this.hungry.clear();
    for (const pool of pools) pool.pump();
  }
}
