import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultBreakerSettings } from '../../src/pool/circuit-breaker.ts';
import { createPoolRegistry } from '../../src/pool/pool-registry.ts';
import {
  type ConnectionLimits,
  defaultConnectionLimits,
  defaultPoolSettings,
  type Lease,
  type PooledSource,
} from '../../src/pool/pool-types.ts';
import type { Connection } from '../../src/ports/engine.ts';
import { anySlots } from '../fakes/slots.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Opened {
  source: PooledSource;
  closed: boolean;
}

function setup(limits: Partial<ConnectionLimits> = {}) {
  const opened: Opened[] = [];
  const source = { error: undefined as HubError | undefined };
  const registry = createPoolRegistry<PooledSource>({
    open: async (from) => {
      if (source.error) throw source.error;
      const record = { source: from, closed: false };
      opened.push(record);
      const connection = {
        get broken() {
          return record.closed;
        },
        onClose: () => {},
        ping: async () => {},
        close: () => {
          record.closed = true;
        },
      };
      return connection as unknown as Connection;
    },
    pool: defaultPoolSettings,
    breaker: defaultBreakerSettings,
    limits: { ...defaultConnectionLimits, ...limits },
    slotsOf: ({ sourceId }) => anySlots(sourceId),
    now: () => performance.now(),
    random: () => 0,
  });
  return { registry, opened, source };
}

const from = (sourceId: string, more: Partial<PooledSource> = {}): PooledSource => ({
  accountId: 'a',
  sourceId,
  settingsVersion: '1',
  version: 1,
  pool: {},
  ...more,
});
const ask = (bytes = 0) => ({
  key: 'k',
  bytes,
  deadlineAt: performance.now() + 60_000,
  signal: new AbortController().signal,
});

test('all executions of a source share one pool, and another source has another pool', () => {
  const { registry } = setup();
  expect(registry.pool(from('s1'))).toBe(registry.pool(from('s1')));
  expect(registry.pool(from('s1'))).not.toBe(registry.pool(from('s2')));
});

test('accounts never share a pool', () => {
  const { registry } = setup();
  expect(registry.pool(from('s1'))).not.toBe(registry.pool(from('s1', { accountId: 'b' })));
});

test('changed settings create a new pool at once, and the old one drains', async () => {
  const { registry, opened } = setup();
  const old = registry.pool(from('s1'));
  const running = await old.acquire(ask());
  const changed = registry.pool(from('s1', { settingsVersion: '2', version: 2 }));
  expect(changed).not.toBe(old);
  changed.release(await changed.acquire(ask()));
  old.release(running);
  expect(opened.map(({ source, closed }) => [source.settingsVersion, closed])).toEqual([
    ['1', true],
    ['2', false],
  ]);
});

test('a late definition does not restore the old settings', () => {
  const { registry } = setup();
  const changed = registry.pool(from('s1', { settingsVersion: '2', version: 2 }));
  expect(registry.pool(from('s1'))).toBe(changed);
});

test('a new label changes nothing', () => {
  const { registry } = setup();
  expect(registry.pool(from('s1', { version: 2 }))).toBe(registry.pool(from('s1')));
});

test('idle pools are closed and removed', async () => {
  const { registry, opened } = setup();
  for (const id of ['s1', 's2']) {
    const pool = registry.pool(from(id));
    pool.release(await pool.acquire(ask()));
  }
  expect(registry.stats).toEqual({ pools: 2, waiting: 0, busy: 0, idle: 2, connecting: 0, tripped: 0 });
  await vi.advanceTimersByTimeAsync(61_000);
  expect(opened.every(({ closed }) => closed)).toBe(true);
  await vi.advanceTimersByTimeAsync(61_000);
  expect(registry.stats.pools).toBe(0);
  await registry.close(0);
});

test('refused log-ins pause the settings that were refused, and no others', async () => {
  const { registry, source } = setup();
  source.error = new HubError('SOURCE_AUTH', 'x');
  const refused = registry.pool(from('s1', { settingsVersion: '5', version: 5 }));
  for (let i = 0; i < 5; i++)
    await expect(refused.acquire(ask())).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
  source.error = undefined;
  await expect(refused.acquire(ask())).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryAfterMs: 60_000 });
  const corrected = registry.pool(from('s1', { settingsVersion: '6', version: 6 }));
  await expect(corrected.acquire(ask())).resolves.toBeDefined();
});

test('500 sources stay within the limit of the process, and the longest idle connections are closed', async () => {
  const { registry, opened } = setup();
  for (let i = 0; i < 500; i++) {
    const pool = registry.pool(from(`s${i}`, { accountId: `a${i}` }));
    pool.release(await pool.acquire(ask()));
    expect(registry.stats.idle).toBeLessThanOrEqual(200);
  }
  expect(opened).toHaveLength(500);
  expect(opened[299]?.closed).toBe(true);
  expect(opened[300]?.closed).toBe(false);
});

test('one account with 200 hanging executions uses at most half of the connections, and others continue', async () => {
  const { registry } = setup({ connectionsMax: 40, connectionsPerAccountMax: 40 });
  const hanging = Array.from({ length: 200 }, (_, i) => registry.pool(from(`s${i % 20}`)).acquire(ask()));
  void Promise.allSettled(hanging);
  await vi.advanceTimersByTimeAsync(0);
  expect(registry.stats.busy).toBe(20);
  for (const accountId of ['b', 'c', 'd', 'e']) {
    const pool = registry.pool(from(`of ${accountId}`, { accountId }));
    pool.release(await pool.acquire(ask()));
    expect(pool.stats.idle).toBe(1);
  }
});

test('if all connections are in use, a released one goes to the account with the fewest', async () => {
  const { registry } = setup({ connectionsMax: 4, connectionsPerAccountMax: 4 });
  const leases: [string, Lease][] = [];
  for (const accountId of ['a', 'a', 'b', 'c']) {
    const lease = await registry.pool(from(`of ${accountId}`, { accountId })).acquire(ask());
    leases.push([accountId, lease]);
  }
  const pools = (accountId: string) => registry.pool(from(`of ${accountId}`, { accountId }));
  const again = pools('a').acquire(ask());
  const newcomer = pools('d').acquire(ask());
  await vi.advanceTimersByTimeAsync(0);
  pools('a').release(leases[0]?.[1] as Lease);
  await expect(newcomer).resolves.toBeDefined();
  expect(pools('a').stats).toMatchObject({ waiting: 1, busy: 1 });
  pools('a').release(leases[1]?.[1] as Lease);
  await expect(again).resolves.toBeDefined();
});

test('one account cannot fill the memory with waiting executions', async () => {
  const { registry } = setup({ connectionsPerAccountMax: 1, waitingPerAccountMax: 10 });
  const crowd = Array.from({ length: 30 }, (_, i) => registry.pool(from(`s${i}`)).acquire(ask()));
  const results = Promise.allSettled(crowd);
  await registry.close(0);
  const codes = (await results).map((result) => (result.status === 'rejected' ? result.reason.code : 'ran'));
  expect(codes.filter((code) => code === 'SOURCE_BUSY')).toHaveLength(20);
});

test.each([
  ['number', { waitingMax: 20 }],
  ['bytes', { waitingBytesMax: 20 * (8_192 + 1_000) }],
])('one account cannot use all waiting places, in %s', async (_, limits) => {
  const { registry } = setup({ connectionsPerAccountMax: 1, ...limits });
  const admitted = async (accountId: string) => {
    const pool = registry.pool(from(`of ${accountId}`, { accountId }));
    void Promise.allSettled(Array.from({ length: 30 }, () => pool.acquire(ask(1_000))));
    await vi.advanceTimersByTimeAsync(0);
    const { waiting, busy } = pool.stats;
    return waiting + busy;
  };
  // Each account gets half of the remaining places. Its first execution then has the connection.
  expect([await admitted('a'), await admitted('b'), await admitted('c')]).toEqual([10, 6, 3]);
  const closing = registry.close(0);
  await vi.advanceTimersByTimeAsync(1);
  await closing;
  expect(registry.stats.waiting).toBe(0);
});

test('executions wait if the account’s other sources use all its connections', async () => {
  const { registry } = setup({ connectionsPerAccountMax: 1 });
  const running = await registry.pool(from('s1')).acquire(ask());
  const waiting = Array.from({ length: 20 }, () => registry.pool(from('s2')).acquire(ask()));
  await vi.advanceTimersByTimeAsync(0);
  expect(registry.stats).toMatchObject({ waiting: 20, busy: 1 });
  registry.pool(from('s1')).release(running);
  for (const lease of waiting) registry.pool(from('s2')).release(await lease);
});

test('after closing, no connection is opened, not even for new sources', async () => {
  const { registry, opened } = setup();
  await registry.close(0);
  await expect(registry.pool(from('s1')).acquire(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(opened).toHaveLength(0);
});

test('wakes for sweeps only while there are pools', async () => {
  const { registry, opened } = setup();
  expect(vi.getTimerCount()).toBe(0);
  const pool = registry.pool(from('s1'));
  pool.release(await pool.acquire(ask()));
  await vi.advanceTimersByTimeAsync(2 * defaultPoolSettings.idleTimeoutMs + 2_000);
  expect([opened[0]?.closed, registry.stats.pools, vi.getTimerCount()]).toEqual([true, 0, 0]);
});
