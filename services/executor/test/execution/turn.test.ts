import { createCallContext, Deadlines } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSourceCalls, type SourceDeps } from '../../src/execution/source-calls.ts';
import { createDiffSemaphore, createSchemaSemaphore } from '../../src/execution/turn.ts';
import type { AcquireOptions } from '../../src/pool/pool-types.ts';
import { stopping, WaitQueue } from '../../src/pool/wait-queue.ts';
import { answerNow, FakeConnection, hang, key, source } from '../fakes/pipeline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setup() {
  const schemas = createSchemaSemaphore();
  /** Reads the schema of a source whose database answers at once, or never. */
  return (accountId: string, { slow = false, unreachable = false, timeoutMs = 60_000 } = {}) => {
    const connection = Object.assign(new FakeConnection(slow ? hang : answerNow), {
      async readSchema(this: FakeConnection) {
        await this.run({} as never, {} as never, {} as never);
        return { tables: [] };
      },
    });
    const acquired: number[] = [];
    const queue = new WaitQueue();
    const acquire = async (options: AcquireOptions) => {
      if (unreachable)
        return queue.wait(options, { waitMs: 30_000, timeoutError: stopping, onSettled: () => {} });
      acquired.push(performance.now());
      return { connection };
    };
    const calls = createSourceCalls({
      definitions: { source: async () => source },
      pools: { pool: () => ({ acquire, release: () => {} }) },
      now: () => performance.now(),
      deadlines: new Deadlines(),
      timeoutMs: 30_000,
      diffs: createDiffSemaphore(),
      schemas,
    } as unknown as SourceDeps);
    const ctx = createCallContext({ timeoutMs, principal: { ...key, accountId } });
    const read = calls.readSchema({ sourceId: 's' }, ctx);
    read.catch(() => {});
    return { read, connection, acquired };
  };
}

test('the schema of a slow database gives way after seconds to those who wait', async () => {
  const start = setup();
  const slow = [start('a', { slow: true }), start('a', { slow: true }), start('b', { slow: true })];
  await vi.advanceTimersByTimeAsync(1_000);
  const { read } = start('c');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await read).toEqual({ tables: [] });
  const cancelled = slow.filter(({ connection }) => connection.cancelled > 0);
  expect(cancelled.length).toBeGreaterThan(0);
  for (const { read } of cancelled)
    await expect(read).rejects.toMatchObject({ code: 'SOURCE_BUSY', retryable: true });
});

test('a slow database has its whole time while nobody else waits', async () => {
  const start = setup();
  const slow = [1, 2].map(() => start('a', { slow: true }));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(slow.map(({ connection }) => connection.cancelled)).toEqual([0, 0]);
  await vi.advanceTimersByTimeAsync(2_000);
  for (const { read } of slow) await expect(read).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
});

test('a call that waits for its turn has no connection, and its statement has the whole time', async () => {
  const start = setup();
  for (const _ of [1, 2]) start('a', { slow: true });
  const waiting = start('a', { slow: true });
  await vi.advanceTimersByTimeAsync(29_000);
  expect(waiting.acquired).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(waiting.acquired).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(28_000);
  expect(waiting.connection.cancelled).toBe(0);
});

test('a call that waited for its turn too long is told so', async () => {
  const start = setup();
  for (const _ of [1, 2]) start('a', { slow: true });
  const cutShort = start('a', { slow: true, timeoutMs: 50_000 });
  const neverBegan = start('a', { slow: true, timeoutMs: 20_000 });
  await vi.advanceTimersByTimeAsync(61_000);
  const error = { code: 'SOURCE_BUSY', retryable: true };
  const message = 'Other reads of schemas took most of the time of this call. Try again.';
  await expect(cutShort.read).rejects.toMatchObject({ ...error, message });
  await expect(neverBegan.read).rejects.toMatchObject({ ...error, message });
  expect(neverBegan.acquired).toEqual([]);
});

test('a source that is slow to reach gives way, too', async () => {
  const start = setup();
  const slow = Array.from({ length: 3 }, (_, i) => start(`a${i}`, { unreachable: true }));
  await vi.advanceTimersByTimeAsync(1_000);
  const { read } = start('c');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await read).toEqual({ tables: [] });
  await expect(slow[0]?.read).rejects.toMatchObject({ code: 'SOURCE_BUSY', retryable: true });
});
