import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Fleet, type FleetSource } from './slot-fleet.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const leaseMs = 60_000;
const source = (sourceId: string, more: Partial<FleetSource> = {}): FleetSource => ({
  sourceId,
  accountId: 'a',
  max: 5,
  server: 'db:5432',
  ...more,
});
const sources = [source('s1'), source('s2'), source('s3', { accountId: 'b', max: 1 })];
const executorCount = 3;
const replicaCount = 2;

async function openFleet(onOneMachine: boolean): Promise<Fleet> {
  const fleet = new Fleet({ leaseMs, sources, servers: new Map([['db:5432', 7]]), onOneMachine });
  for (let i = 0; i < replicaCount; i++) await fleet.startReplica(i);
  for (let i = 0; i < executorCount; i++) fleet.startExecutor(i);
  // Everybody wants more than there is, so that a slot that returns too early is used at once.
  for (const one of fleet.executors) for (const each of sources) one.want(each, 8);
  await pass(1_000);
  return fleet;
}

const executor = fc.nat(executorCount - 1);
const replica = fc.nat(replicaCount - 1);
const action = fc.oneof(
  fc.tuple(fc.constant('want' as const), executor, fc.nat(sources.length - 1), fc.constantFrom(0, 1, 12)),
  fc.tuple(fc.constantFrom('kill' as const, 'stop' as const, 'pause' as const, 'resume' as const), executor),
  fc.tuple(fc.constantFrom('killReplica' as const, 'stopReplica' as const), replica),
  fc.tuple(fc.constant('sleep' as const), executor, fc.constantFrom(0, 30_000, 61_000, 75_000)),
  fc.tuple(fc.constant('pass' as const), fc.constantFrom(50, 700, 4_000, 20_000, 70_000)),
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

async function carryOut(fleet: Fleet, [what, index, sourceIndex = 0, callers = 0]: Action): Promise<void> {
  const one = fleet.executors[index];
  if (what === 'pass') await pass(index);
  else if (what === 'want') one?.want(sources[sourceIndex] as FleetSource, callers);
  else if (what === 'pause') one?.pause();
  else if (what === 'resume') one?.resume();
  else if (what === 'sleep') {
    one?.pause();
    await pass(sourceIndex);
    one?.resume();
  } else if (what === 'kill') {
    one?.kill();
    fleet.startExecutor(index);
  } else if (what === 'stop') {
    one?.resume();
    void one?.stop();
    fleet.startExecutor(index);
  } else {
    if (what === 'killReplica') fleet.killReplica(index);
    else await fleet.stopReplica(index);
    await fleet.startReplica(index);
  }
  await pass(20);
}

test('whatever stops, pauses or dies, no more sessions run statements than the budgets allow, and all are served', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), fc.boolean(), async (actions, onOneMachine) => {
      const fleet = await openFleet(onOneMachine);
      try {
        for (const one of actions) {
          await carryOut(fleet, one);
          expect(fleet.database.excess).toBeUndefined();
        }
        for (const one of fleet.executors) {
          one.resume();
          for (const each of sources) one.want(each, 8);
        }
        await pass(2 * leaseMs);
        const before = fleet.executors.map(({ done }) => done);
        await pass(10_000);
        expect(fleet.database.excess).toBeUndefined();
        expect(fleet.executors.every(({ done }, i) => done > (before[i] as number))).toBe(true);
      } finally {
        fleet.close();
      }
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 5) },
  );
});

/** How long a process needs to start. */
const startMs = 1_500;
const doneBy = ({ executors }: Fleet) => executors.reduce((sum, { done }) => sum + done, 0);

/** Replaces everything, one after the other with the given times between, as a rollout of all services does. */
test('after a rollout in any order all are served at once, and no slot was given twice', async () => {
  const parts = ['e0', 'e1', 'e2', 'r0', 'r1'];
  const order = fc.shuffledSubarray(parts, { minLength: parts.length });
  const gaps = fc.array(fc.constantFrom(0, 20, 300), { minLength: 5, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(order, gaps, async (steps, waits) => {
      const fleet = await openFleet(false);
      try {
        for (const [i, step] of steps.entries()) {
          const index = Number(step[1]);
          if (step.startsWith('r')) {
            await fleet.stopReplica(index);
            setTimeout(() => void fleet.startReplica(index), startMs);
          } else {
            void fleet.executors[index]?.stop();
            fleet.startExecutor(index);
            for (const each of sources) fleet.executors[index]?.want(each, 8);
          }
          await pass(waits[i] as number);
        }
        await pass(startMs + 2_500);
        const before = doneBy(fleet);
        await pass(2_000);
        // Seven statements of 400 ms at a time, less what the exchange of slots takes.
        expect(doneBy(fleet) - before).toBeGreaterThan(25);
        expect(fleet.database.excess).toBeUndefined();
      } finally {
        fleet.close();
      }
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 20) },
  );
});

test('after everything was killed on one machine, new executors are served within 5 s', async () => {
  const fleet = await openFleet(true);
  try {
    for (const one of fleet.executors) one.kill();
    for (let i = 0; i < replicaCount; i++) fleet.killReplica(i);
    for (let i = 0; i < replicaCount; i++) await fleet.startReplica(i);
    let settled = 0;
    for (const { streams } of fleet.replicas) void streams.settled.then(() => settled++);
    await pass(0);
    expect(settled).toBe(0);
    for (let i = 0; i < executorCount; i++) fleet.startExecutor(i);
    for (const one of fleet.executors) for (const each of sources) one.want(each, 8);
    await pass(5_000);
    expect(settled).toBe(replicaCount);
    expect(fleet.executors.map(({ done }) => done > 0)).toEqual([true, true, true]);
    expect(fleet.database.excess).toBeUndefined();
  } finally {
    fleet.close();
  }
});

test('executors that stop while the owner of the slots is gone are not awaited by the next one', async () => {
  const fleet = await openFleet(false);
  try {
    fleet.killReplica(0);
    for (const one of fleet.executors) void one.stop();
    await pass(2_000);
    for (let i = 0; i < executorCount; i++) fleet.startExecutor(i);
    for (const one of fleet.executors) for (const each of sources) one.want(each, 8);
    // The other replica takes over after 15 s.
    await pass(20_000);
    expect(fleet.executors.map(({ done }) => done > 0)).toEqual([true, true, true]);
    expect(fleet.database.excess).toBeUndefined();
  } finally {
    fleet.close();
  }
});
