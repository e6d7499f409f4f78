import { expect, it } from 'vitest';
import { SnapshotSchedule } from '../../../src/classifiers/log/event-log.ts';
import type { EventDoc } from '../../../src/documents.ts';

const event = (count: number): EventDoc => ({
  ...{ id: 'e', accountId: 'a', version: 1, at: 0 },
  calls: [{ eventId: 'c', examples: Array(count).fill({ classId: 'c', text: 't' }) }],
});

it.each([
  [0, 600],
  [30_000, 600],
  [100_000, 2_000],
  [10_000_000, 3_000],
])('with %i examples in all, a snapshot is due after each %i', (all, every) => {
  const schedule = new SnapshotSchedule();
  for (let round = 0; round < 2; round++) {
    expect(schedule.isDueAfter(event(every - 1), all)).toBe(false);
    expect(schedule.isDueAfter({ ...event(0), calls: undefined } as never, all)).toBe(false);
    expect(schedule.isDueAfter(event(1), all)).toBe(true);
  }
});

it('is due after fewer long examples', () => {
  const schedule = new SnapshotSchedule();
  const long = { ...event(10), characters: 150_000 };
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 9; i++) expect(schedule.isDueAfter(long, 400)).toBe(false);
    expect(schedule.isDueAfter(long, 400)).toBe(true);
  }
});
