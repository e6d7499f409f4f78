import { expect, it } from 'vitest';
import { type PendingCall, takeBatch } from '../../src/classifiers/train-batch.ts';

const callOf = (count: number, text: string): PendingCall => ({
  eventId: `${count}`,
  examples: Array.from({ length: count }, () => ({ label: 'a', text })),
  resolve: () => {},
  reject: () => {},
});

it('takes at most some 20,000 short examples for an event, and a longer call alone', () => {
  const counts = (pending: PendingCall[]) => takeBatch(pending).map(({ eventId }) => Number(eventId));
  const pending = [...Array.from({ length: 1_000 }, () => callOf(100, 'b')), callOf(30_000, 'b')];
  const first = counts(pending);
  expect(100 * first.length).toBeGreaterThan(15_000);
  expect(100 * first.length).toBeLessThanOrEqual(20_000);
  while (pending.length > 1) expect(counts(pending).length).toBeLessThanOrEqual(first.length);
  expect(counts(pending)).toEqual([30_000]);
});

it('takes calls up to 4,000,000 characters for an event', () => {
  const pending = [
    callOf(1, 'b'.repeat(3_000_000)),
    callOf(1, 'b'.repeat(990_000)),
    callOf(1, 'b'.repeat(20_000)),
  ];
  expect(takeBatch(pending)).toHaveLength(2);
  expect(takeBatch(pending)).toHaveLength(1);
});
