/** What a pool is told, needs and gives. */

import type { CallSignal } from '@datahub/service-kit/call/abort-signal';
import type { Connection } from '../engine.ts';
import type { Breaker } from './circuit-breaker.ts';
import type { ConnectionBudget, Share } from './connection-budget.ts';

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
  /** Executions that may wait; more only where the line moves so fast that it is gone in a moment. */
  queueMax: number;
  waitMs: number;
  /** Bounds name resolution, dialling, TLS and log-in together; below `waitMs`, so that those in line learn why. */
  connectTimeoutMs: number;
  idleTimeoutMs: number;
  /** Connections end after this, up to a tenth earlier so that they do not all end at once. */
  lifetimeMs: number;
  /** A connection idle for longer proves itself alive before it is used. */
  validateAfterMs: number;
}

export const defaultPoolSettings: PoolSettings = {
  sizeMax: 10,
  queueMax: 50,
  waitMs: 5_000,
  connectTimeoutMs: 4_500,
  idleTimeoutMs: 60_000,
  lifetimeMs: 30 * 60_000,
  validateAfterMs: 15_000,
};

export interface PoolDeps {
  open(signal: AbortSignal): Promise<Connection>;
  breaker: Breaker;
  budget: ConnectionBudget;
  share: Share;
  now: () => number;
  random: () => number;
}

/** A connection in somebody's hands until `release`. The same object serves the connection for its whole life. */
export interface Lease {
  readonly connection: Connection;
  /** How often it was handed out, this time included. */
  readonly uses: number;
}

/** A connection as its pool sees it. */
export interface Member extends Lease {
  uses: number;
  busy: boolean;
  gone: boolean;
  heldAt: number;
  idleAt: number;
  readonly expiresAt: number;
}

export interface AcquireOptions {
  /** Keys take turns in the line. */
  key: string;
  deadlineAt: number;
  signal: CallSignal;
}

export interface PoolStats {
  waiting: number;
  busy: number;
  idle: number;
  connecting: number;
}
