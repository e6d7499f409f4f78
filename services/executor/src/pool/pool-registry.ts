/** One pool for each source, the connection budget that the pools share, and the sweep that closes idle connections. */

import type { Connection } from '../ports/engine.ts';
import type { SourceSlots } from '../slots/source-slots.ts';
import { type BreakerSettings, createBreaker } from './circuit-breaker.ts';
import { Pool } from './pool.ts';
import type {
  AccountUsage,
  ConnectionBudget,
  ConnectionLimits,
  GrowingPool,
  PooledSource,
  PoolSettings,
  PoolStats,
} from './pool-types.ts';

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
/** What a waiting execution counts as, besides its values: its request, its statement, its deadline. */
const waiterBytes = 8_192;

export function createPoolRegistry<S extends PooledSource>(options: PoolRegistryOptions<S>): PoolRegistry<S> {
  const entries = new Map<string, Entry>();
  const draining = new Set<Pool>();
  const budget = new FairBudget(options.limits, (accountId) => closeIdlest(entries, accountId));
  const timer = setInterval(() => sweep(), sweepEveryMs);
  let state: 'open' | 'leaving' | 'closed' = 'open';
  timer.unref();

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

/**
 * Shares the connections and the waiting places of the process fairly among accounts: an account may have another one
 * only while it has fewer of them than are left unused. Alone it gets half of all, beside one other such account a third,
 * and some are always left for the next account. (Dynamic thresholds, Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998.)
 */
export class FairBudget implements ConnectionBudget {
  readonly limits: ConnectionLimits;
  open = 0;
  busy = 0;
  private waitingCount = 0;
  private waitingBytes = 0;
  private readonly usages = new Map<string, AccountUsage>();
  private readonly waiting = new Set<GrowingPool>();
  private readonly closeIdlest: (accountId?: string) => boolean;

  /** `closeIdlest` closes the connection that has been idle longest, of one account or of all; false if none is idle. */
  constructor(limits: ConnectionLimits, closeIdlest: (accountId?: string) => boolean) {
    this.limits = limits;
    this.closeIdlest = closeIdlest;
  }

  usage(accountId: string): AccountUsage {
    let usage = this.usages.get(accountId);
    if (usage === undefined) {
      usage = { accountId, open: 0, busy: 0, waiting: 0, waitingBytes: 0 };
      this.usages.set(accountId, usage);
    }
    return usage;
  }

  reserve(usage: AccountUsage): boolean {
    const { connectionsMax, connectionsPerAccountMax } = this.limits;
    if (usage.busy >= connectionsPerAccountMax || usage.busy >= connectionsMax - this.busy) return false;
    if (usage.open >= connectionsPerAccountMax && !this.closeIdlest(usage.accountId)) return false;
    if (this.open >= connectionsMax && !this.closeIdlest()) return false;
    usage.open++;
    usage.busy++;
    this.open++;
    this.busy++;
    return true;
  }

  cancel(usage: AccountUsage): void {
    usage.open--;
    usage.busy--;
    this.open--;
    this.busy--;
  }

  markBusy(usage: AccountUsage): void {
    usage.busy++;
    this.busy++;
  }

  markIdle(usage: AccountUsage): void {
    usage.busy--;
    this.busy--;
    if (this.waiting.size > 0) this.growWaiting();
  }

  markClosed(usage: AccountUsage): void {
    usage.open--;
    this.open--;
  }

  waitForRoom(pool: GrowingPool): void {
    this.waiting.add(pool);
  }

  isWaitingForRoom(pool: GrowingPool): boolean {
    return this.waiting.has(pool);
  }

  reserveWaiting(usage: AccountUsage, bytes: number): boolean {
    const { waitingPerAccountMax, waitingMax, waitingBytesMax } = this.limits;
    const countMax = Math.min(waitingPerAccountMax, waitingMax - this.waitingCount);
    if (usage.waiting >= countMax) return false;
    if (usage.waitingBytes + waiterBytes + bytes > waitingBytesMax - this.waitingBytes) return false;
    this.countWaiting(usage, 1, waiterBytes + bytes);
    return true;
  }

  stopWaiting(usage: AccountUsage, bytes: number): void {
    this.countWaiting(usage, -1, -waiterBytes - bytes);
  }

  private countWaiting(usage: AccountUsage, count: number, bytes: number): void {
    usage.waiting += count;
    usage.waitingBytes += bytes;
    this.waitingCount += count;
    this.waitingBytes += bytes;
  }

  mustYield(usage: AccountUsage): boolean {
    if (this.waiting.size === 0 || this.busy < this.limits.connectionsMax) return false;
    for (const pool of this.waiting) if (pool.usage.busy + 1 < usage.busy) return true;
    return false;
  }

  /** Drops the accounts that no pool counts for any more. */
  retain(usages: ReadonlySet<AccountUsage>): void {
    for (const [accountId, usage] of this.usages) if (!usages.has(usage)) this.usages.delete(accountId);
  }

  /** The account with the fewest busy connections goes first. */
  private growWaiting(): void {
    const pools = [...this.waiting].sort((a, b) => a.usage.busy - b.usage.busy);
    this.waiting.clear();
    for (const pool of pools) pool.grow();
  }
}
