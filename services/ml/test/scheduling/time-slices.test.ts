import { CallStop } from '@datahub/service-kit/call/call';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTimeSlices, inSlices } from '../../src/scheduling/time-slices.ts';

it('rotates over the accounts, however many slices each requests', async () => {
  const slices = createTimeSlices();
  const order: string[] = [];
  const run = async (accountId: string, count: number) => {
    const work = slices.of(accountId);
    for (let i = 0; i < count; i++) {
      await work.next();
      order.push(accountId);
    }
  };
  await Promise.all([...Array.from({ length: 20 }, () => run('many', 5)), run('one', 3)]);
  expect(order.slice(0, 6)).toEqual(['many', 'one', 'many', 'one', 'many', 'one']);
  expect(order).toHaveLength(103);
});

it('gives one slice in every third turn of the event loop, so that short calls arrive and end between them', async () => {
  const slices = createTimeSlices();
  let turn = 0;
  let running = true;
  const tick = () => {
    turn++;
    if (running) setImmediate(tick);
  };
  tick();
  const turns = await Promise.all(
    ['a', 'b', 'c'].map(async (accountId) => {
      await slices.of(accountId).next();
      return turn;
    }),
  );
  running = false;
  const [first = 0, second = 0, third = 0] = turns;
  expect([second - first, third - second]).toEqual([3, 3]);
});

it('lets calls that arrive together wait for slices once their first ones took 8 ms of the turn', async () => {
  const slices = createTimeSlices();
  let turn = 0;
  const counting = setInterval(() => turn++, 0);
  onTestFinished(() => clearInterval(counting));
  const busy = () => {
    for (const endsAt = performance.now() + 3; performance.now() < endsAt; );
  };
  const turns: number[] = [];
  const use = () => {
    busy();
    turns.push(turn);
  };
  await Promise.all(Array.from({ length: 10 }, () => inSlices(['a text'], slices.of('a'), use)));
  expect(turns).toHaveLength(10);
  expect(turns.filter((of) => of === turns[0]).length).toBeLessThanOrEqual(3);
});

it('rejects work of a disconnected client, before and while it waits', async () => {
  const slices = createTimeSlices();
  const caller = new CallStop();
  const waits = slices.of('a', caller).next();
  caller.abort(new Error('gone'));
  await expect(waits).rejects.toMatchObject({ code: 'CANCELLED' });
  await expect(slices.of('a', caller).next()).rejects.toMatchObject({ code: 'CANCELLED' });
  await slices.of('b').next();
});

it('gives long work slices during a short call that never ends', async () => {
  const slices = createTimeSlices();
  let end: () => void = () => {};
  const short = slices.short(() => new Promise<void>((resolve) => (end = resolve)));
  const long = slices.of('a');
  await long.next();
  await long.next();
  end();
  await short;
});

it('stops pausing long work for a call that is no longer short, such as one that does the work itself', async () => {
  const slices = createTimeSlices();
  const pauses = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => pauses.mockRestore());
  await slices.short(async () => {
    const work = slices.of('a');
    // For the first tenth of a second the call counts as short.
    for (const endsAt = performance.now() + 120; performance.now() < endsAt; ) await work.next();
    expect(pauses).toHaveBeenCalled();
    pauses.mockClear();
    for (let i = 0; i < 200; i++) await work.next();
    expect(pauses).not.toHaveBeenCalled();
  });
});
