/**
 * Describes stored queries again, so that a change of a database's schema is noticed before a caller meets it. The
 * queries of a source that was used lately are described once per interval, one at a time and evenly spread; those of
 * other sources once a day. The catalog lets one executor check a source at a time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ResolvedSource } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CallContext, createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../definitions/definition.ts';

export interface UsedSource {
  sourceId: string;
  accountId: string;
}

export interface DriftWatchOptions {
  intervalMs: number;
  catalog: Pick<Catalog, 'takeSourceCheck' | 'listSealed'>;
  /** Returns the sources whose pools were used since a time of `now`. */
  usedSince(at: number): UsedSource[];
  /** Resolves to false if the source rejects the query. Rejects if the source cannot be asked. */
  check(queryId: string, ctx: CallContext): Promise<boolean>;
  now: () => number;
  onFailure(err: unknown): void;
}

export interface DriftWatch {
  /** The number of queries that sources rejected in the last rounds of this executor. */
  readonly broken: number;
  /** Counts what another check of a whole source, taken at a time of the catalog, has found. */
  checked(sourceId: string, count: number, takenAt: number | undefined): void;
  close(): Promise<void>;
}

/** Shorter than the time after which the registry forgets an unused pool. */
const tickMsMax = 15_000;
const idleEveryMs = 86_400_000;
/** The pause between two queries of a source that is not used. */
const idleStepMs = 50;
const checkTimeoutMs = 10_000;
const sourcesPerPage = 100;
/** The part of an interval in which a round describes all queries. */
const spread = 0.9;

interface Round extends UsedSource {
  everyMs: number;
  /** Returns the pause before each of so many queries. */
  stepMs: (queries: number) => number;
}

export function startDriftWatch(options: DriftWatchOptions): DriftWatch {
  const { intervalMs, catalog, now } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const attempts = new Map<string, number>();
  const broken = new BrokenQueries();
  const running = new Set<Promise<void>>();

  const round = async ({ sourceId, accountId, everyMs, stepMs }: Round): Promise<void> => {
    const ctx = () => createCallContext({ timeoutMs: checkTimeoutMs, principal: principalOf(accountId) });
    const { taken, queryIds, takenAt } = await catalog.takeSourceCheck({ sourceId, everyMs }, ctx());
    if (!taken) return broken.leave(sourceId, takenAt);
    broken.take(sourceId, takenAt);
    const startedAt = now();
    let rejected = 0;
    for (const [i, queryId] of queryIds.entries()) {
      const waitMs = startedAt + i * stepMs(queryIds.length) - now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal, ref: false });
      if (signal.aborted) return;
      if (!(await options.check(queryId, ctx()).catch(toUnknown))) rejected++;
    }
    broken.set(sourceId, { count: rejected, takenAt, existsAt: now() });
  };
  const start = (one: Round): Promise<void> => {
    const work = round(one)
      .catch((err) => {
        if (!signal.aborted) options.onFailure(err);
      })
      .finally(() => running.delete(work));
    running.add(work);
    return work;
  };

  const checkUsed = () => {
    const at = now();
    for (const source of options.usedSince(at - intervalMs)) {
      if (at - (attempts.get(source.sourceId) ?? Number.NEGATIVE_INFINITY) < intervalMs) continue;
      attempts.set(source.sourceId, at);
      const stepMs = (queries: number) => (spread * intervalMs) / queries;
      void start({ ...source, everyMs: Math.floor(spread * intervalMs), stepMs });
    }
    for (const [sourceId, attemptAt] of attempts)
      if (at - attemptAt > 2 * intervalMs) attempts.delete(sourceId);
  };
  const checkIdle = createIdleCheck(options, { signal, start, broken, isUsed: (id) => attempts.has(id) });

  const timers = [
    setInterval(checkUsed, Math.min(intervalMs / 4, tickMsMax)),
    setInterval(checkIdle, intervalMs),
  ];
  for (const timer of timers) timer.unref();
  return {
    get broken() {
      return broken.count;
    },
    checked: (sourceId, count, takenAt) => broken.set(sourceId, { count, takenAt, existsAt: now() }),
    close: async () => {
      closing.abort();
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
    },
  };
}

interface Found {
  count: number;
  /** When this executor took the check, by the clock of the catalog. */
  takenAt: number | undefined;
  existsAt: number;
}

/** The number of queries that each source rejected in its last round. */
class BrokenQueries {
  readonly #found = new Map<string, Found>();

  get count(): number {
    return [...this.#found.values()].reduce((sum, { count }) => sum + count, 0);
  }

  set(sourceId: string, found: Found): void {
    if (found.count > 0) this.#found.set(sourceId, found);
    else this.#found.delete(sourceId);
  }

  /** A round begins. Until it ends, the count of the one before stands. */
  take(sourceId: string, takenAt: number | undefined): void {
    const found = this.#found.get(sourceId);
    if (found !== undefined) found.takenAt = takenAt;
  }

  /** It is not time for a round. If another executor took the last one, it counts what that found. */
  leave(sourceId: string, takenAt: number | undefined): void {
    if (this.#found.get(sourceId)?.takenAt !== takenAt) this.#found.delete(sourceId);
  }

  /** The catalog lists the source. */
  keep(sourceId: string, at: number): void {
    const found = this.#found.get(sourceId);
    if (found !== undefined) found.existsAt = at;
  }

  /** The catalog has listed all sources since `at`: those that it did not list were deleted. */
  forgetDeleted(at: number): void {
    for (const [sourceId, { existsAt }] of this.#found) if (existsAt < at) this.#found.delete(sourceId);
  }
}

type ListedSource = Pick<ResolvedSource, 'sourceId' | 'accountId' | 'engine'>;

interface IdleCheck {
  signal: AbortSignal;
  broken: BrokenQueries;
  start(round: Round): Promise<void>;
  isUsed(sourceId: string): boolean;
}

/** Returns a function that checks the next page of all sources, one source after the other. */
function createIdleCheck(
  { catalog, now, onFailure }: DriftWatchOptions,
  { signal, broken, start, isUsed }: IdleCheck,
) {
  let after = '';
  /** When the first page was asked for. */
  let listedFrom = now();
  let working = false;

  /** Pages of large sources are shorter. After the last one, `after` is empty. */
  async function listSome(): Promise<ListedSource[]> {
    const ctx = createCallContext({ timeoutMs: checkTimeoutMs });
    const sources: ListedSource[] = [];
    while (sources.length < sourcesPerPage) {
      const limit = sourcesPerPage - sources.length;
      const page = await catalog.listSealed({ afterSourceId: after, limit }, ctx);
      const last = page.sources.at(-1);
      after = last === undefined ? '' : `${last.accountId}/${last.sourceId}`;
      if (last === undefined) break;
      // Their certificates are large.
      for (const { sourceId, accountId, engine } of page.sources)
        sources.push({ sourceId, accountId, engine });
    }
    return sources;
  }

  return async (): Promise<void> => {
    if (working) return;
    working = true;
    try {
      if (after === '') listedFrom = now();
      const sources = await listSome();
      for (const { sourceId } of sources) broken.keep(sourceId, now());
      if (after === '') broken.forgetDeleted(listedFrom);
      for (const { sourceId, accountId, engine } of sources) {
        if (signal.aborted) return;
        if (engine === 'mongodb' || isUsed(sourceId)) continue;
        await start({ sourceId, accountId, everyMs: idleEveryMs, stepMs: () => idleStepMs });
      }
    } catch (err) {
      if (!signal.aborted) onFailure(err);
    } finally {
      working = false;
    }
  };
}

/** The executor itself asks, so no key is named. */
export const principalOf = (accountId: string): Principal => ({
  accountId,
  keyId: '',
  scopes: [],
  limits: undefined,
});

/** A query that was deleted meanwhile, or whose source was, has no state. */
function toUnknown(err: unknown): boolean {
  if (err instanceof HubError && (err.code === 'NOT_FOUND' || err.code === 'SOURCE_GONE')) return true;
  throw err;
}
