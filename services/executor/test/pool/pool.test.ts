import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defaultConnectionLimits, type Lease } from '../../src/pool/pool-types.ts';
import { WaitEstimator } from '../../src/pool/wait-estimator.ts';
import { type FakeConnection, never, setupPool as setup, tick } from '../fakes/pool.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

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
  test('is limited to what the account may have', async () => {
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
    /** How many of 2,000 executions the queue takes. */
    const admitted = () => {
      for (let i = 0; i < 2_000; i++) acquire().catch(() => {});
      return pool.stats.waiting;
    };
    return { acquire, pool, serve, admitted };
  }

  test('admits those who are expected to have a connection in time, judging by past leases', async () => {
    const { acquire, admitted } = await setupBusy(50, 40);
    await acquire();
    await acquire();
    expect(admitted()).toBe(200);
  });

  test('admits as many after a pause as before, while it lasts and once it is over', async () => {
    for (const isOver of [false, true]) {
      const { acquire, pool, admitted } = await setupBusy(2, 2_000);
      const leases = [await acquire(), await acquire()];
      await vi.advanceTimersByTimeAsync(500);
      if (isOver) for (const lease of leases) pool.release(lease);
      if (isOver) await Promise.all([acquire(), acquire()]);
      expect(admitted()).toBe(2_000);
    }
  });

  test('admits one for each connection once the source has stood still for the wait', async () => {
    const { acquire, admitted } = await setupBusy(2, 2_000);
    await acquire();
    await acquire();
    await vi.advanceTimersByTimeAsync(5_100);
    expect(admitted()).toBe(2);
  });

  test('learns within seconds of use that a source has become slow, and fast again', async () => {
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

  test('admits any number before the first release, up to what the account may have', async () => {
    const { acquire, pool } = setup(
      { sizeMax: 1 },
      { ...defaultConnectionLimits, waitingPerAccountMax: 600 },
    );
    await acquire();
    for (let i = 0; i < 700; i++) acquire().catch(() => {});
    expect(pool.stats.waiting).toBe(600);
  });

  test('sends callers away who come back one after the other', async () => {
    const { acquire } = setup({ sizeMax: 2 }, { ...defaultConnectionLimits, waitingPerAccountMax: 1 });
    await acquire();
    await acquire();
    acquire().catch(() => {});
    await vi.advanceTimersByTimeAsync(2_000);
    const refused = async () => (await acquire().catch((err) => err)).retryAfterMs as number;
    // Two run for two seconds, so one comes free each half second: two stand before the first who is sent away.
    expect([await refused(), await refused(), await refused()]).toEqual([1_000, 1_500, 2_000]);
    await vi.advanceTimersByTimeAsync(400);
    expect(await refused()).toBe(2_200);
    // Nobody is sent away for more than half a minute.
    for (let i = 0; i < 100; i++) await refused();
    expect(await refused()).toBe(30_000);
  });

  test('spreads who would be sent away for more than half a minute over half of it', () => {
    const shares = [0, 0.5, 0.999];
    const retries = new WaitEstimator([], 1, () => shares.shift() as number);
    retries.released(8 * 60_000);
    const told = [1, 1, 1].map((waiting) => retries.retryAfterMs(waiting, 0));
    expect(told).toEqual([30_000, 22_500, 15_015]);
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
    expect(budget.usage('a').waiting).toBe(0);
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
    expect(pool.isEmpty).toBe(true);
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
  test('a draining pool serves its queue, then resolves', async () => {
    const { acquire, pool, opened } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const next = acquire();
    const ended = vi.fn();
    void pool.drain().then(ended);
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
