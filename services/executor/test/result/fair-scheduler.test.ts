import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTurns, type Flow } from '../../src/result/fair-scheduler.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function createFlow(): Flow & { flows: boolean } {
  const flow = {
    flows: false,
    resume: () => {
      flow.flows = true;
    },
    pause: () => {
      flow.flows = false;
    },
  };
  return flow;
}

const options = { atOnce: 2, turnMs: 10 };

function start(count: number) {
  const turns = createTurns(options);
  const flows = Array.from({ length: count }, createFlow);
  for (const flow of flows) flow.flows = turns.take(flow);
  return { turns, flows, flowing: () => flows.flatMap(({ flows: is }, i) => (is ? [i] : [])) };
}

it('lets so many flow, and the others in turn, all of them as often', () => {
  const { flows, flowing } = start(5);
  expect(flowing()).toEqual([0, 1]);
  const seen = flows.map(() => 0);
  for (let turn = 0; turn < 50; turn++) {
    vi.advanceTimersByTime(options.turnMs);
    expect(flowing()).toHaveLength(2);
    for (const i of flowing()) seen[i] = (seen[i] ?? 0) + 1;
  }
  expect(seen).toEqual([20, 20, 20, 20, 20]);
});

it('stops nobody as long as there is room', () => {
  const { flowing } = start(2);
  vi.advanceTimersByTime(1_000);
  expect(flowing()).toEqual([0, 1]);
  expect(vi.getTimerCount()).toBe(0);
});

it('gives the place of one who leaves to the next with the next round of the event loop', () => {
  const { turns, flows, flowing } = start(4);
  for (const flow of flows.slice(0, 2)) {
    turns.leave(flow);
    flow.pause();
  }
  vi.advanceTimersByTime(0);
  expect(flowing()).toEqual([2, 3]);
  expect(vi.getTimerCount()).toBe(0);
});

it('has one who asks twice in line once', () => {
  const { turns, flows } = start(3);
  expect(turns.take(flows[2] as Flow)).toBe(false);
  expect(turns.take(flows[0] as Flow)).toBe(true);
  turns.leave(flows[2] as Flow);
  vi.advanceTimersByTime(1_000);
  expect(flows[2]?.flows).toBe(false);
});

/** Flows that send a chunk `chunkMs` after their turn has come; counts the turns. */
function send(count: number, chunkMs: number) {
  const turns = createTurns({ ...options, restMs: 2, considerateMs: 100 });
  const seen = Array.from({ length: count }, () => 0);
  const flows = seen.map((_, i) => {
    const flow: Flow = {
      resume: () => {
        seen[i] = (seen[i] as number) + 1;
        setTimeout(() => turns.pass(flow), chunkMs);
      },
      pause: () => {},
    };
    return flow;
  });
  for (const flow of flows) if (turns.take(flow)) flow.resume();
  return { turns, seen };
}

it('passes on after each chunk, and comes back to one who is alone', () => {
  const { seen } = send(1, 1);
  vi.advanceTimersByTime(100);
  expect(seen[0]).toBeGreaterThan(40);
  const several = send(4, 1);
  vi.advanceTimersByTime(100);
  expect(Math.max(...several.seen) - Math.min(...several.seen)).toBeLessThanOrEqual(3);
  expect(several.seen.reduce((a, b) => a + b)).toBeGreaterThan(80);
});

it('rests between turns while small answers are about, however often turns were passed on', () => {
  const { turns, seen } = send(6, 1);
  const total = () => seen.reduce((a, b) => a + b);
  const during = (ms: number) => {
    const before = total();
    for (let i = 0; i < ms; i++) {
      turns.noteSmall();
      vi.advanceTimersByTime(1);
    }
    return total() - before;
  };
  turns.noteSmall();
  vi.advanceTimersByTime(50);
  const early = during(400);
  // A turn of one millisecond and a rest of three, and one more turn for each of those that come by the clock.
  expect(early).toBeGreaterThan(80);
  expect(early).toBeLessThan(200);
  expect(during(400)).toBeLessThan(200);
  vi.advanceTimersByTime(200);
  const before = total();
  vi.advanceTimersByTime(100);
  expect(total() - before).toBeGreaterThan(80);
});
