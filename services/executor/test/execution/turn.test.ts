import { createCallContext, Deadlines } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSourceCalls, type SourceDeps } from '../../src/execution/source-calls.ts';
import { createDiffSemaphore, createSchemaSemaphore } from '../../src/execution/turn.ts';
import { answerNow, FakeConnection, hang, key, source } from '../fakes/pipeline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setup() {
  const schemas = createSchemaSemaphore();
  /** Reads the schema of a source whose database answers at once, or never. */
  return (accountId: string, { slow = false } = {}) => {
    const connection = Object.assign(new FakeConnection(slow ? hang : answerNow), {
      async readSchema(this: FakeConnection) {
        await this.run({} as never, {} as never, {} as never);
        return { tables: [] };
      },
    });
    const calls = createSourceCalls({
      definitions: { source: async () => source },
      pools: { pool: () => ({ acquire: async () => ({ connection }), release: () => {} }) },
      now: () => performance.now(),
      deadlines: new Deadlines(),
      timeoutMs: 30_000,
      diffs: createDiffSemaphore(),
      schemas,
    } as unknown as SourceDeps);
    const ctx = createCallContext({ timeoutMs: 60_000, principal: { ...key, accountId } });
    const read = calls.readSchema({ sourceId: 's' }, ctx);
    read.catch(() => {});
    return { read, connection };
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
  const slow = [1, 2, 3].map(() => start('a', { slow: true }));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(slow.map(({ connection }) => connection.cancelled)).toEqual([0, 0, 0]);
  await vi.advanceTimersByTimeAsync(2_000);
  for (const { read } of slow) await expect(read).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
});
