import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startPolling, type Taken } from '../../src/process/poll.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('asks again soon while there is more work, or no place for it', async () => {
  const answers: (Taken | Error)[] = ['more', 'some', new Error('away'), 'some'];
  const failures: unknown[] = [];
  let takes = 0;
  let hasPlace = true;
  const poll = startPolling({
    everyMs: 1_000,
    hasPlace: () => hasPlace,
    take: async () => {
      const answer = answers[takes++];
      if (answer instanceof Error) throw answer;
      return answer ?? 'some';
    },
    onFailure: (err) => failures.push(err),
  });
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return takes;
  };
  expect(await after(999)).toBe(0);
  expect(await after(1)).toBe(1);
  expect(await after(100)).toBe(2);
  expect(await after(899)).toBe(2);
  expect([await after(1), failures.length]).toEqual([3, 1]);
  hasPlace = false;
  expect(await after(1_050)).toBe(3);
  // It is late from when it was to ask after it last could.
  expect(poll.lateMs()).toBe(1_050);
  hasPlace = true;
  expect(await after(100)).toBe(4);
  expect(poll.lateMs()).toBe(0);
  await poll.stop();
  expect(await after(10_000)).toBe(4);
});

it('wakes an idle process once for all its polls that are due about then', async () => {
  const askedAt = new Set<number>();
  const open = (everyMs: number) =>
    startPolling({
      everyMs,
      hasPlace: () => true,
      take: async () => {
        askedAt.add(performance.now());
        return 'some';
      },
      onFailure: () => {},
    });
  const polls = [open(500)];
  await vi.advanceTimersByTimeAsync(123);
  polls.push(open(500), open(1_000));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(askedAt.size).toBe(20);
  for (const poll of polls) await poll.stop();
});

describe('a poll that found nothing for long', () => {
  const open = (answer: () => Taken) => {
    const askedAt: number[] = [];
    const poll = startPolling({
      everyMs: 500,
      hasPlace: () => true,
      take: async () => {
        askedAt.push(performance.now());
        return answer();
      },
      onFailure: () => {},
    });
    return { poll, askedAt };
  };
  const none = (forMs = Number.POSITIVE_INFINITY): Taken => ({ none: true, forMs });

  it('asks a quarter as often, and is not late by that', async () => {
    const { poll, askedAt } = open(() => none());
    await vi.advanceTimersByTimeAsync(10_000);
    const before = askedAt.length;
    let late = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      await vi.advanceTimersByTimeAsync(100);
      late = Math.max(late, poll.lateMs());
    }
    expect([askedAt.length - before, late]).toEqual([30, 0]);
    await poll.stop();
  });

  it('asks within the usual pause of work that it expects, and goes on as usual', async () => {
    const { poll, askedAt } = open(() => none());
    await vi.advanceTimersByTimeAsync(30_100);
    const before = askedAt.length;
    poll.expectWork();
    await vi.advanceTimersByTimeAsync(500);
    expect(askedAt.length - before).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(askedAt.length - before).toBe(5);
    await poll.stop();
  });

  it('asks within the usual pause of the time at which something is known to come', async () => {
    let dueAt = performance.now() + 30_250;
    const lates: number[] = [];
    const { poll } = open(() => {
      const leftMs = dueAt - performance.now();
      if (leftMs > 0) return none(leftMs);
      lates.push(-leftMs);
      dueAt += 10_170;
      return 'some';
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lates).toHaveLength(3);
    expect(Math.max(...lates)).toBeLessThanOrEqual(500);
    await poll.stop();
  });
});
