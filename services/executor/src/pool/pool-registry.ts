/** One pool for each source, the connection budget that the pools share, and the sweep that closes idle connections. */

import type { Connection } from '../ports/engine.ts';
import type { SourceSlots } from '../slots/source-slots.ts';
import { type BreakerSettings, createBreaker } from './circuit-breaker.ts';
import { FairBudget } from './fair-budget.ts';
import { Pool } from './pool.ts';
import type { ConnectionLimits, PooledSource, PoolSettings, PoolStats } from './pool-types.ts';

export interface PoolRegistryOptions<S extends PooledSource> {
  open(source: S, signal: AbortSignal): Promise<Connection>;
  pool: PoolSettings;
  breaker: BreakerSettings;
  limits: ConnectionLimits;
  /** The slots of the source. */
  slotsOf(source: S, sizeMax: number): SourceSlots;
  now: () => number;
  random: () => number;
}

export interface PoolRegistry<S extends PooledSource> {
  /** The pool for these settings of the source. A pool of earlier settings drains. */
  pool(source: S): Pool;
  readonly stats: PoolStats & { pools: number };
  /** The sources whose pools were used since then. A pool that is not used for its idle timeout is forgotten. */
  usedSince(at: number): { sourceId: string; accountId: string }[];
  /** From now on, each connection is closed when no execution waits for it. */
  drain(): void;
  /** Rejects waiting executions, waits `graceMs` for running ones, then closes their connections. */
  close(graceMs: number): Promise<void>;
}

interface Entry {
  accountId: string;
  settingsVersion: string;
  version: number;
  pool: Pool;
}

const sweepEveryMs = 1_000;

export function createPoolRegistry<S extends PooledSource>(options: PoolRegistryOptions<S>): PoolRegistry<S> {
  const entries = new Map<string, Entry>();
  const draining = new Set<Pool>();
  const budget = new FairBudget(options.limits, (accountId) => closeIdlest(entries, accountId));
  /** Runs while there are pools. */
  let timer: NodeJS.Timeout | undefined;
  let state: 'open' | 'leaving' | 'closed' = 'open';

  const allPools = () => [...[...entries.values()].map(({ pool }) => pool), ...draining];
  const drain = (sourceId: string) => {
    const entry = entries.get(sourceId);
    if (entry === undefined) return;
    entries.delete(sourceId);
    draining.add(entry.pool);
    void entry.pool.drain().then(() => draining.delete(entry.pool));
  };
  const replace = (source: S): Pool => {
    drain(source.sourceId);
    const { accountId, sourceId, settingsVersion, version } = source;
    const pool = createPool(source, { ...options, budget });
    entries.set(sourceId, { accountId, settingsVersion, version, pool });
    if (state !== 'closed') timer ??= setInterval(sweep, sweepEveryMs).unref();
    if (state === 'closed') void pool.close(0);
    else if (state === 'leaving') void pool.drain();
    return pool;
  };
  const sweep = () => {
    const unusedSince = options.now() - options.pool.idleTimeoutMs;
    for (const [sourceId, { pool }] of entries) {
      pool.sweep();
      if (pool.isEmpty && pool.usedAt < unusedSince) drain(sourceId);
    }
    for (const pool of draining) pool.sweep();
    budget.retain(new Set(allPools().map(({ usage }) => usage)));
    if (entries.size > 0 || draining.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    pool: (source) => {
      const entry = entries.get(source.sourceId);
      if (entry === undefined || entry.accountId !== source.accountId) return replace(source);
      // An outdated definition uses the pool of the current settings.
      if (entry.settingsVersion === source.settingsVersion || source.version < entry.version)
        return entry.pool;
      return replace(source);
    },
    get stats() {
      return sumOfStats(allPools());
    },
    usedSince: (at) => usedSince(entries, at),
    drain: () => {
      state = 'leaving';
      for (const { pool } of entries.values()) void pool.drain();
    },
    close: async (graceMs) => {
      state = 'closed';
      clearInterval(timer);
      await Promise.all(allPools().map((pool) => pool.close(graceMs)));
    },
  };
}

function createPool<S extends PooledSource>(
  source: S,
  options: PoolRegistryOptions<S> & { budget: FairBudget },
): Pool {
  const { pool, breaker, budget, now, random } = options;
  const sizeMax = Math.min(source.pool.max ?? pool.sizeMax, options.limits.connectionsPerAccountMax);
  const settings: PoolSettings = {
    ...pool,
    sizeMax,
    idleTimeoutMs: source.pool.idleTimeoutMs ?? pool.idleTimeoutMs,
  };
  return new Pool(settings, {
    open: (signal) => options.open(source, signal),
    breaker: createBreaker(breaker, now),
    budget,
    slots: options.slotsOf(source, source.pool.max ?? pool.sizeMax),
    usage: budget.usage(source.accountId),
    now,
    random,
  });
}

function usedSince(entries: Map<string, Entry>, at: number): { sourceId: string; accountId: string }[] {
  return [...entries]
    .filter(([, { pool }]) => pool.usedAt >= at)
    .map(([sourceId, { accountId }]) => ({ sourceId, accountId }));
}

function closeIdlest(entries: Map<string, Entry>, accountId: string | undefined): boolean {
  let oldest: Pool | undefined;
  for (const { pool } of entries.values()) {
    if (accountId !== undefined && pool.usage.accountId !== accountId) continue;
    if (pool.idleSince < (oldest?.idleSince ?? Number.POSITIVE_INFINITY)) oldest = pool;
  }
  return oldest?.closeIdlest() ?? false;
}

function sumOfStats(pools: readonly Pool[]): PoolStats & { pools: number } {
  const sum = { pools: pools.length, waiting: 0, busy: 0, idle: 0, connecting: 0, tripped: 0 };
  for (const { stats } of pools) {
    sum.waiting += stats.waiting;
    sum.busy += stats.busy;
    sum.idle += stats.idle;
    sum.connecting += stats.connecting;
    sum.tripped += stats.tripped;
  }
  return sum;
}
