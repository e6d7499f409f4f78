import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultConnectionLimits, type Lease } from '../../src/pool/pool-types.ts';
import { type FakeConnection, setupPool as setup, tick } from '../fakes/pool.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('whatever happens, connections stay in bounds and none is lost', async () => {
  const step = fc.constantFrom('acquire', 'release', 'break', 'leave', 'time', 'down', 'up', 'die');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { pool, opened, source, acquire, budget } = setup(
        { sizeMax: 3, waitMs: 50, lifetimeMs: 500 },
        { ...defaultConnectionLimits, waitingPerAccountMax: 4 },
      );
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
        expect(budget.usage('a').waiting).toBe(waiting);
        expect([budget.open, budget.busy]).toEqual([busy + idle + connecting, busy + connecting]);
        expect(new Set(held.map(({ connection }) => connection)).size).toBe(held.length);
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
