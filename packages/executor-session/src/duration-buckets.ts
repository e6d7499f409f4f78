/**
 * The buckets of a log-linear histogram of durations, as in HdrHistogram: each power of two is divided into
 * `perOctave` equal buckets. The middle of a bucket differs from each duration in it by at most 1/16 (6.25 %), or by
 * 4 µs if that is more.
 */

import type { DurationCounts } from '@datahub/proto/executor/v1/executor';

const perOctave = 8;
const subBits = Math.log2(perOctave);
/** Durations below 2^6 = 64 µs have equal buckets of 8 µs. */
const linearBits = 6;
/** Durations from 2^30 µs (18 minutes) are in the last bucket. No execution may take as long. */
const microsMax = 2 ** 30 - 1;

export const bucketCount = perOctave * (31 - linearBits);

export function bucketOf(ms: number): number {
  const micros = Math.min(Math.max(0, ms * 1_000), microsMax) | 0;
  if (micros < 1 << linearBits) return micros >> (linearBits - subBits);
  const exponent = 31 - Math.clz32(micros);
  return (exponent - linearBits) * perOctave + (micros >> (exponent - subBits));
}

/** The middle of a bucket in milliseconds. */
export function middleOf(bucket: number): number {
  const octave = Math.max(0, (bucket >> subBits) - 1);
  const width = 1 << (octave + linearBits - subBits);
  const within = octave === 0 ? bucket : (bucket & (perOctave - 1)) + perOctave;
  return ((within + 0.5) * width) / 1_000;
}

/** Leaves out empty buckets. */
export function toCounts(counts: ArrayLike<number>, from = 0): DurationCounts {
  const sparse: DurationCounts = { buckets: [], counts: [] };
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const count = counts[from + bucket] as number;
    if (count === 0) continue;
    sparse.buckets.push(bucket);
    sparse.counts.push(count);
  }
  return sparse;
}

export function sumCounts(all: readonly DurationCounts[]): DurationCounts {
  const sums = new Float64Array(bucketCount);
  for (const { buckets, counts } of all)
    for (let i = 0; i < buckets.length; i++) {
      const bucket = buckets[i] as number;
      sums[bucket] = (sums[bucket] as number) + (counts[i] ?? 0);
    }
  return toCounts(sums);
}

/**
 * The shortest bucket that `share` of the durations do not exceed, as its middle in milliseconds; undefined without
 * durations.
 */
export function percentile({ buckets, counts }: DurationCounts, share: number): number | undefined {
  const wanted = share * counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [i, bucket] of buckets.entries()) {
    seen += counts[i] ?? 0;
    if (seen >= wanted) return middleOf(bucket);
  }
  return undefined;
}
