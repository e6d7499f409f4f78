/** How often each account is listed. */
export function countByAccount(accountIds: Iterable<string>): { accountId: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const accountId of accountIds) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  return [...counts].map(([accountId, count]) => ({ accountId, count }));
}

/** How much of something bounded each owner uses, and all together. */
export class Usage {
  all = 0;
  readonly #byOwner = new Map<string, number>();

  of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  /** `amount` is negative for what is given back. */
  add(owner: string, amount: number): void {
    const own = this.of(owner) + amount;
    if (own === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, own);
    this.all += amount;
  }
}

interface Room {
  /** What would be used. */
  wanted: number;
  /** What of it is used already. */
  own?: number;
}

/**
 * What owners share as accounts share connections: an owner may use more only while it uses less than is left. Alone it
 * gets half. The first use of an owner only has to fit.
 */
export class FairUsage extends Usage {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  isFull({ wanted, own = 0 }: Room): boolean {
    return wanted > this.#max - (this.all - own);
  }

  hasRoom(owner: string, { wanted, own = 0 }: Room): boolean {
    return !this.isFull({ wanted: this.of(owner) - own + wanted, own });
  }
}
