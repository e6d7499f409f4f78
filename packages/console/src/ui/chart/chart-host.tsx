/** The place of a chart, with its legend. Its bundle is loaded with the first chart. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { theme } from '../../state/theme.ts';
import { figure, percent } from '../format.ts';
import { timeLabels } from './labels.ts';
import { type ChartAxis, type ChartData, type ChartModule, colorsMax, isStacked } from './protocol.ts';

interface ChartProps {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** The same object as long as the chart stays the same. Undefined if there is nothing to draw. */
  data: ChartData | undefined;
  /** A table beside the chart, a line below it, or none. */
  legend?: 'beside' | 'below' | 'none';
  small?: boolean;
  /** What runs along the axis. */
  across?: string;
}

export function Chart({ label, data, legend = 'below', small = false, across = '' }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    const element = host.current;
    setAt(undefined);
    if (element === null || data === undefined) return;
    let close: (() => void) | undefined;
    let current = true;
    const load = async () => {
      const { drawChart }: ChartModule = await import(/* @vite-ignore */ addressOf('console/chart.js'));
      if (current) close = drawChart({ ...data, host: element, small, onPoint: setAt });
    };
    load().catch(() => setFailed(true));
    return () => {
      current = false;
      close?.();
    };
  }, [data, small, theme.value]);
  return (
    <div class={`chart-place ${legend}`}>
      {failed && <p class="empty">The chart could not be loaded. Reload the page.</p>}
      <div class="chart" ref={host} role="img" aria-label={label} />
      {data !== undefined && legend === 'beside' && <LegendTable data={data} at={at} across={across} />}
      {data !== undefined && legend === 'below' && <LegendLine data={data} at={at} />}
    </div>
  );
}

const Swatch = ({ i }: { i: number }) => (
  <i class={`swatch color-${(i % colorsMax) + 1}`} aria-hidden="true" />
);

function placeName(x: ChartAxis, at: number): string {
  if (x.kind === 'label') return x.labels[at] ?? '';
  const value = x.values[at] ?? 0;
  return x.kind === 'time' ? (timeLabels([value])[0] ?? '') : figure(value);
}

interface LegendProps {
  data: ChartData;
  at: number | undefined;
}

/** The values at the pointer; without one, the last values. */
function LegendTable({ data: { kind, x, series }, at, across }: LegendProps & { across: string }) {
  const length = x.kind === 'label' ? x.labels.length : x.values.length;
  const place = Math.min(at ?? length - 1, length - 1);
  const rows = series.map(({ name, values }, i) => ({ name, i, value: values[place] ?? null }));
  const sum = rows.reduce((total, { value }) => total + (value ?? 0), 0);
  const hasShare =
    isStacked(kind) && series.length > 1 && rows.every(({ value }) => (value ?? 0) >= 0) && sum > 0;
  return (
    <table class="facts numbers legend">
      <caption class="sr-only">Values at {placeName(x, place)}</caption>
      <thead>
        <tr>
          <th scope="col" colSpan={hasShare ? 3 : 2}>
            <span class="note">{across}</span> {placeName(x, place)}
          </th>
        </tr>
      </thead>
      <tbody>
        {/* In the order in which they are stacked. */}
        {(isStacked(kind) ? rows.toReversed() : rows).map(({ name, i, value }) => (
          <tr key={name}>
            <th scope="row" title={name}>
              <Swatch i={i} /> {name === '' ? 'empty text' : name}
            </th>
            <td>{value === null ? '–' : figure(value)}</td>
            {hasShare && <td class="note">{percent((value ?? 0) / sum)}</td>}
          </tr>
        ))}
      </tbody>
      {hasShare && (
        <tfoot>
          <tr>
            <th scope="row">all</th>
            <td>{figure(sum)}</td>
            <td class="note">100 %</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function LegendLine({ data: { x, series, y }, at }: LegendProps) {
  return (
    <p class="legend-line">
      {series.map(({ name, values }, i) => {
        const value = at === undefined ? undefined : values[at];
        return (
          <span key={name}>
            <Swatch i={i} /> {name}
            {value !== undefined && value !== null && <b> {`${figure(value)}${y?.unit ?? ''}`}</b>}
          </span>
        );
      })}
      {at !== undefined && <span class="note">{placeName(x, at)}</span>}
    </p>
  );
}
