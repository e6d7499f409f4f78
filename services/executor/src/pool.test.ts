import { HubError } from '@datahub/service-kit/error';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBreaker, defaultBreakerSettings } from './breaker.ts';
import type { Connection } from './engine.ts';
import { ConnectionBudget, defaultConnectionLimits } from './limits.ts';
import { Pool } from './pool.ts';
import { defaultPoolSettings, type Lease, type PoolSettings } from './pool-settings.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const unreachable = new HubError('SOURCE_UNREACHABLE', 'x');
const never = new AbortController().signal;
const tick = () => vi.advanceTimersByTimeAsync(0);

class FakeConnection {
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

function setup(settings: Partial<PoolSettings> = {}, limits = defaultConnectionLimits) {
  const opened: FakeConnection[] = [];
  const source = { up: true, connectMs: 0, error: unreachable as Error, attempts: 0 };
  const now = () => performance.now();
  const budget: ConnectionBudget = new ConnectionBudget(limits, () => pool.dropIdlest());
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
      share: budget.share('a'),
      now,
      random: () => 0,
    },
  );
  const acquire = (key = 'k', signal = never, waitMs = 60_000) =>
    pool.acquire({ key, signal, deadlineAt: performance.now() + waitMs });
  return { pool, opened, source, acquire, budget };
}

describe('growing', () => {
  test('one connection serves those who come one after another', async () => {
    const { pool, opened, acquire } = setup();
    const first = await acquire();
    pool.release(first);
    for (let i = 0; i < 100; i++) {
      const lease = pool.tryAcquire();
      expect(lease).toBe(first);
      pool.release(lease as Lease);
    }
    expect(opened).toHaveLength(1);
    expect(first.uses).toBe(101);
  });

  test('a crowd opens one alone, then as many as the bound', async () => {
    const { pool, source, acquire } = setup({ sizeMax: 3 });
    source.connectMs = 10;
    const crowd = Array.from({ length: 8 }, () => acquire());
    await tick();
    expect(source.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(source.attempts).toBe(3);
    expect(pool.stats).toEqual({ waiting: 5, busy: 3, idle: 0, connecting: 0 });
    for (const turn of crowd) pool.release(await turn);
    expect(pool.stats).toEqual({ waiting: 0, busy: 0, idle: 3, connecting: 0 });
  });

  test('a source that is down costs one attempt for all who wait', async () => {
    const { source, acquire } = setup();
    source.up = false;
    source.connectMs = 10;
    const crowd = Promise.allSettled(Array.from({ length: 40 }, () => acquire()));
    await vi.advanceTimersByTimeAsync(10);
    for (const result of await crowd)
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SOURCE_UNREACHABLE' } });
    expect(source.attempts).toBe(1);
  });

  test('an open circuit refuses at once, and closes within five seconds of recovery', async () => {
    const { source, acquire } = setup();
    source.up = false;
    for (let i = 0; i < 5; i++) await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_BUSY', stage: 'connect' });
    expect(source.attempts).toBe(5);
    source.up = true;
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(acquire()).resolves.toBeDefined();
  });

  test('a connect that hangs ends in time, and what it opens too late is closed', async () => {
    const { opened, source, acquire } = setup({ connectTimeoutMs: 100 });
    source.connectMs = 500;
    const outcome = acquire().catch((err) => err);
    await vi.advanceTimersByTimeAsync(100);
    expect(await outcome).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    await vi.advanceTimersByTimeAsync(400);
    expect(opened[0]?.closed).toBe(true);
  });

  test('refused further connections leave the working ones in use', async () => {
    const { pool, source, acquire } = setup();
    const lease = await acquire();
    source.up = false;
    const second = acquire();
    await tick();
    expect(pool.stats).toMatchObject({ waiting: 1, busy: 1 });
    pool.release(lease);
    expect(await second).toBe(lease);
  });
});

describe('waiting', () => {
  test('is bounded in number', async () => {
    const { acquire, pool } = setup({ sizeMax: 1, queueMax: 2 });
    await acquire();
    const waiting = [acquire(), acquire()];
    await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_BUSY', stage: 'queue', retryable: true });
    expect(pool.stats.waiting).toBe(2);
    void Promise.allSettled(waiting);
  });

  test('is bounded in time, by the wait and by the deadline', async () => {
    const { acquire, pool, budget } = setup({ sizeMax: 1, waitMs: 5_000 });
    await acquire();
    const late = acquire().catch((err) => err);
    const early = acquire('k', never, 100).catch((err) => err);
    await vi.advanceTimersByTimeAsync(100);
    expect(await early).toMatchObject({ code: 'SOURCE_BUSY' });
    await vi.advanceTimersByTimeAsync(4_900);
    const error = await late;
    expect(error).toMatchObject({ code: 'SOURCE_BUSY' });
    // The one that runs has run for five seconds already: that is the pace to go by.
    expect(error.retryAfterMs).toBeGreaterThan(2_000);
    expect(pool.stats.waiting).toBe(0);
    expect(budget.share('a').waiting).toBe(0);
  });

  test('ends when the caller goes', async () => {
    const { acquire, pool } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const controller = new AbortController();
    const gone = acquire('k', controller.signal).catch((err) => err);
    const next = acquire();
    controller.abort();
    expect(await gone).toMatchObject({ code: 'CANCELLED' });
    pool.release(lease);
    expect(await next).toBe(lease);
    await expect(acquire('k', controller.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('lets keys take turns, and is first come, first served within one', async () => {
    const { acquire, pool } = setup({ sizeMax: 1 });
    const order: string[] = [];
    let lease = await acquire();
    const turns = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(async (name) => {
      lease = await acquire(name.slice(0, 1));
      order.push(name);
    });
    for (let i = 0; i < turns.length; i++) {
      pool.release(lease);
      await tick();
    }
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });
});

describe('ageing', () => {
  test('a broken connection is replaced, for the line too', async () => {
    const { acquire, pool, opened } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const next = acquire();
    (opened[0] as FakeConnection).broken = true;
    pool.release(lease);
    expect((await next).connection).toBe(opened[1]);
    expect(opened[0]?.closed).toBe(true);
  });

  test('one that dies while idle is forgotten', async () => {
    const { acquire, pool, opened } = setup();
    pool.release(await acquire());
    opened[0]?.close();
    expect(pool.stats.idle).toBe(0);
    expect(pool.empty).toBe(true);
  });

  test('idle ones close after their time, the least used first', async () => {
    const { acquire, pool, opened } = setup({ idleTimeoutMs: 60_000 });
    const leases = [await acquire(), await acquire()];
    for (const lease of leases) pool.release(lease);
    await vi.advanceTimersByTimeAsync(40_000);
    pool.release(await acquire());
    await vi.advanceTimersByTimeAsync(20_000);
    pool.sweep();
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test('lifetime is bounded, on release and while idle', async () => {
    const { acquire, pool, opened } = setup({ lifetimeMs: 10_000 });
    const lease = await acquire();
    await vi.advanceTimersByTimeAsync(10_000);
    pool.release(lease);
    expect(opened[0]?.closed).toBe(true);
    pool.release(await acquire());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(pool.tryAcquire()).toBeUndefined();
    expect(opened[1]?.closed).toBe(true);
  });

  test('one that rested proves itself, or is replaced', async () => {
    const { acquire, pool, opened } = setup({ validateAfterMs: 15_000 });
    pool.release(await acquire());
    await vi.advanceTimersByTimeAsync(20_000);
    expect(pool.tryAcquire()).toBeUndefined();
    pool.release(await acquire());
    expect(opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(20_000);
    (opened[0] as FakeConnection).alive = false;
    const turn = acquire();
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await turn).connection).toBe(opened[1]);
    expect(opened[0]?.closed).toBe(true);
  });
});

describe('ending', () => {
  test('a retired pool serves its line, then is gone', async () => {
    const { acquire, pool, opened } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const next = acquire();
    const ended = vi.fn();
    void pool.retire().then(ended);
    pool.release(lease);
    pool.release(await next);
    await tick();
    expect(ended).toHaveBeenCalled();
    expect(opened.map(({ closed }) => closed)).toEqual([true]);
  });

  test('closing sends the line away, waits, then cuts', async () => {
    const { acquire, pool, opened } = setup({ sizeMax: 1 });
    await acquire();
    const waiting = acquire().catch((err) => err);
    const closing = pool.close(1_000);
    expect(await waiting).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    await expect(acquire()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await vi.advanceTimersByTimeAsync(1_000);
    await closing;
    expect(opened[0]?.closed).toBe(true);
    await pool.close(1_000);
  });
});

test('whatever happens, connections stay in bounds and none is lost', async () => {
  const step = fc.constantFrom('acquire', 'release', 'break', 'leave', 'time', 'down', 'up', 'die');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { pool, opened, source, acquire, budget } = setup({
        sizeMax: 3,
        queueMax: 4,
        waitMs: 50,
        lifetimeMs: 500,
      });
      const held: Lease[] = [];
      const callers: AbortController[] = [];
      const actions: Record<string, () => unknown> = {
        acquire: () => {
          const caller = new AbortController();
          callers.push(caller);
          acquire('k', caller.signal).then(
            (lease) => held.push(lease),
            () => {},
          );
        },
        release: () => held.length > 0 && pool.release(held.shift() as Lease),
        break: () => {
          const lease = held.shift();
          if (lease === undefined) return;
          (lease.connection as unknown as FakeConnection).broken = true;
          pool.release(lease);
        },
        leave: () => callers.shift()?.abort(),
        time: () => vi.advanceTimersByTimeAsync(30),
        down: () => (source.up = false),
        up: () => (source.up = true),
        die: () => opened.find(({ closed }) => !closed)?.close(),
      };
      for (const name of steps) {
        await actions[name]?.();
        await tick();
        const { waiting, busy, idle, connecting } = pool.stats;
        expect(busy + idle + connecting).toBeLessThanOrEqual(3);
        expect(waiting).toBeLessThanOrEqual(4);
        expect([budget.open, budget.busy]).toEqual([busy + idle + connecting, busy + connecting]);
        expect(new Set(held).size).toBe(held.length);
      }
      for (const lease of held.splice(0)) pool.release(lease);
      for (const caller of callers) caller.abort();
      const closing = pool.close(0);
      await vi.advanceTimersByTimeAsync(1);
      await closing;
      for (const lease of held.splice(0)) pool.release(lease);
      expect(opened.every(({ closed }) => closed)).toBe(true);
      expect([budget.open, budget.busy]).toEqual([0, 0]);
    }),
    { numRuns: 150 },
  );
});
