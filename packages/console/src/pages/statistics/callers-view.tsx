/** Who executes a query: by key and day of the last 30 days. */

import { useMemo, useState } from 'preact/hooks';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartData } from '../../ui/chart/protocol.ts';
import { Choice } from '../../ui/field.tsx';
import { count, counted } from '../../ui/format.ts';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { type KeyUsage, nameOfKey, partOf, type Usage } from './figures.ts';

const dayMs = 86_400_000;
const dayFormat = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const shown = (day: string) => dayFormat.format(new Date(day));
const keysShownMax = 100;

export function CallersView({ usage }: { usage: Usage }) {
  const [chosen, setChosen] = useState('');
  const { from, keys, totalKeys, users, count: executions } = usage;
  const key = keys.find(({ keyId }) => keyId === chosen);
  const days = useMemo(() => daysOf(usage, key), [usage, key]);
  const data = useMemo(() => chartOf(days), [days]);
  if (executions === 0) {
    return <p class="empty">Nobody has executed it since {shown(from)}. Executions appear within seconds.</p>;
  }
  const byUsers = users === 0 ? '' : ` by about ${counted(users, 'signed-in user')}`;
  const label = `${counted(executions, 'execution')}${byUsers} with ${counted(totalKeys, 'key')} since ${shown(from)}`;
  return (
    <>
      <p class="hint">{label}, in days of UTC. A change of the query reaches these callers.</p>
      {keys.length > 1 && (
        <div class="chart-controls">
          <Choice
            label="Executions with"
            value={chosen}
            options={[
              ['', 'All keys'],
              ...keys.slice(0, keysShownMax).map((one) => [one.keyId, nameOfKey(one)] as const),
            ]}
            onChange={setChosen}
          />
        </div>
      )}
      <div class="callers-chart">
        <Chart label={`Executions by day: ${label}. The table below has all days.`} data={data} />
      </div>
      <Scrolling label="Callers">
        <table class="facts numbers folded">
          <TableHead names={['Key', 'Executions', 'Failed', ...(users === 0 ? [] : ['Users']), 'Last on']} />
          <tbody>
            {keys.slice(0, keysShownMax).map((one) => (
              <tr key={one.keyId}>
                <th scope="row" title={one.keyId}>
                  {nameOfKey(one)}
                </th>
                <td>{count(one.count)}</td>
                <td>{partOf(one.failed, one.count)}</td>
                {users > 0 && <td>{count(one.users)}</td>}
                <td>{shown(one.days.at(-1)?.day ?? from)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {totalKeys > keysShownMax && (
        <p class="hint">
          The {keysShownMax} keys with the most executions of {count(totalKeys)}.
        </p>
      )}
      <DayTable days={days} label={key === undefined ? 'All keys' : nameOfKey(key)} />
    </>
  );
}

interface Day {
  day: string;
  count: number;
  failed: number;
}

/** All days in their order, those without executions too. */
function daysOf({ from, to, keys }: Usage, key: KeyUsage | undefined): Day[] {
  const sums = new Map<string, Day>();
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    sums.set(day, { day, count: 0, failed: 0 });
  }
  for (const { day, count, failed } of (key === undefined ? keys : [key]).flatMap(({ days }) => days)) {
    const sum = sums.get(day);
    if (sum === undefined) continue;
    sum.count += count;
    sum.failed += failed;
  }
  return [...sums.values()];
}

function chartOf(days: Day[]): ChartData {
  const most = Math.max(...days.map(({ count }) => count));
  return {
    kind: 'stacked-bars',
    x: { kind: 'label', labels: days.map(({ day }) => day) },
    series: [
      { name: 'Succeeded', values: days.map(({ count, failed }) => count - failed) },
      { name: 'Failed', values: days.map(({ failed }) => failed) },
    ],
    y: { from: 0, to: Math.max(1, Math.ceil(most * 1.05)), unit: '' },
  };
}

function DayTable({ days, label }: { days: Day[]; label: string }) {
  return (
    <details class="more">
      <summary>Executions by day as a table</summary>
      <Scrolling label="Executions by day">
        <table class="facts numbers">
          <TableHead names={['Day', 'Executions', 'Failed']} />
          <tbody>
            {days.toReversed().map(({ day, count: executions, failed }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td>{count(executions)}</td>
                <td>{partOf(failed, executions)}</td>
              </tr>
            ))}
          </tbody>
          <caption>{label}</caption>
        </table>
      </Scrolling>
    </details>
  );
}
