import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketCount, bucketOf, middleOf, percentile, sumCounts, toCounts } from '../src/duration-buckets.ts';

/** Milliseconds, as likely to be microseconds as minutes. */
const duration = fc.double({ min: -4, max: 6, noNaN: true }).map((exponent) => 10 ** exponent);
const longestMs = 2 ** 30 / 1_000;

const errorMax = (ms: number) => Math.max(ms / 16, 0.004) + 0.000_5;

test('the middle of a bucket is at most 6.25 % or 4 µs away from each of its durations', () => {
  fc.assert(
    fc.property(duration, (ms) => {
      const bucket = bucketOf(ms);
      expect(bucket).toBeGreaterThanOrEqual(0);
      expect(bucket).toBeLessThan(bucketCount);
      if (ms < longestMs) expect(Math.abs(middleOf(bucket) - ms)).toBeLessThanOrEqual(errorMax(ms));
    }),
    { numRuns: 20_000 },
  );
});

test('longer durations have no lower bucket, and every bucket is used', () => {
  const used = new Set<number>();
  let last = 0;
  for (let ms = 0; ms < 2 * longestMs; ms = ms * 1.01 + 0.001) {
    const bucket = bucketOf(ms);
    expect(bucket).toBeGreaterThanOrEqual(last);
    used.add(bucket);
    last = bucket;
  }
  expect(used.size).toBe(bucketCount);
  expect([bucketOf(-1), bucketOf(Number.POSITIVE_INFINITY)]).toEqual([0, bucketCount - 1]);
});

function countsOf(durations: readonly number[]) {
  const counts = new Float64Array(bucketCount);
  for (const ms of durations) {
    const bucket = bucketOf(ms);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return toCounts(counts);
}

test('a percentile is that of the sorted durations within the error, also after merging', () => {
  const some = fc.array(duration, { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(some, some, fc.constantFrom(0.5, 0.95, 0.99, 1), (a, b, share) => {
      const sorted = [...a, ...b].filter((ms) => ms < longestMs).sort((x, y) => x - y);
      if (sorted.length === 0) return;
      const exact = sorted[Math.ceil(share * sorted.length - 1e-9) - 1] as number;
      const merged = sumCounts([countsOf(a.filter((ms) => ms < longestMs)), countsOf(b)]);
      if (b.some((ms) => ms >= longestMs)) return;
      expect(merged).toEqual(countsOf(sorted));
      expect(Math.abs((percentile(merged, share) as number) - exact)).toBeLessThanOrEqual(errorMax(exact));
    }),
  );
  expect(percentile({ buckets: [], counts: [] }, 0.5)).toBeUndefined();
});
