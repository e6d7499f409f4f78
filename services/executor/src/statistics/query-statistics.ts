/**
 * Counts the calls of queries in fixed memory: of at most `queriesMax` queries, since they were first called and in the
 * last hour, as twelve windows of five minutes. The last hour is thus the last 55 to 60 minutes. With all its windows, a
 * query takes about 35 kB, and about 5 kB more for each version if several were called.
 */

import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type {
  ReadStatisticsRequest,
  ReadStatisticsResponse,
  QueryStatistics as StatisticsMessage,
  StatisticsRanking,
} from '@datahub/proto/executor/v1/executor';
import type { QueryDefinition } from '../definitions/definition.ts';
import { mayUse } from '../execution/key-limits.ts';
import { Figures, type Sample } from './figures.ts';

export const windowMs = 300_000;
export const windowCount = 12;
/** Of a query. Beyond it, the oldest version is dropped. */
export const versionsMax = 5;
/** These take about a millisecond. */
const readAtOnce = 25;

export interface QueryStatisticsOptions {
  /** Beyond it, the queries that were not called for the longest time are dropped, to the accuracy of one window. */
  queriesMax: number;
  now: () => number;
  /** The wall-clock time. */
  nowMs: () => number;
}

type CountedQuery = Pick<QueryDefinition, 'queryId' | 'accountId' | 'hubId' | 'versionNumber'>;

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
  readonly #epochMs: number;
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
      if (queries.length % readAtOnce === 0) await nextIteration();
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
    return Math.floor((this.#options.now() + this.#epochMs) / windowMs);
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
    const { queryId, accountId, hubId } = query;
    const counted: Counted = {
      query: { queryId, accountId, hubId },
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
