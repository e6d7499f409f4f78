import type { ExecutionReply } from '@datahub/executor-session/executor';
import { type CallContext, CallStop, createCallContext } from '@datahub/service-kit/call/call';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { executeWatch } from '../../src/watches/execute-watch.ts';
import { LargeRuns, RunMemory } from '../../src/watches/run-memory.ts';

const large = 1_000_000;

beforeEach(() => {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
});
afterEach(() => vi.useRealTimers());

/** Whether a promise is settled once all that can go on has gone on. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

it('lets one large run of an account and two of all go on, and small ones always', async () => {
  const places = new LargeRuns();
  const open = (accountId: string, stop = new CallStop()) => {
    const memory = new RunMemory(places, { accountId, mayRepeat: false });
    memory.begin(stop);
    return memory;
  };
  const [first, second] = [open('a'), open('a')];
  await first.keep(large);
  await first.keep(2 * large);
  const waiting = second.keep(large);
  expect(await isSettled(waiting)).toBe(false);
  await open('a').keep(1_000);
  await open('b').keep(large);
  const stop = new CallStop();
  const third = open('c', stop).keep(large);
  expect(await isSettled(third)).toBe(false);
  stop.abort(new Error('the caller left'));
  await expect(third).rejects.toThrow('the caller left');
  first[Symbol.dispose]();
  expect(await isSettled(waiting)).toBe(true);
  // A run that fails while it waits leaves no permit behind.
  const fourth = open('a');
  const late = fourth.keep(large);
  fourth[Symbol.dispose]();
  second[Symbol.dispose]();
  await late;
  await open('a').keep(large);
});

const rows = Buffer.from('{"n":1}\n'.repeat(2_000));

/** An execution that sends many rows. It ends when `end` is called, or when it is stopped. */
interface Execution {
  end(): void;
  isStopped: boolean;
}

function open(places: LargeRuns, accountId: string, mayRepeat = true) {
  const executions: Execution[] = [];
  const execute = (_: object, { signal }: CallContext, reply: ExecutionReply) =>
    new Promise<void>((resolve, reject) => {
      const execution = { end: resolve, isStopped: false };
      executions.push(execution);
      signal.addEventListener('abort', () => {
        execution.isStopped = true;
        reject(signal.reason);
      });
      reply.chunk(rows);
    });
  const memory = new RunMemory(places, { accountId, mayRepeat });
  const settings = { queryId: 'q', contextJson: '', when: 'new', by: [], include: [] };
  const ended = executeWatch({
    settings,
    writes: !mayRepeat,
    dryRun: false,
    before: undefined,
    executor: { execute },
    ctx: createCallContext({ timeoutMs: 3_600_000 }),
    memory,
  } as never).finally(() => memory[Symbol.dispose]());
  const states = () => executions.map(({ isStopped }) => isStopped);
  return { executions, ended, states };
}

it('takes the place of a run whose rows rest, which begins again after those that waited', async () => {
  const places = new LargeRuns();
  const resting = [open(places, 'e'), open(places, 'f')];
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(10_000);
  // Nobody waits for their places.
  expect(resting.map(({ states }) => states())).toEqual([[false], [false]]);
  const other = open(places, 'b');
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(600);
  other.executions[0]?.end();
  expect(await other.ended).toMatchObject({ rows: 2_000 });
  expect(other.states()).toEqual([false]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(resting.map(({ states }) => states())).toEqual([
    [true, false],
    [true, false],
  ]);
  for (const { executions } of resting) executions.at(-1)?.end();
  for (const { ended } of resting) expect(await ended).toMatchObject({ rows: 2_000 });
});

it('keeps its place while no run waits that could have it', async () => {
  const places = new LargeRuns();
  const other = open(places, 'b');
  const busy = Array.from({ length: 10 }, () => open(places, 'a'));
  await new Promise(setImmediate);
  // The rows of all rest, but only those of `a` wait, for the place that `a` has.
  await vi.advanceTimersByTimeAsync(30_000);
  expect(other.states()).toEqual([false]);
  const late = open(places, 'c');
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(600);
  expect([other.states()[0], late.states()]).toEqual([true, [false]]);
  for (const run of [other, late, ...busy]) run.ended.catch(() => {});
});

it('waits a second with its rows, however many runs of another account do', async () => {
  const places = new LargeRuns();
  const runs = [open(places, 'b'), ...Array.from({ length: 12 }, () => open(places, 'a'))];
  await new Promise(setImmediate);
  const other = open(places, 'c');
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(900);
  expect(other.states()).toEqual([false]);
  for (const run of [other, ...runs]) run.ended.catch(() => {});
});

it('lets a run go from its source that does not get a place soon, and begin again when it has one', async () => {
  const places = new LargeRuns();
  const first = open(places, 'a');
  const second = open(places, 'a');
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(1_100);
  expect([first.states(), second.states()]).toEqual([[false], [true]]);
  first.executions[0]?.end();
  await first.ended;
  await expect.poll(() => second.states()).toEqual([true, false]);
  second.executions[1]?.end();
  expect(await second.ended).toMatchObject({ rows: 2_000 });
});

it('lets a run that writes wait, and stops one whose rows rest for a minute', async () => {
  const places = new LargeRuns();
  const first = open(places, 'a', false);
  const second = open(places, 'a', false);
  const failed = expect(first.ended).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(59_000);
  expect([first.states(), second.states()]).toEqual([[false], [false]]);
  await vi.advanceTimersByTimeAsync(2_000);
  await failed;
  expect(first.states()).toEqual([true]);
  second.executions[0]?.end();
  expect(await second.ended).toMatchObject({ rows: 2_000 });
});
