/** The slots that this executor has of one source: each allows its pools one open connection. */

/** What the catalog needs to know of a source. */
export interface SlotClaim {
  sourceId: string;
  accountId: string;
  /** The most connections of the source, over all executors. */
  max: number;
  /** See `serverName`. */
  servers: string[];
}

export interface SlotUse extends SlotClaim {
  held: number;
  returned: number;
  wanted: number;
}

export interface SlotChange {
  granted: number;
  recalled: number;
  contended?: boolean | undefined;
  blocked?: boolean | undefined;
}

/** A pool whose connections need slots. */
export interface SlotPool {
  /** The executions that wait for a connection. */
  readonly waiting: number;
  /** The time since which the longest idle connection is idle; Infinity if none is idle. */
  readonly idleSince: number;
  grow(): void;
  /** Closes the connection that was idle longest. Returns false if none is idle. */
  closeIdlest(): boolean;
  /** Closes all connections at once, busy ones too. */
  cut(): void;
  /** Rejects the executions that wait, because no connection can be opened soon. */
  refuse(): void;
}

/** What the slots of a source need of those of the executor. */
export interface SlotLessor {
  /** True if a catalog of an older release grants no slots, so that each executor has its own limit. */
  readonly isUnlimited: boolean;
  /** True while the owner of the slots can be reached. */
  readonly isConnected: boolean;
  /** Of `now`: from then on the slots may belong to others. */
  readonly endsAt: number;
  /** Closes all connections of the executor and returns false if the lease has ended. */
  checkAwake(at: number): boolean;
  /** Sends how many slots are given back, and how many are wanted. */
  tell(slots: SourceSlots, returned: number): void;
  /** Calls `tick` of the slots soon, and again until it returns false. */
  watch(slots: SourceSlots): void;
  now(): number;
}

/** The most slots that are asked for at once. */
const lotMax = 4;
/** How long a slot is kept without a connection, for the next one. */
const keepMs = 1_000;
/** While others want slots, connections that are idle for longer are closed. */
const contendedIdleMs = 100;

export class SourceSlots {
  claim: SlotClaim;
  /** Slots with a connection. */
  used = 0;
  /** Slots without one. */
  free = 0;
  /** Slots that the catalog was asked for. */
  wanted = 0;
  readonly #lessor: SlotLessor;
  readonly #pools = new Set<SlotPool>();
  readonly #waiting = new Set<SlotPool>();
  /** The most slots that were needed since the last tick. */
  #neededMost = 0;
  #recalled = 0;
  #contended = false;
  #freeSince = 0;
  #growing = false;
  /** Of the slots in use, those whose lease has ended. */
  #lapsed = 0;

  constructor(claim: SlotClaim, lessor: SlotLessor) {
    this.claim = claim;
    this.#lessor = lessor;
  }

  /** True if a connection must be closed as soon as its statement has ended. */
  get isRecalled(): boolean {
    return this.#recalled > 0;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get isUnused(): boolean {
    return this.used === 0 && this.#pools.size === 0;
  }

  /** Check it before each use of a connection. If it is false, all connections are closed. */
  isAwake(at: number): boolean {
    return at < this.#lessor.endsAt || this.#lessor.checkAwake(at);
  }

  isWaitedForBy(pool: SlotPool): boolean {
    return this.#waiting.has(pool);
  }

  enter(pool: SlotPool): void {
    this.#pools.add(pool);
  }

  leave(pool: SlotPool): void {
    this.#pools.delete(pool);
    this.#waiting.delete(pool);
    this.#lessor.watch(this);
  }

  /** Takes a slot for a connection. If there is none, it asks for one, and calls `grow` when there is one. */
  take(pool: SlotPool): boolean {
    if (this.free > 0) this.free--;
    else if (!this.#lessor.isUnlimited) {
      this.#waiting.add(pool);
      this.#lessor.watch(this);
      this.#ask();
      return false;
    }
    this.used++;
    return true;
  }

  /** A connection was closed, or could not be opened. */
  give(): void {
    this.used--;
    if (this.#lessor.isUnlimited) return;
    if (this.#lapsed > 0) {
      this.#lapsed--;
      return;
    }
    this.free++;
    this.#freeSince = this.#lessor.now();
    this.#lessor.watch(this);
    this.#returnRecalled();
    this.#growSoon();
  }

  change({ granted, recalled, contended = this.#contended, blocked = false }: SlotChange): void {
    this.wanted = Math.max(0, this.wanted - granted);
    this.free += granted;
    this.#freeSince = this.#lessor.now();
    this.#contended = contended;
    this.#recalled = Math.min(this.#recalled + recalled, this.used + this.free);
    this.#returnRecalled();
    for (const pool of this.#pools) while (this.isRecalled && pool.closeIdlest());
    this.#lessor.watch(this);
    this.#growSoon();
    if (blocked) this.refuse();
  }

  /** No slot can be had soon. Without a connection, nothing is worth waiting for. */
  refuse(): void {
    if (this.used + this.free > 0) return;
    for (const pool of [...this.#waiting]) pool.refuse();
  }

  /** The owner is gone or new. What it recalled is void, and the next report says what is wanted. */
  reset(): void {
    this.#recalled = 0;
    this.#contended = false;
    this.wanted = 0;
  }

  /** The lease has ended: another executor may have the slots. A connection that is being opened is closed a little later. */
  cut(): void {
    this.free = 0;
    this.#lapsed = this.used;
    for (const pool of this.#pools) pool.cut();
  }

  /** What is in use becomes part of the next lease. */
  report(): SlotUse {
    this.#lapsed = 0;
    this.wanted = this.#need();
    return { ...this.claim, held: this.used + this.free, returned: 0, wanted: this.wanted };
  }

  /** Returns false if there is nothing to watch any more. */
  tick(): boolean {
    const at = this.#lessor.now();
    if (this.#contended)
      for (const pool of this.#pools) while (pool.idleSince <= at - contendedIdleMs && pool.closeIdlest());
    for (const pool of this.#waiting) if (pool.waiting === 0) this.#waiting.delete(pool);
    this.#want(Math.max(this.#need(), Math.min(this.#neededMost, this.wanted)));
    this.#neededMost = 0;
    const isKept = !this.#contended && this.#pools.size > 0 && at - this.#freeSince < keepMs;
    if (this.free > 0 && !this.isWaiting && !isKept) this.#return(this.free);
    return this.#contended || this.free > 0 || this.isWaiting || this.wanted > 0;
  }

  #need(): number {
    let waiting = 0;
    for (const pool of this.#waiting) waiting += pool.waiting;
    return Math.max(0, Math.min(waiting, lotMax, this.claim.max - this.used - this.free));
  }

  /**
   * Asks for more at once, and for less at a tick. The queue of a busy source changes in each turn of the event loop; a
   * message for each change would cost the catalog and this executor more than the executions.
   */
  #ask(): void {
    const need = this.#need();
    this.#neededMost = Math.max(this.#neededMost, need);
    if (need > this.wanted) this.#want(need);
  }

  #want(count: number): void {
    if (count === this.wanted || !this.#lessor.isConnected) return;
    this.wanted = count;
    this.#lessor.tell(this, 0);
  }

  #returnRecalled(): void {
    const count = Math.min(this.free, this.#recalled);
    if (count > 0) this.#return(count);
  }

  #return(count: number): void {
    if (!this.#lessor.isConnected) return;
    this.free -= count;
    this.#recalled = Math.max(0, this.#recalled - count);
    this.#lessor.tell(this, count);
  }

  /** Not at once, because a pool calls `give` while it changes. */
  #growSoon(): void {
    if (this.#growing || this.free === 0 || !this.isWaiting) return;
    this.#growing = true;
    queueMicrotask(() => {
      this.#growing = false;
      const pools = [...this.#waiting];
      this.#waiting.clear();
      for (const pool of pools) pool.grow();
    });
  }
}
