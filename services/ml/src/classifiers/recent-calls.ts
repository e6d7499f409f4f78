/** Stores the results of recent train calls, so that a repeated call gets the same results. */

/** The result of training one example. */
export interface CallResult {
  classId: string;
  observations: number;
}

/** The most calls, and results of all calls, that are stored. The last call is always stored. */
const callsMax = 1_000;
const resultsMax = 20_000;
const bytesPerResult = 64;

export class RecentCalls {
  readonly #results: Map<string, CallResult[]>;
  #count = 0;

  constructor(from: Iterable<[string, CallResult[]]> = []) {
    this.#results = new Map(from);
    for (const { length } of this.#results.values()) this.#count += length;
  }

  /** Approximate memory in bytes. */
  get size(): number {
    return bytesPerResult * this.#count;
  }

  /** The calls for a snapshot, oldest first. */
  get entries(): [string, CallResult[]][] {
    return [...this.#results];
  }

  get(eventId: string): CallResult[] | undefined {
    return this.#results.get(eventId);
  }

  add(eventId: string, results: CallResult[]): void {
    this.#results.set(eventId, results);
    this.#count += results.length;
    for (const [oldest, { length }] of this.#results) {
      const isFull = this.#results.size > callsMax || this.#count > resultsMax;
      if (!isFull || this.#results.size === 1) return;
      this.#results.delete(oldest);
      this.#count -= length;
    }
  }
}
