/** Charts, a bundle of its own. Colours come from the custom properties of the page. */

import UPlot from 'uplot';
import { tickTexts } from '../../state/rows/decimals.ts';
import { evenly, stepsFor, tickLabels, twoLines } from './labels.ts';
import { type ChartOptions, colorsMax, isStacked } from './protocol.ts';
import { type Band, bandsOf, boundsOf } from './stack.ts';

/** The value of a custom property. */
type Color = (name: string) => string;

export function drawChart(options: ChartOptions): () => void {
  const { host, kind, x, series, onPoint } = options;
  const style = getComputedStyle(host);
  const color: Color = (name) => style.getPropertyValue(name).trim();
  const xs = x.kind === 'label' ? x.labels.map((_, i) => i) : x.values;
  const bands = bandsOf(series, kind);
  const size = () => ({ width: Math.max(120, host.clientWidth), height: Math.max(90, host.clientHeight) });
  const isBar = kind.endsWith('bars');
  const settings: UPlot.Options = {
    ...size(),
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: x.kind !== 'label' && !options.small, y: false },
      points: { show: !isBar && kind !== 'points' },
    },
    padding: paddingOf(options),
    tzDate: (at: number) => UPlot.tzDate(new Date(at * 1_000), 'Etc/UTC'),
    scales: {
      x: {
        time: x.kind === 'time',
        // The first and the last bar are whole.
        ...(x.kind === 'label' ? { range: [isBar ? -0.5 : -0.2, xs.length - (isBar ? 0.5 : 0.8)] } : {}),
      },
      y: { range: rangeOf(options, bands) },
    },
    series: [{}, ...series.map((_, i) => seriesOf(i, { options, bands, color }))],
    axes: axesOf(options, color),
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? undefined)] },
  };
  const data = [xs, ...bands.map(({ tops }) => tops)] as UPlot.AlignedData;
  const chart = new UPlot(settings, data, host);
  // It reports the size at the start, too.
  const resize = new ResizeObserver(() => chart.setSize(size()));
  resize.observe(host);
  return () => {
    resize.disconnect();
    chart.destroy();
  };
}

function rangeOf({ kind, y }: ChartOptions, bands: Band[]): [number, number] {
  if (y !== undefined) return [y.from, y.to];
  const [from, to] = boundsOf(bands);
  const isFilled = kind !== 'lines' && kind !== 'points';
  // A line that is far from zero would be flat if its scale began there.
  const hasZero = isFilled || (from >= 0 && from < to / 2) || (to <= 0 && to > from / 2);
  const bound = hasZero ? { pad: 0.06, soft: 0, mode: 1 as const } : { pad: 0.06, soft: 0, mode: 0 as const };
  const [low, high] = UPlot.rangeNum(from, to, { min: bound, max: bound });
  return [low ?? 0, high ?? 1];
}

interface Drawing {
  options: ChartOptions;
  bands: Band[];
  color: Color;
}

function seriesOf(i: number, { options, bands, color }: Drawing): UPlot.Series {
  const { kind, x } = options;
  const stroke = color(`--chart-${(i % colorsMax) + 1}`);
  const many = (x.kind === 'label' ? x.labels.length : x.values.length) > 60;
  const band = bands[i] as Band;
  if (kind === 'points')
    return { stroke, fill: stroke, width: 0, points: { show: false }, paths: pointsPath };
  if (kind.endsWith('bars')) {
    const place = isStacked(kind) ? { at: 0, of: 1 } : { at: i, of: bands.length };
    return { stroke, fill: stroke, width: 0, points: { show: false }, paths: barsPath(band, place) };
  }
  const points: UPlot.Series.Points = {
    show: kind === 'lines' && !many,
    // A value between gaps has no line.
    filter: (_plot, _i, show) => (show ? null : lonely(band.tops)),
    fill: color('--bg'),
    size: 5,
  };
  if (kind === 'lines') return { stroke, width: 1.6, points };
  if (isStacked(kind)) {
    const fill = `color-mix(in srgb, ${stroke} 72%, ${color('--bg')})`;
    return { stroke, fill, width: 1, points: { show: false }, paths: areaPath(band) };
  }
  const fill = `color-mix(in srgb, ${stroke} 18%, transparent)`;
  return { stroke, fill, width: 1.4, points, fillTo: 0 };
}

/** The indices of values without a neighbour. Where a series has no row, its line goes on. */
function lonely(values: Band['tops']): number[] {
  const given = [...values.keys()].filter((i) => values[i] !== undefined);
  const isGap = (at: number) => (values[given[at] ?? -1] ?? null) === null;
  return given.filter((_, at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}

/** Room for the first and the last label, which can be wider than their places. */
function paddingOf(options: ChartOptions): [number, number, number, number] {
  const { host, x } = options;
  // Half of the label of a day, which can stand at the end.
  if (x.kind === 'time') return [8, 5 * pixels.character + 3, 0, 0];
  if (x.kind === 'number') return [8, 12, 0, 0];
  const { texts, characters, isTurned } = labelsOf(options);
  const widthAt = (at: number) => Math.min(texts[at]?.length ?? 0, characters) * pixels.character;
  if (isTurned) return [8, 12, 0, Math.max(0, widthAt(0) * turn.share - yAxis.least)];
  const half = host.clientWidth / Math.max(1, texts.length) / 2;
  const right = widthAt(texts.length - 1) / 2 - half;
  return [8, Math.max(12, right), 0, Math.max(0, widthAt(0) / 2 - half - yAxis.least)];
}

function axesOf(options: ChartOptions, color: Color): UPlot.Axis[] {
  const { host, x, y, small, series } = options;
  const incrs = stepsFor(series.map(({ values }) => values));
  const axis = {
    stroke: color('--mute'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style(host)}`,
  };
  const below: UPlot.Axis = { ...axis, grid: { show: false }, size: 40, gap: 4, space: small ? 80 : 60 };
  if (x.kind === 'label') {
    const labels = labelsOf(options);
    const { texts, characters, isTurned } = labels;
    const drawn = (at: number) => cut(texts[at] ?? '', characters);
    if (isTurned) {
      const longest = texts.reduce((most, _, i) => Math.max(most, drawn(i).length), 1);
      below.rotate = turn.degrees;
      below.size = Math.ceil(longest * pixels.character * turn.share) + 18;
    } else {
      const lines = twoLines(texts).some((label) => label.includes('\n')) ? 2 : 1;
      below.size = 14 + lines * pixels.line;
    }
    below.splits = (...[, , from, to]: [UPlot, number, number, number]) =>
      evenly(
        [Math.max(0, Math.ceil(from)), Math.min(texts.length - 1, Math.floor(to))],
        labelsOf(options).most,
      );
    below.values = (_plot, at) =>
      isTurned
        ? at.map(drawn)
        : twoLines(at.map((i) => texts[i] ?? '')).map((label) => cut(label, characters));
  } else if (x.kind === 'time') {
    below.values = (...[, at, , , stepS]: [UPlot, number[], number, number, number]) => tickLabels(at, stepS);
  }
  return [
    below,
    {
      ...axis,
      ...(incrs === undefined ? {} : { incrs }),
      gap: 6,
      space: small ? 34 : 40,
      // The labels of large numbers are long.
      size: (_plot, texts) => Math.max(yAxis.least, ...(texts ?? []).map((text) => text.length * 6.4 + 14)),
      values: (_plot, at) => (y === undefined ? tickTexts(at) : at.map((value) => `${value}${y.unit}`)),
    },
  ];
}

const style = (host: HTMLElement) => getComputedStyle(host).fontFamily;
/** What a character of an axis takes, and what a turned label takes beside the next one. */
const pixels = { character: 6.6, blank: 14, turned: 17, time: 44, line: 13 };
const yAxis = { least: 34 };
const charactersMax = { level: 18, turned: 16, small: 12 };
const turn = { degrees: 45, share: 0.72 };

const cut = (label: string, most: number) =>
  label.length > most && !label.includes('\n') ? `${label.slice(0, most - 1)}…` : label;

/** How the labels below an axis are drawn: all of them, level or turned, or as many as have room. */
interface Labels {
  texts: string[];
  most: number;
  characters: number;
  isTurned: boolean;
}

function labelsOf({ x, host, small }: ChartOptions): Labels {
  const texts = x.kind === 'label' ? x.labels : [];
  const isTime = texts.every((text) => /^\d{4}-\d\d(-\d\d)?$/.test(text));
  const longest = texts.reduce((most, label) => Math.max(most, label.length), 1);
  const room = Math.max(80, host.clientWidth - 60);
  const level = Math.min(small ? charactersMax.small : charactersMax.level, longest);
  const width = isTime ? pixels.time : level * pixels.character + pixels.blank;
  const fits = texts.length * width <= room;
  const isTurned = !fits && !small && !isTime && texts.length * pixels.turned <= room;
  return {
    texts,
    isTurned,
    most: isTurned ? texts.length : Math.max(2, Math.floor(room / width)),
    characters: isTurned ? charactersMax.turned : level,
  };
}

/** The share of a place along the axis that its bars fill, and the widest bar in pixels. */
const filled = 0.76;
const widthMax = 84;

/** The plot, the index of the series, and the first and the last point to draw. */
type Range = [plot: UPlot, series: number, from: number, to: number];

/** Bars from the bottoms to the tops of `band`: the one at place `at` of those that stand side by side. */
function barsPath({ bottoms, tops }: Band, { at, of }: { at: number; of: number }) {
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

/** The areas between the bottoms and the tops, with lines along the tops. A value between gaps is an upright line. */
function areaPath({ bottoms, tops }: Band) {
  return (...[plot, , from, to]: Range): UPlot.Series.Paths => {
    const [stroke, fill] = [new Path2D(), new Path2D()];
    const xs = plot.data[0];
    const x = (i: number) => plot.valToPos(xs[i] as number, 'x', true);
    const y = (value: number) => plot.valToPos(value, 'y', true);
    for (let first = from; first <= to; first++) {
      if (typeof tops[first] !== 'number') continue;
      let last = first;
      while (last < to && typeof tops[last + 1] === 'number') last++;
      const area = new Path2D();
      for (let i = first; i <= last; i++) {
        const top = y(tops[i] as number);
        if (i === first) stroke.moveTo(x(i), top);
        else stroke.lineTo(x(i), top);
        area.lineTo(x(i), top);
      }
      for (let i = last; i >= first; i--) area.lineTo(x(i), y(bottoms[i] as number));
      if (first === last) stroke.lineTo(x(first), y(bottoms[first] as number));
      fill.addPath(area);
      first = last;
    }
    return { stroke, fill };
  };
}

/** Squares. Of those at the same pixel, one is drawn: 100,000 points stay fluent. */
function pointsPath(...[plot, series, from, to]: Range): UPlot.Series.Paths {
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
