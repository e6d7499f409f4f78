/** How a query is used: its calls, errors and times, and who calls it. */

import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartData } from '../../ui/chart/protocol.ts';
import { bytes, count, counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { CallersView } from './callers-view.tsx';
import { type Figures, partOf, type QueryStatistics, time, type Usage, type Window } from './figures.ts';
import { FleetNote } from './fleet-note.tsx';
import { VersionsTable } from './versions-table.tsx';

export function StatisticsView({ queryId }: { queryId: string }) {
  const path = `v1/queries/${part(queryId)}`;
  const figures = useLoad((signal) => callJson<QueryStatistics>(`${path}/stats`, { signal }), [queryId]);
  const usage = useLoad((signal) => callJson<Usage>(`${path}/usage`, { signal }), [queryId]);
  const refresh = () => {
    figures.refresh();
    usage.refresh();
  };
  return (
    <div class="page statistics">
      <div class="statistics-bar">
        <h2>Calls</h2>
        <span class="spring" />
        <button type="button" onClick={refresh} disabled={figures.loading || usage.loading}>
          <Icon name="refresh" /> Refresh
        </button>
      </div>
      <Shown of={figures} what="the statistics">
        {(statistics) => <Calls statistics={statistics} />}
      </Shown>
      <h2>Callers</h2>
      <Shown of={usage} what="the callers">
        {(value) => <CallersView usage={value} />}
      </Shown>
    </div>
  );
}

function Calls({ statistics }: { statistics: QueryStatistics }) {
  const { queryId, lastHour, sinceStart, windows, executors } = statistics;
  const versions = statistics.versions.filter((one) => one.count > 0);
  return (
    <>
      {sinceStart.count === 0 && executors.length > 0 ? (
        <p class="empty">
          It was not called since the hub started.
          {sinceStart.consoleCount > 0 &&
            ` The console ran it ${counted(sinceStart.consoleCount, 'time')}, which is not counted as calls.`}
        </p>
      ) : (
        <div class="statistics-tables">
          <CountTable lastHour={lastHour} sinceStart={sinceStart} />
          <TimeTable period="Last hour" figures={lastHour} />
          <TimeTable period="Since the start" figures={sinceStart} />
        </div>
      )}
      {sinceStart.count > 0 && (
        <p class="hint">p95: of 100 calls, 95 took no longer. Queue: the wait for a connection.</p>
      )}
      <FleetNote fleet={statistics} />
      <WindowsView windows={windows} />
      {versions.length > 0 && (
        <>
          <h2>Versions</h2>
          <VersionsTable queryId={queryId} versions={versions} />
          <p class="hint">These versions were called since the hub started: the five latest at most.</p>
        </>
      )}
    </>
  );
}

type Both = Pick<QueryStatistics, 'lastHour' | 'sinceStart'>;

function CountTable({ lastHour, sinceStart }: Both) {
  const row = (name: ComponentChildren, show: (figures: Figures) => string) => (
    <tr>
      <th scope="row">{name}</th>
      <td>{show(lastHour)}</td>
      <td>{show(sinceStart)}</td>
    </tr>
  );
  const failures = ({ errors }: Figures, code: string) =>
    errors.find((error) => error.code === code)?.count ?? 0;
  return (
    <Scrolling label="Numbers of calls">
      <table class="facts numbers">
        <TableHead names={['Figure', 'Last hour', 'Since the start']} />
        <tbody>
          {row('Calls', (figures) => count(figures.count))}
          {sinceStart.consoleCount > 0 &&
            row('Run in the console, not counted above', (figures) => count(figures.consoleCount))}
          {row('From the cache', (figures) => partOf(figures.cacheHits, figures.count))}
          {row('Rows', ({ rows }) => count(rows))}
          {row('Data', (figures) => bytes(figures.bytes))}
          {row('Failed', (figures) => partOf(figures.failed, figures.count))}
          {sinceStart.errors.map(({ code }) =>
            row(<code class="statistics-code">{code}</code>, (figures) => count(failures(figures, code))),
          )}
        </tbody>
      </table>
    </Scrolling>
  );
}

const measures = [
  ['totalMs', 'Total'],
  ['queueMs', 'Queue'],
  ['databaseMs', 'Database'],
] as const;
const shares = ['p50', 'p95', 'p99'] as const;

function TimeTable({ period, figures }: { period: string; figures: Figures }) {
  return (
    <Scrolling label={`Times of calls: ${period}`}>
      <table class="facts numbers">
        <TableHead names={[period, ...shares]} />
        <tbody>
          {measures.map(([measure, label]) => (
            <tr key={measure}>
              <th scope="row">{label}</th>
              {shares.map((name) => (
                <td key={name}>{time(figures[measure]?.[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const shown = (start: string) => clock.format(new Date(start));

function WindowsView({ windows }: { windows: Window[] }) {
  const { calls, times } = useMemo(() => chartsOf(windows), [windows]);
  if (windows.every((one) => one.count === 0)) return null;
  return (
    <>
      <h2>The last hour</h2>
      <div class="windows">
        <WindowChart caption="Calls in five minutes" what="Calls" data={calls} />
        <WindowChart caption="Time of a call" what="Times" data={times} />
      </div>
      <WindowTable windows={windows} />
    </>
  );
}

function WindowChart({ caption, what, data }: { caption: string; what: string; data: ChartData }) {
  const label = `${what} of the last hour, in windows of five minutes. The table below has all.`;
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <Chart label={label} data={data} />
    </figure>
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
      y: { from: 0, to: Math.max(1, Math.ceil(most * 1.05)), unit: '' },
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
        <table class="facts numbers folded">
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
