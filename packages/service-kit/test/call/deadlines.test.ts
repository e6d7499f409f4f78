import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Deadline, Deadlines } from '../../src/call/call.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('deadlines', () => {
  it('are reached at their time, in the order of it, whatever the order they came in', () => {
    const reached: string[] = [];
    const deadlines = new Deadlines();
    for (const ms of [50, 20, 70, 20]) deadlines.add(ms, () => reached.push(`${ms} at ${performance.now()}`));
    const before = performance.now();
    vi.advanceTimersByTime(100);
    expect(reached).toEqual([20, 20, 50, 70].map((ms) => `${ms} at ${before + ms}`));
  });

  it('are not reached once they are removed, which may be done twice', () => {
    const reached = vi.fn();
    const deadlines = new Deadlines();
    const removed = deadlines.add(10, reached);
    deadlines.remove(removed);
    deadlines.remove(removed);
    vi.advanceTimersByTime(100);
    expect(reached).not.toHaveBeenCalled();
  });

  it('may be removed and added by one that is reached', () => {
    const reached: string[] = [];
    const deadlines = new Deadlines();
    deadlines.add(10, () => {
      reached.push('first');
      deadlines.remove(second);
      deadlines.add(0, () => reached.push('third'));
      deadlines.add(5, () => reached.push('fourth'));
    });
    const second = deadlines.add(10, () => reached.push('second'));
    vi.advanceTimersByTime(11);
    expect(reached).toEqual(['first', 'third']);
    vi.advanceTimersByTime(4);
    expect(reached).toEqual(['first', 'third', 'fourth']);
  });

  it('are reached in turns of 16, in which others are removed and added', () => {
    const reached: number[] = [];
    const deadlines = new Deadlines();
    const all = Array.from({ length: 40 }, (_, i) => deadlines.add(10, () => reached.push(i)));
    vi.advanceTimersToNextTimer();
    expect(reached.length).toBe(16);
    deadlines.remove(all.at(-1) as Deadline);
    deadlines.add(1, () => reached.push(40));
    vi.advanceTimersToNextTimer();
    expect(reached.length).toBe(32);
    vi.advanceTimersByTime(2);
    expect(reached.toSorted((x, y) => x - y)).toEqual([...Array(39).keys(), 40]);
  });

  it('that are over at once or never come are no special case', () => {
    const reached: string[] = [];
    const deadlines = new Deadlines();
    deadlines.add(Number.POSITIVE_INFINITY, () => reached.push('never'));
    deadlines.add(2 ** 40, () => reached.push('late'));
    deadlines.add(-5, () => reached.push('at once'));
    expect(reached).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reached).toEqual(['at once']);
    vi.advanceTimersByTime(3 * 2 ** 31);
    expect(reached).toEqual(['at once']);
  });

  it('are reached within a millisecond of their time, and no others are', () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 40 }),
      remove: fc.nat(),
      wait: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const deadlines = new Deadlines();
        const open = new Map<number, Deadline>();
        const late: number[] = [];
        for (const [i, { ms, remove, wait }] of steps.entries()) {
          const due = performance.now() + ms;
          open.set(
            i,
            deadlines.add(ms, () => {
              late.push(performance.now() - due);
              open.delete(i);
            }),
          );
          const victim = [...open.keys()][remove % (2 * open.size)];
          if (victim !== undefined) {
            deadlines.remove(open.get(victim) as Deadline);
            open.delete(victim);
          }
          vi.advanceTimersByTime(wait);
          for (const { at } of open.values()) expect(at).toBeGreaterThanOrEqual(performance.now() - 1);
        }
        vi.advanceTimersByTime(50);
        expect(open.size).toBe(0);
        for (const ms of late) expect(ms >= 0 && ms <= 1).toBe(true);
      }),
    );
  });
});
