/** Settings of a pool, what it depends on, and what it hands out. */

import type { CallSignal } from '@datahub/service-kit/call/call';
import { settings } from '@datahub/service-kit/settings/settings-table';
import type { Connection } from '../ports/engine.ts';
import type { SourceSlots } from '../slots/source-slots.ts';
import type { Breaker } from './circuit-breaker.ts';

/** The part of a source's definition that its pool depends on. */
export interface PooledSource {
  accountId: string;
  sourceId: string;
  /** Changes with every setting that a connection is made from. */
  settingsVersion: string;
  /** Grows with every change of the source, so that an outdated definition never brings its pool back. */
  version: number;
  pool: { max?: number | undefined; idleTimeoutMs?: number | undefined };
}

export interface PoolSettings {
  sizeMax: number;
  /** An execution waits only if it is expected to have a connection within this time, and no longer than this. */
  waitMs: number;
  /** For name resolution, dialling, TLS and log-in together. Below `waitMs`, so that waiting executions receive the error. */
  connectTimeoutMs: number;
  idleTimeoutMs: number;
  /** Connections are closed after this time, or up to a tenth earlier so that they do not all close at once. */
  lifetimeMs: number;
  /** A connection that was idle for longer is pinged before use. */
  validateAfterMs: number;
}

export const defaultPoolSettings: PoolSettings = {
  sizeMax: settings.DATAHUB_POOL_MAX.fallback,
  waitMs: settings.DATAHUB_POOL_WAIT_MS.fallback,
  connectTimeoutMs: settings.DATAHUB_CONNECT_TIMEOUT_MS.fallback,
  idleTimeoutMs: settings.DATAHUB_POOL_IDLE_MS.fallback,
  lifetimeMs: settings.DATAHUB_POOL_LIFETIME_MS.fallback,
  validateAfterMs: 15_000,
};

export interface ConnectionLimits {
  /** Connections of this process, idle ones included. */
  connectionsMax: number;
  /** Of one account, over all its sources. */
  connectionsPerAccountMax: number;
  /** Executions of one account that may wait for a connection at the same time, over all its sources. */
  waitingPerAccountMax: number;
  /** Executions of all accounts that may wait at the same time. */
  waitingMax: number;
  /** What those may occupy in memory: 8 KiB each, and the bytes of their values. */
  waitingBytesMax: number;
}

export const defaultConnectionLimits: ConnectionLimits = {
  connectionsMax: settings.DATAHUB_CONNECTIONS_MAX.fallback,
  connectionsPerAccountMax: settings.DATAHUB_CONNECTIONS_PER_ACCOUNT_MAX.fallback,
  waitingPerAccountMax: settings.DATAHUB_WAITING_PER_ACCOUNT_MAX.fallback,
  waitingMax: settings.DATAHUB_WAITING_MAX.fallback,
  waitingBytesMax: settings.DATAHUB_WAITING_BYTES_MAX.fallback,
};

/** The connections and waiting executions of one account. */
export interface AccountUsage {
  readonly accountId: string;
  /** Open or being opened. */
  open: number;
  /** Of those, not idle. */
  busy: number;
  waiting: number;
  waitingBytes: number;
}

/** A pool that may open a further connection once the budget has room. */
export interface GrowingPool {
  readonly usage: AccountUsage;
  grow(): void;
}

/** Counts the connections of all pools, and shares them among the accounts. */
export interface ConnectionBudget {
  readonly limits: ConnectionLimits;
  /** Counts one more connection, open and busy; closes an idle one if it needs the room. False if there is no room. */
  reserve(usage: AccountUsage): boolean;
  markBusy(usage: AccountUsage): void;
  markIdle(usage: AccountUsage): void;
  /** Undoes `reserve`. */
  cancel(usage: AccountUsage): void;
  /** For an idle connection. */
  markClosed(usage: AccountUsage): void;
  /** Calls `grow` of the pool once there may be room. */
  waitForRoom(pool: GrowingPool): void;
  isWaitingForRoom(pool: GrowingPool): boolean;
  /** Counts one more waiting execution; false if the account has its share of them already. */
  reserveWaiting(usage: AccountUsage, bytes: number): boolean;
  stopWaiting(usage: AccountUsage, bytes: number): void;
  /** True if this account should close a connection instead of handing it to its own next execution. */
  mustYield(usage: AccountUsage): boolean;
}

export interface PoolDeps {
  open(signal: AbortSignal): Promise<Connection>;
  breaker: Breaker;
  budget: ConnectionBudget;
  /** The connections that the catalog allows this executor to have to the source. */
  slots: SourceSlots;
  usage: AccountUsage;
  now: () => number;
  random: () => number;
}

/** The exclusive use of a connection until `release`, once. The next use has another lease. */
export interface Lease {
  readonly connection: Connection;
  /** How often the connection was leased, this time included. */
  readonly uses: number;
}

/** A connection as its pool sees it. */
export interface Member {
  readonly connection: Connection;
  uses: number;
  /** That of the present use. */
  lease: Lease | undefined;
  busy: boolean;
  removed: boolean;
  leasedAt: number;
  idleAt: number;
  readonly expiresAt: number;
}

export interface AcquireOptions {
  /** The queue is served round-robin by key. */
  key: string;
  /** Of the values that stay in memory while the execution waits. */
  bytes: number;
  deadlineAt: number;
  signal: CallSignal;
  /** True for work of the hub's own, which does not count as a use of the source. */
  background?: boolean;
}

export interface PoolStats {
  waiting: number;
  busy: number;
  idle: number;
  connecting: number;
  /** Sources that could not be reached several times in a row, and not since. */
  tripped: number;
}
