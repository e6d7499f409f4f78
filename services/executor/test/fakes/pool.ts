/** A pool over connections that exist in memory, for tests of the pool. */

import { HubError } from '@datahub/service-kit/call/error';
import { vi } from 'vitest';
import { createBreaker, defaultBreakerSettings } from '../../src/pool/circuit-breaker.ts';
import { FairBudget } from '../../src/pool/fair-budget.ts';
import { Pool } from '../../src/pool/pool.ts';
import {
  defaultConnectionLimits,
  defaultPoolSettings,
  type PoolSettings,
} from '../../src/pool/pool-types.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { anySlots } from './slots.ts';

export const unreachable = new HubError('SOURCE_UNREACHABLE', 'x');
export const never = new AbortController().signal;
export const tick = () => vi.advanceTimersByTimeAsync(0);

export class FakeConnection {
  broken = false;
  closed = false;
  alive = true;
  serverVersion = '1';
  private closeListener = () => {};
  onClose(listener: () => void) {
    this.closeListener = listener;
  }
  ping() {
    return this.alive ? Promise.resolve() : new Promise<void>(() => {});
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.broken = true;
    this.closeListener();
  }
}

export function setupPool(settings: Partial<PoolSettings> = {}, limits = defaultConnectionLimits) {
  const opened: FakeConnection[] = [];
  const source = { up: true, connectMs: 0, error: unreachable as Error, attempts: 0 };
  const now = () => performance.now();
  const budget: FairBudget = new FairBudget(limits, () => pool.closeIdlest());
  const pool = new Pool(
    { ...defaultPoolSettings, ...settings },
    {
      open: async () => {
        source.attempts++;
        if (source.connectMs > 0) await new Promise((resolve) => setTimeout(resolve, source.connectMs));
        if (!source.up) throw source.error;
        const connection = new FakeConnection();
        opened.push(connection);
        return connection as unknown as Connection;
      },
      breaker: createBreaker(defaultBreakerSettings, now),
      budget,
      slots: anySlots(),
      usage: budget.usage('a'),
      now,
      random: () => 0,
    },
  );
  const acquire = (key = 'k', signal = never, waitMs = 60_000) =>
    pool.acquire({ key, bytes: 0, signal, deadlineAt: performance.now() + waitMs });
  return { pool, opened, source, acquire, budget };
}
