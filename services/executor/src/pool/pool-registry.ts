/** One pool for each source as it is set now, the budget they share, and the sweep that keeps them small. */

import type { Connection } from '../engine.ts';
import {
  type BreakerSettings,
  createBreaker,
  createSourceLogins,
  type LoginGuard,
  type SourceLogins,
} from './circuit-breaker.ts';
import { ConnectionBudget, type ConnectionLimits } from './connection-budget.ts';
import { Pool } from './pool.ts';
import type { PooledSource, PoolSettings, PoolStats } from './pool-types.ts';

export interface PoolRegistryOptions<S extends PooledSource> {
  open(source: S, signal: AbortSignal): Promise<Connection>;
  pool: PoolSettings;
  breaker: BreakerSettings;
  limits: ConnectionLimits;
  now: () => number;
  random: () => number;
}

export interface PoolRegistry<S extends PooledSource> {
  /** The pool of the source as `source` sets it; the one of earlier settings drains. */
  pool(source: S): Pool;
  /** Lets a deleted or changed source's pool drain. */
  retire(sourceId: string): void;
  readonly stats: PoolStats & { pools: number };
  /** Waits `graceMs` for what runs, then cuts it. */
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
  const logins = new Map<string, SourceLogins>();
  const budget = new ConnectionBudget(options.limits, (accountId) => closeIdlest(entries, accountId));
  const timer = setInterval(() => sweep(), sweepEveryMs);
  let closed = false;
  timer.unref();

  const allPools = () => [...[...entries.values()].map(({ pool }) => pool), ...draining];
  const retire = (sourceId: string) => {
    const entry = entries.get(sourceId);
    if (entry === undefined) return;
    entries.delete(sourceId);
    draining.add(entry.pool);
    void entry.pool.retire().then(() => draining.delete(entry.pool));
  };
  const replace = (source: S): Pool => {
    retire(source.sourceId);
    const { accountId, sourceId, settingsVersion, version } = source;
    const pool = createPool(source, { ...options, budget, logins: loginsOf(sourceId).of(settingsVersion) });
    entries.set(sourceId, { accountId, settingsVersion, version, pool });
    if (closed) void pool.close(0);
    return pool;
  };
  const loginsOf = (sourceId: string): SourceLogins => {
    const known = logins.get(sourceId) ?? createSourceLogins(options.breaker, options.now);
    logins.set(sourceId, known);
    return known;
  };
  const sweep = () => {
    const unusedSince = options.now() - options.pool.idleTimeoutMs;
    for (const [sourceId, { pool }] of entries) {
      pool.sweep();
      if (pool.empty && pool.usedAt < unusedSince) retire(sourceId);
    }
    for (const pool of draining) pool.sweep();
    for (const [sourceId, known] of logins) {
      if (!entries.has(sourceId) && !known.remembers) logins.delete(sourceId);
    }
    budget.keep(new Set(allPools().map(({ share }) => share)));
  };

  return {
    pool: (source) => {
      const entry = entries.get(source.sourceId);
      if (entry === undefined || entry.accountId !== source.accountId) return replace(source);
      // A definition that came late is served by the settings in force.
      if (entry.settingsVersion === source.settingsVersion || source.version < entry.version)
        return entry.pool;
      return replace(source);
    },
    retire,
    get stats() {
      return sumOfStats(allPools());
    },
    close: async (graceMs) => {
      closed = true;
      clearInterval(timer);
      await Promise.all(allPools().map((pool) => pool.close(graceMs)));
    },
  };
}

function createPool<S extends PooledSource>(
  source: S,
  options: PoolRegistryOptions<S> & { budget: ConnectionBudget; logins: LoginGuard },
): Pool {
  const { pool, breaker, budget, logins, now, random } = options;
  const sizeMax = Math.min(source.pool.max ?? pool.sizeMax, options.limits.connectionsPerAccountMax);
  const settings: PoolSettings = {
    ...pool,
    sizeMax,
    queueMax: Math.max(pool.queueMax, sizeMax * 5),
    idleTimeoutMs: source.pool.idleTimeoutMs ?? pool.idleTimeoutMs,
  };
  return new Pool(settings, {
    open: (signal) => options.open(source, signal),
    breaker: createBreaker(breaker, now, logins),
    budget,
    share: budget.share(source.accountId),
    now,
    random,
  });
}

function closeIdlest(entries: Map<string, Entry>, accountId: string | undefined): boolean {
  let oldest: Pool | undefined;
  for (const { pool } of entries.values()) {
    if (accountId !== undefined && pool.share.accountId !== accountId) continue;
    if (pool.idleSince < (oldest?.idleSince ?? Number.POSITIVE_INFINITY)) oldest = pool;
  }
  return oldest?.dropIdlest() ?? false;
}

function sumOfStats(pools: readonly Pool[]): PoolStats & { pools: number } {
  const sum = { pools: pools.length, waiting: 0, busy: 0, idle: 0, connecting: 0 };
  for (const { stats } of pools) {
    sum.waiting += stats.waiting;
    sum.busy += stats.busy;
    sum.idle += stats.idle;
    sum.connecting += stats.connecting;
  }
  return sum;
}
