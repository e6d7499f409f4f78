import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTurns, type Flow } from './turns.ts';

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

it('gives the place of one who leaves to the next at once', () => {
  const { turns, flows, flowing } = start(4);
  for (const flow of flows.slice(0, 2)) {
    turns.leave(flow);
    flow.pause();
  }
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
