/**
 * Knows recent train calls, so that a repeated call is learnt once. It gets the same results while they are stored, which
 * is shorter than a call with an Idempotency-Key can be repeated.
 */

/** The result of training one example. */
export interface CallResult {
  classId: string;
  observations: number;
}

/** The most calls, and results of all calls, that are stored. Those of the last event are always stored. */
const callsMax = 1_000;
const resultsMax = 20_000;
/** Restored from a snapshot, each has a copy of its class's id. */
const bytesPerResult = 128;

/** How long a call with an Idempotency-Key can be repeated, and a margin for clocks. */
const keyedMs = 25 * 3_600_000;
/** The most calls of that time. */
export const keyedCallsMax = 100_000;
const bytesPerKeyedCall = 48;
/** The id of such a call is a digest in base64url; that of another one is a UUID. */
const isKeyed = (eventId: string) => eventId.length === 43;
/** Its first 48 bits, as a number. */
const digestOf = (eventId: string) => Buffer.from(eventId.slice(0, 8), 'base64url').readUIntBE(0, 6);

export interface RecentCallsState {
  recent: [string, CallResult[]][];
  /** Digests of ids, and when the calls were made, in ms since 1970. Absent in snapshots of earlier releases. */
  keyed?: [number, number][];
}

export class RecentCalls {
  readonly #results: Map<string, CallResult[]>;
  /** In the order of the calls. */
  readonly #keyed: Map<number, number>;
  #count = 0;

  constructor({ recent = [], keyed = [] }: Partial<RecentCallsState> = {}) {
    this.#results = new Map(recent);
    this.#keyed = new Map(keyed);
    for (const { length } of this.#results.values()) this.#count += length;
  }

  /** Approximate memory in bytes. */
  get size(): number {
    return bytesPerResult * this.#count + bytesPerKeyedCall * this.#keyed.size;
  }

  /** For a snapshot, oldest first. */
  get state(): RecentCallsState {
    return { recent: [...this.#results], keyed: [...this.#keyed] };
  }

  get(eventId: string): CallResult[] | undefined {
    return this.#results.get(eventId);
  }

  /** True if the call was learnt. */
  has(eventId: string): boolean {
    return this.#results.has(eventId) || (isKeyed(eventId) && this.#keyed.has(digestOf(eventId)));
  }

  /** True if one more call can be known for as long as it can be repeated. */
  hasRoomFor(eventId: string, nowMs: number): boolean {
    this.#forget(nowMs);
    return !isKeyed(eventId) || this.#keyed.size < keyedCallsMax;
  }

  add(eventId: string, results: CallResult[], at: number): void {
    this.#forget(at);
    if (isKeyed(eventId)) this.#keyed.set(digestOf(eventId), at);
    this.#results.set(eventId, results);
    this.#count += results.length;
  }

  /** Drops the oldest results that are too many, but not those of the last `kept` calls. */
  trim(kept: number): void {
    for (const [oldest, { length }] of this.#results) {
      const isFull = this.#results.size > callsMax || this.#count > resultsMax;
      if (!isFull || this.#results.size <= kept) return;
      this.#results.delete(oldest);
      this.#count -= length;
    }
  }

  #forget(nowMs: number): void {
    for (const [digest, at] of this.#keyed) {
      if (at > nowMs - keyedMs) return;
      this.#keyed.delete(digest);
    }
  }
}
