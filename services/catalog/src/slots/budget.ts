/** The slots of one source or of one server, and who has them. */

/** The slots that one executor has of one source. */
export interface Holding {
  readonly executor: Holder;
  readonly source: SlotSource;
  held: number;
  /** Of those, the ones that the executor was told to give back. */
  recalled: number;
  /** Recalled from others for this one. */
  due: number;
  wanted: number;
  /** When it began to wait, or got its last slot. */
  waitsSince: number;
  /** As the executor knows it. */
  contended: boolean;
}

export interface Holder {
  readonly holdings: Map<string, Holding>;
}

export interface SlotSource {
  readonly sourceId: string;
  readonly accountId: string;
  servers: readonly string[];
  /** Its own budget, then those of its servers. */
  budgets: Budget[];
}

/** What a holding has once all recalls are carried out. */
export const shareOf = ({ held, recalled, due }: Holding): number => held - recalled + due;

/** Changes of a holding's numbers. */
export type Step = Partial<Record<'held' | 'recalled' | 'due' | 'wanted', number>>;

export class Budget {
  max: number;
  /** The most that may be granted while executors are missing that may hold slots, too. */
  ceiling = Number.POSITIVE_INFINITY;
  readonly holdings = new Set<Holding>();
  held = 0;
  recalled = 0;
  wanted = 0;
  contended = false;
  readonly #accounts = new Map<string, number>();

  constructor(max: number) {
    this.max = max;
  }

  get limit(): number {
    return Math.min(this.max, this.ceiling);
  }

  get isFull(): boolean {
    return this.held >= this.limit;
  }

  add(holding: Holding): void {
    this.holdings.add(holding);
    this.count(holding, holding);
  }

  remove(holding: Holding): void {
    const { held, recalled, due, wanted } = holding;
    this.count(holding, { held: -held, recalled: -recalled, due: -due, wanted: -wanted });
    this.holdings.delete(holding);
  }

  count({ source: { accountId } }: Holding, { held = 0, recalled = 0, due = 0, wanted = 0 }: Step): void {
    this.held += held;
    this.recalled += recalled;
    this.wanted += wanted;
    const share = this.shareOfAccount(accountId) + held - recalled + due;
    if (share === 0) this.#accounts.delete(accountId);
    else this.#accounts.set(accountId, share);
  }

  shareOfAccount(accountId: string): number {
    return this.#accounts.get(accountId) ?? 0;
  }

  /** True if somebody waits, and nobody who could give a slot back is awake. */
  isStuck(isAwake: (holding: Holding) => boolean): boolean {
    if (this.wanted === 0 || !this.isFull) return false;
    for (const one of this.holdings) if (one.held > 0 && isAwake(one)) return false;
    return true;
  }

  /** The one to serve next: one for whom a slot was recalled, else the neediest. */
  next(isServable: (holding: Holding) => boolean): Holding | undefined {
    return this.neediest((one) => one.due > 0 && isServable(one)) ?? this.neediest(isServable);
  }

  /** The one that waits with the smallest share, of the account with the smallest share. */
  neediest(isMeant: (holding: Holding) => boolean): Holding | undefined {
    let best: Holding | undefined;
    for (const one of this.holdings) {
      if (one.wanted === 0 || !isMeant(one)) continue;
      const order = best === undefined ? -1 : this.#byShare(one, best) || one.waitsSince - best.waitsSince;
      if (order < 0) best = one;
    }
    return best;
  }

  /** The holding with the largest share, of the account with the largest share. */
  largest(except?: Holding): Holding | undefined {
    let best: Holding | undefined;
    for (const one of this.holdings) {
      if (one === except || shareOf(one) <= 0 || one.held <= one.recalled) continue;
      if (best === undefined || this.#byShare(one, best) > 0) best = one;
    }
    return best;
  }

  #byShare(a: Holding, b: Holding): number {
    const byAccount = this.shareOfAccount(a.source.accountId) - this.shareOfAccount(b.source.accountId);
    return byAccount || shareOf(a) - shareOf(b);
  }
}
