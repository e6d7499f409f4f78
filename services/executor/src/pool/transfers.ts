/** The executions of a pool that outlast their timeout because their clients read slowly. Each occupies a connection. */

export interface Transfer {
  bytesPerSecond(): number;
  /** True once it must end, so that others get a connection. */
  isCut: boolean;
}

export class Transfers {
  readonly #running = new Set<Transfer>();
  readonly #max: number;

  /** At most half of the pool, and at least one. */
  constructor(poolSizeMax: number) {
    this.#max = Math.max(1, Math.floor(poolSizeMax / 2));
  }

  /** Adds a transfer, or keeps it. If there are too many, the slowest one is cut. */
  admit(transfer: Transfer): void {
    this.#running.add(transfer);
    if (this.#running.size <= this.#max) return;
    let slowest = transfer;
    for (const one of this.#running) if (one.bytesPerSecond() < slowest.bytesPerSecond()) slowest = one;
    slowest.isCut = true;
    this.#running.delete(slowest);
  }

  leave(transfer: Transfer): void {
    this.#running.delete(transfer);
  }
}
