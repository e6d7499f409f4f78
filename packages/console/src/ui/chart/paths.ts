/** The paths of bars, stacked areas and points. */

import UPlot from 'uplot';
import type { Band } from './stack.ts';

/** The share of a place along the axis that its bars fill, and the widest bar in pixels. */
const filled = 0.76;
const widthMax = 84;

/** The plot, the index of the series, and the first and the last point to draw. */
type Range = [plot: UPlot, series: number, from: number, to: number];

/** Bars from the bottoms to the tops of `band`: the one at place `at` of those that stand side by side. */
export function barsPath({ bottoms, tops }: Band, { at, of }: { at: number; of: number }) {
  return (...[plot, , from, to]: Range): UPlot.Series.Paths => {
    const fill = new Path2D();
    const xs = plot.data[0];
    const step = Math.abs(plot.valToPos(1, 'x', true) - plot.valToPos(0, 'x', true));
    const all = Math.min(step * filled, widthMax * of * UPlot.pxRatio);
    const width = Math.max(1, all / of);
    const gap = of > 1 && width > 4 ? 1 : 0;
    for (let i = from; i <= to; i++) {
      const top = tops[i];
      if (top === null || top === undefined || !Number.isFinite(top)) continue;
      const left = plot.valToPos(xs[i] as number, 'x', true) - all / 2 + at * width;
      const [y0, y1] = [plot.valToPos(bottoms[i] as number, 'y', true), plot.valToPos(top, 'y', true)];
      fill.rect(left, Math.min(y0, y1), width - gap, Math.abs(y0 - y1));
    }
    return { fill };
  };
}

/** The area between the bottoms and the tops, with a line along the tops. */
export function areaPath({ bottoms, tops }: Band) {
  return (...[plot, , from, to]: Range): UPlot.Series.Paths => {
    const [stroke, fill] = [new Path2D(), new Path2D()];
    const xs = plot.data[0];
    const x = (i: number) => plot.valToPos(xs[i] as number, 'x', true);
    for (let i = from; i <= to; i++) {
      const [left, top] = [x(i), plot.valToPos(tops[i] ?? 0, 'y', true)];
      stroke.lineTo(left, top);
      fill.lineTo(left, top);
    }
    for (let i = to; i >= from; i--) fill.lineTo(x(i), plot.valToPos(bottoms[i] as number, 'y', true));
    return { stroke, fill };
  };
}

/** Squares. Of those at the same pixel, one is drawn: 100,000 points stay fluent. */
export function pointsPath(...[plot, series, from, to]: Range): UPlot.Series.Paths {
  const fill = new Path2D();
  const xs = plot.data[0];
  const ys = plot.data[series] as (number | null)[];
  const size = (to - from > 5_000 ? 2 : 5) * UPlot.pxRatio;
  const seen = new Set<number>();
  for (let i = from; i <= to; i++) {
    const y = ys[i];
    if (y === null || y === undefined) continue;
    const left = Math.round(plot.valToPos(xs[i] as number, 'x', true));
    const top = Math.round(plot.valToPos(y, 'y', true));
    const place = left * 65_536 + top;
    if (seen.has(place)) continue;
    seen.add(place);
    fill.rect(left - size / 2, top - size / 2, size, size);
  }
  return { fill };
}
