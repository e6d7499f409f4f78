import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/pool/pool-types.ts';
import { type FakeConnection, setupPool as setup, tick } from '../fakes/pool.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('growing', () => {
  test('one connection serves consecutive executions', async () => {
    const { pool, opened, acquire } = setup();
    const first = await acquire();
    pool.release(first);
    for (let i = 0; i < 100; i++) {
      const lease = pool.tryAcquire() as Lease;
      expect(lease).toMatchObject({ connection: first.connection, uses: i + 2 });
      pool.release(lease);
    }
    expect(opened).toHaveLength(1);
  });

  test('a connection that is given back twice stays with the execution that has it', async () => {
    const { pool, acquire } = setup({ sizeMax: 1 });
    const first = await acquire();
    pool.release(first);
    const second = await acquire();
    pool.release(first);
    expect(pool.stats).toMatchObject({ busy: 1, idle: 0 });
    expect(pool.tryAcquire()).toBeUndefined();
    pool.release(second);
    expect(pool.stats).toMatchObject({ busy: 0, idle: 1 });
  });

  test('concurrent executions open one connection first, then as many as the limit allows', async () => {
    const { pool, source, acquire } = setup({ sizeMax: 3 });
    source.connectMs = 10;
    const crowd = Array.from({ length: 8 }, () => acquire());
    await tick();
    expect(source.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(source.attempts).toBe(3);
    expect(pool.stats).toEqual({ waiting: 5, busy: 3, idle: 0, connecting: 0, tripped: 0 });
    for (const turn of crowd) pool.release(await turn);
    expect(pool.stats).toEqual({ waiting: 0, busy: 0, idle: 3, connecting: 0, tripped: 0 });
  });

  test('a source that is down costs one attempt for all waiting executions', async () => {
    const { source, acquire } = setup();
    source.up = false;
    source.connectMs = 10;
    const crowd = Promise.allSettled(Array.from({ length: 40 }, () => acquire()));
    await vi.advanceTimersByTimeAsync(10);
    for (const result of await crowd)
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SOURCE_UNREACHABLE' } });
    expect(source.attempts).toBe(1);
  });

  test('an open circuit breaker refuses at once, and closes within five seconds after recovery', async () => {
    const { source, acquire } = setup();
    source.up = false;
    for (let i = 0; i < 5; i++) await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    await expect(acquire()).rejects.toMatchObject({ code: 'SOURCE_BUSY', stage: 'connect' });
    expect(source.attempts).toBe(5);
    source.up = true;
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(acquire()).resolves.toBeDefined();
  });

  test('a hanging connect times out, and a connection that opens too late is closed', async () => {
    const { opened, source, acquire } = setup({ connectTimeoutMs: 100 });
    source.connectMs = 500;
    const outcome = acquire().catch((err) => err);
    await vi.advanceTimersByTimeAsync(100);
    expect(await outcome).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    await vi.advanceTimersByTimeAsync(400);
    expect(opened[0]?.closed).toBe(true);
  });

  test('if further connections are refused, the open ones stay in use', async () => {
    const { pool, source, acquire } = setup();
    const lease = await acquire();
    source.up = false;
    const second = acquire();
    await tick();
    expect(pool.stats).toMatchObject({ waiting: 1, busy: 1 });
    pool.release(lease);
    expect((await second).connection).toBe(lease.connection);
  });
});

describe('replacing', () => {
  test('a broken connection is replaced, also for waiting executions', async () => {
    const { acquire, pool, opened } = setup({ sizeMax: 1 });
    const lease = await acquire();
    const next = acquire();
    (opened[0] as FakeConnection).broken = true;
    pool.release(lease);
    expect((await next).connection).toBe(opened[1]);
    expect(opened[0]?.closed).toBe(true);
  });

  test('a connection that dies while idle is removed', async () => {
    const { acquire, pool, opened } = setup();
    pool.release(await acquire());
    opened[0]?.close();
    expect(pool.stats.idle).toBe(0);
    expect(pool.isEmpty).toBe(true);
  });

  test('idle connections are closed after the idle time, the least used first', async () => {
    const { acquire, pool, opened } = setup({ idleTimeoutMs: 60_000 });
    const leases = [await acquire(), await acquire()];
    for (const lease of leases) pool.release(lease);
    await vi.advanceTimersByTimeAsync(40_000);
    pool.release(await acquire());
    await vi.advanceTimersByTimeAsync(20_000);
    pool.sweep();
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test('the lifetime is limited, on release and while idle', async () => {
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

  test('a connection that was idle for long is pinged, and replaced if that fails', async () => {
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

describe('closing', () => {
  test('draining serves the queue, then resolves', async () => {
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

  test('closing rejects waiting executions, waits for running ones, then closes their connections', async () => {
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
