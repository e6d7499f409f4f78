/**
 * Counts the calls of queries in fixed memory: of at most `queriesMax` queries, since they were first called and in the
 * last hour, as twelve windows of five minutes. The last hour is thus the last 55 to 60 minutes. With all its windows, a
 * query takes about 35 kB, and about 5 kB more for each version if several were called.
 */

import { bucketCount, bucketOf, toCounts } from '@datahub/executor-session/duration-buckets';
import type { Principal } from '@datahub/proto/common/v1/principal';
import {
  StatisticsRanking_Figure as Figure,
  type QueryFigures,
  type ReadStatisticsRequest,
  type ReadStatisticsResponse,
  type QueryStatistics as StatisticsMessage,
  type StatisticsRanking,
} from '@datahub/proto/executor/v1/executor';
import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { QueryDefinition } from '../definitions/definition.ts';
import { mayUse } from '../execution/key-limits.ts';

export const windowMs = 300_000;
export const windowCount = 12;
/** Of a query. Beyond it, the oldest version is dropped. */
export const versionsMax = 5;
/** A clock that is set by less, or adjusted slowly, moves no window. */
const epochErrorMaxMs = 60_000;
/** These take about a millisecond. */
const readAtOnce = 25;

export interface QueryStatisticsOptions {
  /** Beyond it, the queries that were not called for the longest time are dropped, to the accuracy of one window. */
  queriesMax: number;
  now: () => number;
  /** The wall-clock time. */
  nowMs: () => number;
}

type CountedQuery = Pick<
  QueryDefinition,
  'queryId' | 'accountId' | 'hubId' | 'versionNumber' | 'grantedName'
>;

interface Window {
  /** The number of the window since 1970. */
  number: number;
  figures: Figures;
}

/** The statistics of one query. */
interface Counted {
  query: Omit<CountedQuery, 'versionNumber'>;
  /** Since when the query is counted without a gap, in milliseconds since 1970. */
  sinceMs: number;
  sinceStart: Figures;
  /** By number modulo `windowCount`. A window that is older than the last hour is reused. */
  windows: Window[];
  /** The window of the last call. */
  last: Window | undefined;
  /** The first version that was called. */
  firstVersion: number | undefined;
  /** By number. Undefined while only the first version was called, whose figures are `sinceStart`. */
  versions: Map<number, Figures> | undefined;
}

export class QueryStatistics {
  readonly #options: QueryStatisticsOptions;
  readonly #startedAtMs: number;
  /** Makes the time of `now` the time since 1970, so that the windows of all executors begin at the same moments. */
  #epochMs: number;
  /** Ordered by the window of the last call. */
  readonly #counted = new Map<string, Counted>();
  #dropped = 0;
  /** For sums that are read at once. */
  readonly #sum = new Figures(Float64Array);

  constructor(options: QueryStatisticsOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    this.#epochMs = this.#startedAtMs - options.now();
  }

  add(query: CountedQuery, sample: Sample): void {
    const counted = this.#counted.get(query.queryId) ?? this.#count(query);
    counted.query.grantedName = query.grantedName;
    const figures = versionFigures(counted, query.versionNumber);
    this.#addTo(counted, sample);
    figures?.add(sample);
  }

  /** Does nothing if the query is not counted yet, so that calls with unknown ids need no memory. */
  addToKnown(queryId: string, accountId: string | undefined, sample: Sample): void {
    const counted = this.#counted.get(queryId);
    if (counted?.query.accountId === accountId && counted !== undefined) this.#addTo(counted, sample);
  }

  /** Drops deleted queries. The id of a hub stands for all its queries. */
  remove(ids: readonly string[]): void {
    const removed = new Set(ids);
    for (const [queryId, { query }] of this.#counted)
      if (removed.has(queryId) || removed.has(query.hubId)) this.#counted.delete(queryId);
  }

  /** Lets other calls run between parts of a long answer. */
  async read(
    { queryIds, ranking }: ReadStatisticsRequest,
    principal: Principal,
  ): Promise<ReadStatisticsResponse> {
    const asked =
      queryIds.length === 0
        ? [...this.#counted.values()]
        : queryIds.map((queryId) => this.#counted.get(queryId));
    const readable = asked
      .filter((counted) => counted !== undefined)
      .filter(({ query }) => query.accountId === principal.accountId && mayUse(principal.limits, query));
    const nowMs = this.#options.nowMs();
    const sinceMs =
      queryIds.length !== 1 || this.#dropped === 0 ? this.#startedAtMs : (readable[0]?.sinceMs ?? nowMs);
    const queries: StatisticsMessage[] = [];
    for (const counted of readable) {
      const { windows, versions } =
        queryIds.length === 1 ? this.#parts(counted) : { windows: [], versions: [] };
      queries.push({ ...this.#toProto(counted, ranking), windows, versions });
      if (queries.length % readAtOnce === 0) await nextTurn();
    }
    return { queries, since: new Date(sinceMs).toISOString(), dropped: this.#dropped };
  }

  /** The figures by window and by version. */
  #parts({ windows, sinceStart, firstVersion, versions }: Counted) {
    const current = this.#windowNumber();
    const numbers = Array.from({ length: windowCount }, (_, i) => current - windowCount + 1 + i);
    const whole = firstVersion === undefined ? [] : [[firstVersion, sinceStart] as const];
    return {
      windows: numbers.map((number) => {
        const window = windows[number % windowCount];
        const figures = window?.number === number ? window.figures : new Figures(Uint32Array);
        return { start: new Date(number * windowMs).toISOString(), figures: figures.toProto() };
      }),
      versions: [...(versions ?? whole)]
        .sort(([a], [b]) => a - b)
        .map(([versionNumber, figures]) => ({ versionNumber, figures: figures.toProto() })),
    };
  }

  #windowNumber(): number {
    const { now, nowMs } = this.#options;
    const at = now();
    const epochMs = nowMs() - at;
    if (Math.abs(epochMs - this.#epochMs) > epochErrorMaxMs) this.#restart(epochMs);
    return Math.floor((at + this.#epochMs) / windowMs);
  }

  /** The clock was set, or the machine has slept. When the calls in the windows were made is unknown. */
  #restart(epochMs: number): void {
    this.#epochMs = epochMs;
    for (const counted of this.#counted.values()) {
      counted.windows.length = 0;
      counted.last = undefined;
    }
  }

  #toProto(
    counted: Counted,
    ranking: StatisticsRanking | undefined,
  ): Omit<StatisticsMessage, 'windows' | 'versions'> {
    const { query, sinceStart } = counted;
    const { queryId } = query;
    if (ranking === undefined)
      return { queryId, sinceStart: sinceStart.toProto(), lastHour: this.#lastHour(counted).toProto() };
    const { figure, lastHour } = ranking;
    return lastHour
      ? { queryId, lastHour: this.#lastHour(counted).toRanking(figure) }
      : { queryId, sinceStart: sinceStart.toRanking(figure) };
  }

  #count(query: CountedQuery): Counted {
    const { queriesMax, nowMs } = this.#options;
    if (this.#counted.size >= queriesMax) {
      this.#counted.delete(this.#counted.keys().next().value as string);
      this.#dropped++;
    }
    const { queryId, accountId, hubId, grantedName } = query;
    const counted: Counted = {
      query: { queryId, accountId, hubId, grantedName },
      // If a query was dropped, it may have been this one.
      sinceMs: this.#dropped === 0 ? this.#startedAtMs : nowMs(),
      sinceStart: new Figures(Float64Array),
      windows: [],
      last: undefined,
      firstVersion: undefined,
      versions: undefined,
    };
    this.#counted.set(queryId, counted);
    return counted;
  }

  #addTo(counted: Counted, sample: Sample): void {
    const number = this.#windowNumber();
    let { last } = counted;
    if (last?.number !== number) last = this.#begin(counted, number);
    counted.sinceStart.add(sample);
    last.figures.add(sample);
  }

  /** Begins a window, and makes the query the last one to be dropped. */
  #begin(counted: Counted, number: number): Window {
    const { queryId } = counted.query;
    this.#counted.delete(queryId);
    this.#counted.set(queryId, counted);
    const old = counted.windows[number % windowCount];
    old?.figures.clear();
    const window = { number, figures: old?.figures ?? new Figures(Uint32Array) };
    counted.windows[number % windowCount] = window;
    counted.last = window;
    return window;
  }

  /** Returns the same object each time. */
  #lastHour({ windows }: Counted): Figures {
    const oldest = this.#windowNumber() - windowCount + 1;
    const sum = this.#sum;
    sum.clear();
    for (const window of windows)
      if (window !== undefined && window.number >= oldest) sum.addAll(window.figures);
    return sum;
  }
}

/** Where a call of a version counts besides `sinceStart`; undefined while only one version was called. */
function versionFigures(counted: Counted, versionNumber: number): Figures | undefined {
  counted.firstVersion ??= versionNumber;
  const { firstVersion, sinceStart } = counted;
  if (counted.versions === undefined) {
    if (versionNumber === firstVersion) return undefined;
    const first = new Figures(Float64Array);
    first.addAll(sinceStart);
    counted.versions = new Map([[firstVersion, first]]);
  }
  const { versions } = counted;
  const known = versions.get(versionNumber);
  if (known !== undefined) return known;
  const figures = new Figures(Float64Array);
  versions.set(versionNumber, figures);
  if (versions.size > versionsMax) versions.delete(Math.min(...versions.keys()));
  return figures;
}

export type RankingFigure = StatisticsRanking['figure'];

/** What one event adds to the figures. */
export interface Sample {
  /** 0 for an execution that belongs to no call. */
  calls: 0 | 1;
  /** 1 for a call of the console, which adds nothing else. */
  consoleCalls?: 0 | 1;
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

class Figures {
  #calls = 0;
  #consoleCalls = 0;
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

  add({
    calls,
    consoleCalls = 0,
    cacheHits,
    failedWith,
    rows,
    bytes,
    queueMs,
    databaseMs,
    totalMs,
  }: Sample): void {
    const counts = this.#counts;
    this.#calls += calls;
    this.#consoleCalls += consoleCalls;
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
    this.#consoleCalls += other.#consoleCalls;
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
    this.#consoleCalls = 0;
    this.#cacheHits = 0;
    this.#rows = 0;
    this.#bytes = 0;
    this.#errors.clear();
    this.#counts.fill(0);
  }

  toProto(): QueryFigures {
    return {
      calls: this.#calls,
      consoleCalls: this.#consoleCalls,
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
      consoleCalls: this.#consoleCalls,
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
