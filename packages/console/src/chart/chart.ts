/** Charts, a bundle of its own. Colours come from the custom properties of the page. */

import UPlot from 'uplot';
import type { ChartOptions } from './protocol.ts';

const colors = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5', '--chart-6'];

export function drawChart({ host, kind, across, x, series }: ChartOptions): () => void {
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--mute'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line') },
  };
  const xs = x.kind === 'label' ? x.labels.map((_, i) => i) : x.values;
  const bars = kind === 'bar' ? UPlot.paths.bars?.({ size: [0.6, 60], align: 0 }) : undefined;
  const size = () => ({
    width: Math.max(200, host.clientWidth),
    height: Math.max(160, host.clientHeight - 34),
  });
  const options: UPlot.Options = {
    ...size(),
    scales: {
      x: {
        time: x.kind === 'time',
        ...(kind === 'bar' && x.kind === 'label' ? { range: (_, a, b) => [a - 0.6, b + 0.6] } : {}),
      },
    },
    series: [
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
          points: { show: kind === 'line' && xs.length < 80 },
          ...(bars === undefined
            ? {}
            : { paths: bars, fill: `color-mix(in srgb, ${stroke} 55%, transparent)` }),
        };
      }),
    ],
    axes: [
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
      { ...axis, size: 70 },
    ],
  };
  const chart = new UPlot(options, [xs, ...series.map(({ values }) => values)] as UPlot.AlignedData, host);
  const resize = new ResizeObserver(() => chart.setSize(size()));
  resize.observe(host);
  return () => {
    resize.disconnect();
    chart.destroy();
  };
}

const cut = (label: string) => (label.length > 14 ? `${label.slice(0, 13)}…` : label);

/** Whole numbers between the bounds, at most as many as there is room for. */
function ticks(from: number, to: number, most: number): number[] {
  const [first, last] = [Math.ceil(from), Math.floor(to)];
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const found: number[] = [];
  for (let at = Math.max(0, first); at <= last; at += step) found.push(at);
  return found;
}
