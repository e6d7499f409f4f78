/** The figures of one query in one span of time. */

import { bucketCount, bucketOf, toCounts } from '@datahub/executor-session/duration-buckets';
import {
  StatisticsRanking_Figure as Figure,
  type QueryFigures,
  type StatisticsRanking,
} from '@datahub/proto/executor/v1/executor';

export type RankingFigure = StatisticsRanking['figure'];

/** What one event adds to the figures. */
export interface Sample {
  /** 0 for an execution that belongs to no call. */
  calls: 0 | 1;
  cacheHits: 0 | 1;
  /** The code of the error that the call failed with. */
  failedWith: string | undefined;
  rows: number;
  bytes: number;
  /** Undefined if the call did not wait for a connection. */
  queueMs: number | undefined;
  /** Undefined if no statement was run. */
  databaseMs: number | undefined;
  /** Undefined if the call failed before it was run. */
  totalMs: number | undefined;
}

const queueAt = 0;
const databaseAt = bucketCount;
const totalAt = 2 * bucketCount;
const size = 3 * bucketCount;

export class Figures {
  #calls = 0;
  #cacheHits = 0;
  #rows = 0;
  #bytes = 0;
  /** As many as there are error codes. */
  readonly #errors = new Map<string, number>();
  /** The buckets of the three durations. */
  readonly #counts: Float64Array | Uint32Array;

  /** `Uint32Array` halves the memory. It is for spans that are too short for 2^32 calls. */
  constructor(Counts: typeof Float64Array | typeof Uint32Array) {
    this.#counts = new Counts(size);
  }

  add({ calls, cacheHits, failedWith, rows, bytes, queueMs, databaseMs, totalMs }: Sample): void {
    const counts = this.#counts;
    this.#calls += calls;
    this.#cacheHits += cacheHits;
    this.#rows += rows;
    this.#bytes += bytes;
    if (failedWith !== undefined) this.#errors.set(failedWith, (this.#errors.get(failedWith) ?? 0) + 1);
    if (queueMs !== undefined) add(counts, queueAt + bucketOf(queueMs), 1);
    if (databaseMs !== undefined) add(counts, databaseAt + bucketOf(databaseMs), 1);
    if (totalMs !== undefined) add(counts, totalAt + bucketOf(totalMs), 1);
  }

  addAll(other: Figures): void {
    this.#calls += other.#calls;
    this.#cacheHits += other.#cacheHits;
    this.#rows += other.#rows;
    this.#bytes += other.#bytes;
    for (const [code, calls] of other.#errors) this.#errors.set(code, (this.#errors.get(code) ?? 0) + calls);
    const [counts, added] = [this.#counts, other.#counts];
    for (let i = 0; i < size; i++) {
      const count = added[i] as number;
      if (count > 0) counts[i] = (counts[i] as number) + count;
    }
  }

  clear(): void {
    this.#calls = 0;
    this.#cacheHits = 0;
    this.#rows = 0;
    this.#bytes = 0;
    this.#errors.clear();
    this.#counts.fill(0);
  }

  toProto(): QueryFigures {
    return {
      calls: this.#calls,
      cacheHits: this.#cacheHits,
      rows: this.#rows,
      bytes: this.#bytes,
      errors: [...this.#errors].map(([code, calls]) => ({ code, calls })),
      queue: toCounts(this.#counts, queueAt),
      database: toCounts(this.#counts, databaseAt),
      total: toCounts(this.#counts, totalAt),
    };
  }

  /** Returns the number of calls and one figure. */
  toRanking(figure: RankingFigure): QueryFigures {
    const errors = figure === Figure.FIGURE_ERRORS ? [...this.#errors] : [];
    return {
      calls: this.#calls,
      cacheHits: 0,
      rows: figure === Figure.FIGURE_ROWS ? this.#rows : 0,
      bytes: 0,
      errors: errors.map(([code, calls]) => ({ code, calls })),
      ...(figure === Figure.FIGURE_TOTAL ? { total: toCounts(this.#counts, totalAt) } : {}),
    };
  }
}

function add(counts: Float64Array | Uint32Array, at: number, by: number): void {
  counts[at] = (counts[at] as number) + by;
}
