/**
 * The slots that this executor leases from the catalog. Several replicas of the catalog may be connected; the one with the
 * highest epoch owns the slots. While no owner can be reached, the executor keeps what it has.
 */

import {
  type SlotChange,
  type SlotClaim,
  type SlotLessor,
  type SlotUse,
  SourceSlots,
} from './source-slots.ts';

/** A stream to one replica of the catalog. */
export interface SlotLink {
  /** Sends what changed, or with `epoch` a report. */
  send(uses: SlotUse[], epoch?: number): void;
  /** Sends a message without content. */
  beat(): void;
  /** Has the replica look at once whether the owner has ended. */
  seek(): void;
  /** Watches whether the replica responds, until the returned function is called. */
  wait(onSilent: () => void): () => void;
  /** Ends the stream and opens it again. */
  restart(): void;
}

export interface SlotBookOptions {
  now: () => number;
  /** Called when connections were closed because the process was paused for longer than its lease. */
  onExpired?(pausedMs: number): void;
}

export interface SlotStats {
  held: number;
  used: number;
  /** Sources that wait for a slot. */
  waiting: number;
  expirations: number;
}

/** Shares of the lease. */
const beatShare = 1 / 30;
const tickMs = 100;

export class SlotBook implements SlotLessor {
  isUnlimited = false;
  /** Of `now`. After this time the slots may belong to others. */
  endsAt = Number.POSITIVE_INFINITY;
  readonly now: () => number;
  readonly #options: SlotBookOptions;
  readonly #sources = new Map<string, SourceSlots>();
  readonly #links = new Set<SlotLink>();
  readonly #watched = new Set<SourceSlots>();
  #owner: SlotLink | undefined;
  #endWait: (() => void) | undefined;
  #epoch = 0;
  #leaseMs = 0;
  #lostAt = Number.NEGATIVE_INFINITY;
  #expirations = 0;
  #beatTimer: NodeJS.Timeout | undefined;
  #tickTimer: NodeJS.Timeout | undefined;

  constructor(options: SlotBookOptions) {
    this.#options = options;
    this.now = options.now;
  }

  /** True if a catalog may have listed this executor among those that hold slots. */
  get hasLeased(): boolean {
    return this.#epoch > 0;
  }

  get isConnected(): boolean {
    return this.#owner !== undefined;
  }

  get stats(): SlotStats {
    const sum = { held: 0, used: 0, waiting: 0, expirations: this.#expirations };
    for (const { used, free, isWaiting } of this.#sources.values()) {
      sum.held += used + free;
      sum.used += used;
      if (isWaiting) sum.waiting++;
    }
    return sum;
  }

  isOwner(link: SlotLink | undefined): boolean {
    return link !== undefined && this.#owner === link;
  }

  /** The slots of a source. The claim of the last call holds. */
  of(claim: SlotClaim): SourceSlots {
    const slots = this.#sources.get(claim.sourceId) ?? new SourceSlots(claim, this);
    slots.claim = claim;
    this.#sources.set(claim.sourceId, slots);
    return slots;
  }

  /** Call it with the time before each use of a connection. False if the lease has ended; all connections are closed then. */
  checkAwake(at: number): boolean {
    if (at < this.endsAt) return true;
    this.#expire(at);
    return false;
  }

  /** The same at this moment, for connections. */
  readonly isAwake = (): boolean => this.checkAwake(this.now());

  /** For catalogs of an older release. */
  allowAll(): void {
    if (this.#epoch === 0) this.isUnlimited = true;
  }

  /** A stream was opened. */
  open(link: SlotLink): void {
    this.#links.add(link);
  }

  /**
   * The replica at the other end says that it is the owner, or with 0 that it is not. Returns false if it has not
   * noticed yet that another one took over.
   */
  greeted(link: SlotLink, { epoch, leaseMs }: { epoch: number; leaseMs: number }): boolean {
    if (epoch === 0) {
      this.#lose(link);
      return true;
    }
    // A store that was restored from a backup begins with lower epochs.
    const isRecent = this.#owner !== undefined || this.now() - this.#lostAt < this.#leaseMs;
    if (epoch < this.#epoch && isRecent) return false;
    this.#stopWaiting();
    this.#owner = link;
    this.#epoch = epoch;
    this.isUnlimited = false;
    this.#beatEvery(leaseMs);
    for (const slots of this.#sources.values()) slots.reset();
    link.send(this.#report(), epoch);
    return true;
  }

  changed(link: SlotLink, changes: ({ sourceId: string } & SlotChange)[]): void {
    if (this.#owner !== link) return;
    for (const change of changes) {
      const slots = this.#sources.get(change.sourceId);
      if (slots !== undefined) slots.change(change);
      else if (change.granted > 0) this.#decline(link, change);
    }
  }

  /** The stream has ended. */
  closed(link: SlotLink): void {
    this.#links.delete(link);
    this.#lose(link);
  }

  close(): void {
    this.#stopWaiting();
    clearInterval(this.#beatTimer);
    clearInterval(this.#tickTimer);
    this.#watched.clear();
  }

  tell({ claim, wanted }: SourceSlots, returned: number): void {
    this.#owner?.send([{ ...claim, held: 0, returned, wanted }]);
    if (wanted > 0) this.#endWait ??= this.#owner?.wait(() => this.#refuseAll());
  }

  watch(slots: SourceSlots): void {
    this.#watched.add(slots);
    this.#tickTimer ??= setInterval(() => this.#tick(), tickMs).unref();
  }

  /** The owner does not respond. Another replica takes over later. */
  #refuseAll(): void {
    for (const slots of this.#watched) slots.refuse();
  }

  #stopWaiting(): void {
    this.#endWait?.();
    this.#endWait = undefined;
  }

  #report(): SlotUse[] {
    return [...this.#sources.values()]
      .map((slots) => slots.report())
      .filter(({ held, wanted }) => held > 0 || wanted > 0);
  }

  /** A slot for a source that is not used any more. */
  #decline(link: SlotLink, { sourceId, granted }: { sourceId: string } & SlotChange): void {
    const claim = { sourceId, accountId: '', max: granted, servers: [] };
    link.send([{ ...claim, held: 0, returned: granted, wanted: 0 }]);
  }

  #lose(link: SlotLink): void {
    if (this.#owner !== link) return;
    this.#stopWaiting();
    this.#owner = undefined;
    this.#lostAt = this.now();
    for (const slots of this.#sources.values()) slots.reset();
    for (const other of this.#links) other.seek();
  }

  #tick(): void {
    for (const slots of this.#watched) {
      if (slots.tick()) continue;
      this.#watched.delete(slots);
      const { sourceId } = slots.claim;
      if (slots.isUnused && this.#sources.get(sourceId) === slots) this.#sources.delete(sourceId);
    }
    if (![...this.#watched].some(({ isWaiting }) => isWaiting)) this.#stopWaiting();
    if (this.#watched.size > 0) return;
    clearInterval(this.#tickTimer);
    this.#tickTimer = undefined;
  }

  #beatEvery(leaseMs: number): void {
    if (this.#leaseMs === leaseMs) return;
    this.#leaseMs = leaseMs;
    clearInterval(this.#beatTimer);
    this.#beatTimer = setInterval(() => this.#beat(), leaseMs * beatShare).unref();
    this.#beat();
  }

  #beat(): void {
    const at = this.now();
    if (!this.checkAwake(at)) return;
    // The catalog counts from when it receives the beat, which is later.
    this.endsAt = at + this.#leaseMs * (1 - beatShare);
    for (const link of this.#links) link.beat();
  }

  #expire(at: number): void {
    this.#stopWaiting();
    const beatAt = this.endsAt - this.#leaseMs * (1 - beatShare);
    this.endsAt = at + this.#leaseMs * (1 - beatShare);
    this.#expirations++;
    this.#owner = undefined;
    for (const slots of this.#sources.values()) {
      slots.reset();
      slots.cut();
    }
    // What the catalog sent before belongs to the lease that has ended.
    for (const link of [...this.#links]) link.restart();
    this.#options.onExpired?.(at - beatAt);
  }
}
