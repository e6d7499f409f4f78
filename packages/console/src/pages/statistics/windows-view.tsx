/** The last hour of a query over time: its calls, its failures and its p95. */

import { useMemo } from 'preact/hooks';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartData } from '../../ui/chart/protocol.ts';
import { count } from '../../ui/format.ts';
import { Scrolling, TableHead } from '../../ui/page.tsx';
import { partOf, time, type Window } from './figures.ts';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const shown = (start: string) => clock.format(new Date(start));

export function WindowsView({ windows }: { windows: Window[] }) {
  const { calls, times } = useMemo(() => chartsOf(windows), [windows]);
  if (windows.every((one) => one.count === 0)) return null;
  return (
    <>
      <h2>The last hour</h2>
      <div class="windows">
        <figure>
          <figcaption>Calls in five minutes</figcaption>
          <Chart
            label="Calls of the last hour, in windows of five minutes. The table below has all."
            data={calls}
          />
        </figure>
        <figure>
          <figcaption>Time of a call</figcaption>
          <Chart
            label="Times of the last hour, in windows of five minutes. The table below has all."
            data={times}
          />
        </figure>
      </div>
      <WindowTable windows={windows} />
    </>
  );
}

function chartsOf(windows: Window[]): { calls: ChartData; times: ChartData } {
  const x = { kind: 'label', labels: windows.map(({ start }) => shown(start)) } as const;
  const most = Math.max(...windows.map((one) => one.count));
  const slowest = Math.max(0.1, ...windows.map(({ totalMs }) => totalMs?.p95 ?? 0));
  return {
    calls: {
      kind: 'stacked-bars',
      x,
      series: [
        { name: 'Succeeded', values: windows.map((one) => one.count - one.failed) },
        { name: 'Failed', values: windows.map(({ failed }) => failed) },
      ],
      // A lower scale would have parts of calls.
      y: { from: 0, to: Math.max(5, Math.ceil(most * 1.05)), unit: '' },
    },
    times: {
      kind: 'lines',
      x,
      series: [
        { name: 'p95', values: windows.map(({ totalMs }) => totalMs?.p95 ?? null) },
        { name: 'p50', values: windows.map(({ totalMs }) => totalMs?.p50 ?? null) },
      ],
      y: { from: 0, to: slowest * 1.1, unit: ' ms' },
    },
  };
}

function WindowTable({ windows }: { windows: Window[] }) {
  return (
    <details class="more">
      <summary>The last hour as a table</summary>
      <Scrolling label="Calls in five minutes">
        <table class="facts numbers">
          <TableHead names={['From', 'Calls', 'Failed', 'p50', 'p95', 'p99']} />
          <tbody>
            {windows.toReversed().map(({ start, count: calls, failed, totalMs }) => (
              <tr key={start}>
                <th scope="row">{shown(start)}</th>
                <td>{count(calls)}</td>
                <td>{partOf(failed, calls)}</td>
                <td>{time(totalMs?.p50)}</td>
                <td>{time(totalMs?.p95)}</td>
                <td>{time(totalMs?.p99)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </details>
  );
}
