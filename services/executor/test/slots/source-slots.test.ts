import { beforeEach, expect, test } from 'vitest';
import { type SlotPool, SourceSlots } from '../../src/slots/source-slots.ts';

/** A pool that opens nothing, with `waiting` executions. */
class Queue implements SlotPool {
  waiting = 0;
  readonly idleSince = Number.POSITIVE_INFINITY;
  grow(): void {}
  closeIdlest(): boolean {
    return false;
  }
  cut(): void {}
  refuse(): void {
    this.waiting = 0;
  }
}

let told: { wanted: number; returned: number }[];
let pool: Queue;
let slots: SourceSlots;

beforeEach(() => {
  told = [];
  pool = new Queue();
  slots = new SourceSlots(
    { sourceId: 's', accountId: 'a', max: 10, servers: [] },
    {
      isUnlimited: false,
      isConnected: true,
      endsAt: Number.POSITIVE_INFINITY,
      checkAwake: () => true,
      tell: ({ wanted }, returned) => void told.push({ wanted, returned }),
      watch: () => {},
      now: () => 0,
    },
  );
  slots.enter(pool);
});

/** Executions arrive and end, as in a turn of the event loop. */
function take(waiting: number): void {
  pool.waiting = waiting;
  slots.take(pool);
}

test('it asks at once when more executions wait, at most for a lot', () => {
  for (const waiting of [1, 3, 9]) take(waiting);
  expect(told.map(({ wanted }) => wanted)).toEqual([1, 3, 4]);
});

test('a queue that gets longer and shorter between two ticks costs no message', () => {
  take(4);
  told.length = 0;
  for (let turn = 0; turn < 100; turn++) {
    for (const waiting of [1, 3, 4, 2]) take(waiting);
    slots.tick();
  }
  expect(told).toEqual([]);
});

test('a shorter queue asks for less after the tick in which it was as long, and an empty one for nothing', () => {
  take(4);
  pool.waiting = 2;
  slots.tick();
  expect(told.at(-1)?.wanted).toBe(4);
  slots.tick();
  expect(told.at(-1)?.wanted).toBe(2);
  pool.waiting = 0;
  expect(slots.tick()).toBe(false);
  expect(told.map(({ wanted }) => wanted)).toEqual([4, 2, 0]);
});

test('it does not ask again for what was granted', () => {
  take(4);
  slots.change({ granted: 4, recalled: 0 });
  for (let i = 0; i < 4; i++) slots.take(pool);
  pool.waiting = 0;
  slots.tick();
  slots.tick();
  expect(slots.used).toBe(4);
  expect(told).toEqual([{ wanted: 4, returned: 0 }]);
});

test('a connection that was being opened when the lease ended leaves no slot, unless a report has claimed it again', () => {
  take(2);
  slots.change({ granted: 2, recalled: 0 });
  for (let i = 0; i < 2; i++) slots.take(pool);
  slots.cut();
  slots.give();
  expect(slots.free).toBe(0);
  expect(slots.take(pool)).toBe(false);
  expect(slots.report().held).toBe(1);
  slots.give();
  expect(slots.free).toBe(1);
});

test('executions are refused if no slot can be had soon, unless the source has a connection', () => {
  take(2);
  slots.change({ granted: 1, recalled: 0 });
  slots.take(pool);
  slots.change({ granted: 0, recalled: 0, blocked: true });
  expect(pool.waiting).toBe(2);
  slots.give();
  slots.cut();
  take(2);
  slots.change({ granted: 0, recalled: 0, blocked: true });
  expect(pool.waiting).toBe(0);
});
