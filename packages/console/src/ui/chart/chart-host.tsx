/** The place of a chart, with its legend. Its bundle is loaded with the first chart. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../../api/client.ts';
import { grouped } from '../../state/rows/scan.ts';
import { isDark } from '../../state/theme.ts';
import { placeName, stackOf, valueText } from './legend.ts';
import { type ChartData, type ChartModule, colorsMax, isStacked } from './protocol.ts';

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
  }, [data, small, isDark.value]);
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

interface LegendProps {
  data: ChartData;
  at: number | undefined;
}

/** The values at the pointer; without one, the last values. */
function LegendTable({ data, at, across }: LegendProps & { across: string }) {
  const { kind, x, series } = data;
  const length = x.kind === 'label' ? x.labels.length : x.values.length;
  const place = Math.min(at ?? length - 1, length - 1);
  const rows = series.map((one, i) => ({ name: one.name, i, text: valueText(one, place) }));
  const stack = stackOf(data, place);
  return (
    <table class="facts numbers legend">
      <caption class="sr-only">Values at {placeName(x, place)}</caption>
      <thead>
        <tr>
          <th scope="col" colSpan={stack === undefined ? 2 : 3}>
            <span class="note">{across}</span> {placeName(x, place)}
          </th>
        </tr>
      </thead>
      <tbody>
        {/* In the order in which they are stacked. */}
        {(isStacked(kind) ? rows.toReversed() : rows).map(({ name, i, text }) => (
          <tr key={name}>
            <th scope="row" title={name}>
              <Swatch i={i} /> {name === '' ? 'empty text' : name}
            </th>
            <td>{text ?? '–'}</td>
            {stack !== undefined && <td class="note">{stack.shares[i]}</td>}
          </tr>
        ))}
      </tbody>
      {stack !== undefined && (
        <tfoot>
          <tr>
            <th scope="row">sum</th>
            <td>{grouped(stack.sum)}</td>
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
      {series.map((one, i) => {
        const text = at === undefined ? undefined : valueText(one, at);
        return (
          <span key={one.name}>
            {/* A chart of one series names it in its title. */}
            {(series.length > 1 || text !== undefined) && <Swatch i={i} />} {series.length > 1 && one.name}
            {text !== undefined && <b> {`${text}${one.texts === undefined ? (y?.unit ?? '') : ''}`}</b>}
          </span>
        );
      })}
      {at !== undefined && <span class="note">{placeName(x, at)}</span>}
    </p>
  );
}
