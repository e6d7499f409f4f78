/** Where the areas of a chart begin and end: at zero, or upon what is stacked below. */

import { type ChartKind, type ChartSeries, isStacked } from './protocol.ts';

export interface Band {
  bottoms: number[];
  tops: (number | null)[];
}

/** Positive values are stacked upwards, negative ones downwards. */
export function bandsOf(series: ChartSeries[], kind: ChartKind): Band[] {
  if (!isStacked(kind)) return series.map(({ values }) => ({ bottoms: values.map(() => 0), tops: values }));
  const up: number[] = [];
  const down: number[] = [];
  return series.map(({ values }) => {
    const bottoms: number[] = [];
    // An area has no gaps: what is missing adds nothing.
    const tops = values.map((value, i) => {
      const stack = (value ?? 0) < 0 ? down : up;
      const bottom = stack[i] ?? 0;
      bottoms.push(bottom);
      stack[i] = bottom + (value ?? 0);
      return value === null && kind === 'stacked-bars' ? null : bottom + (value ?? 0);
    });
    return { bottoms, tops };
  });
}

/** The least and the largest value. */
export function boundsOf(bands: Band[]): [number, number] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { tops } of bands) {
    for (const value of tops) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < from) from = value;
      if (value > to) to = value;
    }
  }
  return from > to ? [0, 1] : [from, to];
}
