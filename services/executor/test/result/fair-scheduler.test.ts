import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FairScheduler, type Flow } from '../../src/result/fair-scheduler.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function createFlow(): Flow & { flows: boolean } {
  const flow = {
    accountId: 'a',
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

const options = { flowsMax: 2, turnMs: 10 };

function start(count: number) {
  const scheduler = new FairScheduler(options);
  const flows = Array.from({ length: count }, createFlow);
  for (const flow of flows) flow.flows = scheduler.enter(flow);
  return { scheduler, flows, flowing: () => flows.flatMap(({ flows: is }, i) => (is ? [i] : [])) };
}

it('gives every flow as many turns, and as many flows as allowed a turn at a time', () => {
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

it('pauses no flow while there is room', () => {
  const { flowing } = start(2);
  vi.advanceTimersByTime(1_000);
  expect(flowing()).toEqual([0, 1]);
  expect(vi.getTimerCount()).toBe(0);
});

it('gives the turn of a flow that leaves to the next one in the next iteration of the event loop', () => {
  const { scheduler, flows, flowing } = start(4);
  for (const flow of flows.slice(0, 2)) {
    scheduler.leave(flow);
    flow.pause();
  }
  vi.advanceTimersByTime(0);
  expect(flowing()).toEqual([2, 3]);
  expect(vi.getTimerCount()).toBe(0);
});

it('queues a flow once, however often it enters', () => {
  const { scheduler, flows } = start(3);
  expect(scheduler.enter(flows[2] as Flow)).toBe(false);
  expect(scheduler.enter(flows[0] as Flow)).toBe(true);
  scheduler.leave(flows[2] as Flow);
  vi.advanceTimersByTime(1_000);
  expect(flows[2]?.flows).toBe(false);
});

/** Flows that send a chunk `chunkMs` after their turn has begun; counts the turns. */
function send(
  count: number,
  chunkMs: number,
  { firstChunkMs = chunkMs, accountOf = (_: number): string => 'a' } = {},
) {
  const scheduler = new FairScheduler({ ...options, pauseMs: 2, smallFirstMs: 100 });
  const seen = Array.from({ length: count }, () => 0);
  const flows = seen.map((_, i) => {
    const flow: Flow = {
      accountId: accountOf(i),
      resume: () => {
        seen[i] = (seen[i] as number) + 1;
        setTimeout(() => scheduler.yieldTurn(flow), seen[i] === 1 ? firstChunkMs : chunkMs);
      },
      pause: () => {},
    };
    return flow;
  });
  for (const flow of flows) if (scheduler.enter(flow)) flow.resume();
  return { scheduler, seen };
}

it('ends a turn after each chunk, and resumes a single flow at once', () => {
  const { seen } = send(1, 1);
  vi.advanceTimersByTime(100);
  expect(seen[0]).toBeGreaterThan(40);
  const several = send(4, 1);
  vi.advanceTimersByTime(100);
  expect(Math.max(...several.seen) - Math.min(...several.seen)).toBeLessThanOrEqual(3);
  expect(several.seen.reduce((a, b) => a + b)).toBeGreaterThan(80);
});

it('divides the turns among the accounts', () => {
  const { seen } = send(61, 1, { accountOf: (i) => (i === 0 ? 'b' : 'a') });
  vi.advanceTimersByTime(600);
  const share = (seen[0] as number) / seen.reduce((a, b) => a + b);
  expect(share).toBeGreaterThan(0.25);
});

it('pauses between turns in small-first mode, however often turns were yielded', () => {
  const { scheduler, seen } = send(6, 1);
  const total = () => seen.reduce((a, b) => a + b);
  const during = (ms: number) => {
    const before = total();
    for (let i = 0; i < ms; i++) {
      scheduler.noteSmall();
      vi.advanceTimersByTime(1);
    }
    return total() - before;
  };
  scheduler.noteSmall();
  vi.advanceTimersByTime(50);
  const early = during(400);
  // A turn of one millisecond, a pause of three, and the turns that the rotation timer adds.
  expect(early).toBeGreaterThan(80);
  expect(early).toBeLessThan(200);
  expect(during(400)).toBeLessThan(200);
  vi.advanceTimersByTime(200);
  const before = total();
  vi.advanceTimersByTime(100);
  expect(total() - before).toBeGreaterThan(80);
});

it.each([
  ['in a process that has run for an hour', { idleMs: 3_600_000, firstChunkMs: 1 }],
  ['after a source needed an hour for the first rows', { idleMs: 0, firstChunkMs: 3_600_000 }],
])('pauses by the turn before it, %s', (_, { idleMs, firstChunkMs }) => {
  vi.advanceTimersByTime(idleMs);
  const { scheduler, seen } = send(1, 1, { firstChunkMs });
  vi.advanceTimersByTime(firstChunkMs - 1);
  scheduler.noteSmall();
  const resume = () => void setTimeout(() => scheduler.yieldTurn(other), 1);
  const other: Flow = { accountId: 'a', resume, pause: () => {} };
  expect(scheduler.enter(other)).toBe(false);
  for (let i = 0; i < 300; i++) {
    scheduler.noteSmall();
    vi.advanceTimersByTime(1);
  }
  // A turn of one millisecond and a pause of two; the rotation timer alone would give 15.
  expect(seen[0]).toBeGreaterThan(40);
});
