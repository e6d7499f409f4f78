/** Charts, a bundle of its own. Colours come from the custom properties of the page. */

import UPlot from 'uplot';
import type { ChartOptions } from './protocol.ts';

const colors = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5', '--chart-6'];

export function drawChart(options: ChartOptions): () => void {
  const { host, kind, x, series, y } = options;
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const xs = x.kind === 'label' ? x.labels.map((_, i) => i) : x.values;
  // The legend wraps on a narrow screen.
  const size = () => ({
    width: Math.max(200, host.clientWidth),
    height: Math.max(160, host.clientHeight - (host.querySelector('.u-legend')?.clientHeight ?? 0)),
  });
  const settings: UPlot.Options = {
    ...size(),
    scales: {
      x: {
        time: x.kind === 'time',
        ...(kind === 'bar' && x.kind === 'label' ? { range: (_, a, b) => [a - 0.6, b + 0.6] } : {}),
      },
      ...(y === undefined ? {} : { y: { range: [y.from, y.to] } }),
    },
    series: seriesOf(options, color),
    axes: axesOf(options, color),
  };
  const chart = new UPlot(settings, [xs, ...series.map(({ values }) => values)] as UPlot.AlignedData, host);
  // It reports the size at the start, too, when the legend is there.
  const resize = new ResizeObserver(() => chart.setSize(size()));
  resize.observe(host);
  return () => {
    resize.disconnect();
    chart.destroy();
  };
}

/** The value of a custom property. */
type Color = (name: string) => string;

function seriesOf({ kind, across, x, series, y }: ChartOptions, color: Color): UPlot.Series[] {
  const points = x.kind === 'label' ? x.labels.length : x.values.length;
  const bars = kind === 'bar' ? UPlot.paths.bars?.({ size: [0.6, 60], align: 0 }) : undefined;
  return [
    {
      label: across,
      ...(x.kind === 'label'
        ? { value: (_: UPlot, i: number | null) => (i === null ? '' : (x.labels[i] ?? '')) }
        : {}),
    },
    ...series.map(({ name }, i) => {
      const stroke = color(colors[i % colors.length] as string);
      return {
        label: name,
        stroke,
        width: 1.6,
        points: { show: kind === 'line' && points < 80, fill: color('--bg') },
        ...(y === undefined ? {} : { value: (_: UPlot, value: number | null) => withUnit(value, y.unit) }),
        ...(bars === undefined
          ? {}
          : { paths: bars, fill: `color-mix(in srgb, ${stroke} 55%, transparent)` }),
      };
    }),
  ];
}

function axesOf({ host, x, y }: ChartOptions, color: Color): UPlot.Axis[] {
  const axis = {
    stroke: color('--mute'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line') },
  };
  return [
    {
      ...axis,
      ...(x.kind === 'label'
        ? {
            splits: (...[, , from, to]: [UPlot, number, number, number]) =>
              ticks(from, to, host.clientWidth / 90),
            values: (_: UPlot, at: number[]) => at.map((i) => cut(x.labels[i] ?? '')),
          }
        : {}),
    },
    {
      ...axis,
      // The labels of large numbers are long.
      size: (_: UPlot, labels: string[] | null) =>
        Math.max(50, ...(labels ?? []).map((label) => label.length * 7 + 20)),
      ...(y === undefined
        ? {}
        : { values: (_: UPlot, at: number[]) => at.map((value) => withUnit(value, y.unit)) }),
    },
  ];
}

const withUnit = (value: number | null, unit: string) => (value === null ? '–' : `${value}${unit}`);
const cut = (label: string) => (label.length > 14 ? `${label.slice(0, 13)}…` : label);

/** Whole numbers between the bounds, at most as many as there is room for. */
function ticks(from: number, to: number, most: number): number[] {
  const [first, last] = [Math.ceil(from), Math.floor(to)];
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const found: number[] = [];
  for (let at = Math.max(0, first); at <= last; at += step) found.push(at);
  return found;
}
