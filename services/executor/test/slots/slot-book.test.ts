import { afterEach, expect, test } from 'vitest';
import { SlotBook, type SlotLink } from '../../src/slots/slot-book.ts';
import type { SlotPool } from '../../src/slots/source-slots.ts';

let book: SlotBook | undefined;
afterEach(() => book?.close());

/** A replica of the catalog that answers nothing. */
function connect() {
  const opened = new SlotBook({ now: () => 0 });
  book = opened;
  const waiting = new Set<() => void>();
  const sought: string[] = [];
  const link = (name: string): SlotLink => ({
    send: () => {},
    beat: () => {},
    restart: () => {},
    seek: () => void sought.push(name),
    wait: (onSilent) => {
      waiting.add(onSilent);
      return () => waiting.delete(onSilent);
    },
  });
  const [owner, other] = [link('owner'), link('other')];
  for (const one of [owner, other]) opened.open(one);
  opened.greeted(owner, { epoch: 1, leaseMs: 60_000 });
  const slots = opened.of({ sourceId: 's', accountId: 'a', max: 2, servers: [] });
  const pool: SlotPool & { refused: number } = {
    waiting: 1,
    refused: 0,
    idleSince: Number.POSITIVE_INFINITY,
    grow: () => {},
    closeIdlest: () => false,
    cut: () => {},
    refuse: () => void pool.refused++,
  };
  slots.enter(pool);
  return { opened, slots, pool, owner, waiting, sought };
}

const isSilent = (waiting: Set<() => void>) => {
  for (const onSilent of waiting) onSilent();
};

test('executions that wait for a first connection are refused if the owner of the slots does not respond', () => {
  const { opened, slots, pool, owner, waiting } = connect();
  slots.take(pool);
  isSilent(waiting);
  expect(pool.refused).toBe(1);
  opened.changed(owner, [{ sourceId: 's', granted: 1, recalled: 0 }]);
  slots.take(pool);
  slots.take(pool);
  isSilent(waiting);
  expect(pool.refused).toBe(1);
});

test('the owner is watched only while something waits for it', () => {
  const { opened, slots, pool, owner, waiting } = connect();
  expect(waiting.size).toBe(0);
  slots.take(pool);
  expect(waiting.size).toBe(1);
  opened.closed(owner);
  expect(waiting.size).toBe(0);
});

test('the other replicas look at once when the owner is lost', () => {
  const { opened, owner, sought } = connect();
  opened.closed(owner);
  expect(sought).toEqual(['other']);
});
