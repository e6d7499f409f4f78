import { deadlinePassed } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defaultConnectionLimits } from '../../src/pool/pool-types.ts';
import { WaitEstimator } from '../../src/pool/wait-queue.ts';
import { never, setupPool as setup, tick } from '../fakes/pool.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('waiting', () => {
  test('is limited for each account', async () => {
    const { acquire, pool } = setup({ sizeMax: 1 }, { ...defaultConnectionLimits, waitingPerAccountMax: 2 });
    await acquire();
    const waiting = [acquire(), acquire()];
    await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_BUSY', stage: 'queue', retryable: true });
    expect(pool.stats.waiting).toBe(2);
    void Promise.allSettled(waiting);
  });

  /** A pool of two connections, both leased, that has served `count` leases of `leaseMs`. */
  async function setupBusy(leaseMs: number, count: number) {
    const { acquire, pool } = setup({ sizeMax: 2, waitMs: 5_000 });
    const serve = async (n: number, ms: number) => {
      for (let i = 0; i < n; i++) {
        const leases = [await acquire(), await acquire()];
        await vi.advanceTimersByTimeAsync(ms);
        for (const lease of leases) pool.release(lease);
      }
    };
    await serve(count / 2, leaseMs);
    /** Returns how many of 2,000 executions the queue accepts. */
    const admitted = () => {
      for (let i = 0; i < 2_000; i++) acquire().catch(() => {});
      return pool.stats.waiting;
    };
    return { acquire, pool, serve, admitted };
  }

  test('accepts executions that should get a connection in time, estimated from past leases', async () => {
    const { acquire, admitted } = await setupBusy(50, 40);
    await acquire();
    await acquire();
    expect(admitted()).toBe(200);
  });

  test('accepts as many executions during and after a pause as before', async () => {
    for (const isOver of [false, true]) {
      const { acquire, pool, admitted } = await setupBusy(2, 2_000);
      const leases = [await acquire(), await acquire()];
      await vi.advanceTimersByTimeAsync(500);
      if (isOver) for (const lease of leases) pool.release(lease);
      if (isOver) await Promise.all([acquire(), acquire()]);
      expect(admitted()).toBe(2_000);
    }
  });

  test('accepts one execution per connection if no connection was released for as long as the wait limit', async () => {
    const { acquire, admitted } = await setupBusy(2, 2_000);
    await acquire();
    await acquire();
    await vi.advanceTimersByTimeAsync(5_100);
    expect(admitted()).toBe(2);
  });

  test('detects within seconds of use that a source has become slow, and fast again', async () => {
    const { acquire, serve, admitted } = await setupBusy(2, 2_000);
    await serve(8, 1_000);
    await acquire();
    await acquire();
    expect(admitted()).toBeLessThan(20);
    const recovered = await setupBusy(30_000, 4);
    await recovered.serve(50, 2);
    await recovered.acquire();
    await recovered.acquire();
    expect(recovered.admitted()).toBeGreaterThan(250);
  });

  test('accepts any number before the first release, up to the limit of the account', async () => {
    const { acquire, pool } = setup(
      { sizeMax: 1 },
      { ...defaultConnectionLimits, waitingPerAccountMax: 600 },
    );
    await acquire();
    for (let i = 0; i < 700; i++) acquire().catch(() => {});
    expect(pool.stats.waiting).toBe(600);
  });

  test('gives refused callers different times for a retry', async () => {
    const { acquire } = setup({ sizeMax: 2 }, { ...defaultConnectionLimits, waitingPerAccountMax: 1 });
    await acquire();
    await acquire();
    acquire().catch(() => {});
    await vi.advanceTimersByTimeAsync(2_000);
    const refused = async () => (await acquire().catch((err) => err)).retryAfterMs as number;
    // A connection becomes free every half second, and two executions wait before the first refused caller.
    expect([await refused(), await refused(), await refused()]).toEqual([1_000, 1_500, 2_000]);
    await vi.advanceTimersByTimeAsync(400);
    expect(await refused()).toBe(2_200);
    // No retry time is longer than half a minute.
    for (let i = 0; i < 100; i++) await refused();
    expect(await refused()).toBe(30_000);
  });

  test('spreads retry times beyond half a minute over the second half of it', () => {
    const shares = [0, 0.5, 0.999];
    const retries = new WaitEstimator([], 1, () => shares.shift() as number);
    retries.released(8 * 60_000);
    const told = [1, 1, 1].map((waiting) => retries.retryAfterMs(waiting, 0));
    expect(told).toEqual([30_000, 22_500, 15_015]);
  });

  test('is limited by the wait limit and by the deadline', async () => {
    const { acquire, pool, budget } = setup({ sizeMax: 1, waitMs: 5_000 });
    await acquire();
    const late = acquire().catch((err) => err);
    const early = acquire('k', never, 100).catch((err) => err);
    await vi.advanceTimersByTimeAsync(100);
    expect(await early).toMatchObject({ code: 'SOURCE_BUSY' });
    await vi.advanceTimersByTimeAsync(4_900);
    const error = await late;
    expect(error).toMatchObject({ code: 'SOURCE_BUSY' });
    // The running execution has run for five seconds, so the estimate uses this time.
    expect(error.retryAfterMs).toBeGreaterThan(2_000);
    expect(pool.stats.waiting).toBe(0);
    expect(budget.usage('a').waiting).toBe(0);
  });

  test('ends when the caller leaves', async () => {
    const { acquire, pool } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const controller = new AbortController();
    const gone = acquire('k', controller.signal).catch((err) => err);
    const next = acquire();
    controller.abort();
    expect(await gone).toMatchObject({ code: 'CANCELLED' });
    pool.release(lease);
    expect((await next).connection).toBe(lease.connection);
    await expect(acquire('k', controller.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('at the deadline of the call ends as busy', async () => {
    const { acquire } = setup({ sizeMax: 1 });
    await acquire();
    const controller = new AbortController();
    const late = acquire('k', controller.signal).catch((err) => err);
    controller.abort(deadlinePassed());
    const busy = { code: 'SOURCE_BUSY', retryable: true };
    expect(await late).toMatchObject(busy);
    await expect(acquire('k', controller.signal)).rejects.toMatchObject(busy);
  });

  test('is round-robin among keys, and first in, first out for each key', async () => {
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
