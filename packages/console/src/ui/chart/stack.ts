/** Where the areas of a chart begin and end: at zero, or upon what is stacked below. */

import { type ChartKind, type ChartSeries, isStacked } from './protocol.ts';

export interface Band {
  bottoms: number[];
  /** Null for a gap, and undefined where a line goes on to the next value. */
  tops: (number | null | undefined)[];
}

/** Positive values are stacked upwards, negative ones downwards. */
export function bandsOf(series: ChartSeries[], kind: ChartKind): Band[] {
  if (!isStacked(kind)) return series.map(({ values }) => ({ bottoms: values.map(() => 0), tops: values }));
  const up: number[] = [];
  const down: number[] = [];
  /** The places of areas with a NULL, upon which nothing has a known bottom. */
  const unknown = new Set<number>();
  return series.map(({ values }) => {
    const bottoms: number[] = [];
    // A series without a row adds nothing, and neither does a NULL to bars.
    const tops = values.map((value, i) => {
      const stack = (value ?? 0) < 0 ? down : up;
      const bottom = stack[i] ?? 0;
      bottoms.push(bottom);
      stack[i] = bottom + (value ?? 0);
      if (value === null && kind === 'stacked-areas') unknown.add(i);
      return value === null || unknown.has(i) ? null : bottom + (value ?? 0);
    });
    return { bottoms, tops };
  });
}

/** The least and the largest value. */
export function boundsOf(bands: Band[]): [number, number] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { tops } of bands) {
    for (const value of tops) {
      if (value === null || value === undefined || !Number.isFinite(value)) continue;
      if (value < from) from = value;
      if (value > to) to = value;
    }
  }
  return from > to ? [0, 1] : [from, to];
}
