/** A chart of the rows: one column below, numbers above it. */

import { useState } from 'preact/hooks';
import type { RowStore } from '../../state/rows/row-store.ts';
import { textOf } from '../../state/rows/scan.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import type { ChartOptions } from '../../ui/chart/protocol.ts';
import { Choice, Tick } from '../../ui/field.tsx';
import { count } from '../../ui/format.ts';

const pointsMax = 20_000;
const timeType = /^(date|time|timestamp|datetime)/i;

export function ChartView({ store, rows }: { store: RowStore; rows: number }) {
  const numeric = store.columns.map((column, i) => ({ ...column, i })).filter(({ numeric }) => numeric);
  const first = Math.max(
    0,
    store.columns.findIndex(({ numeric }) => !numeric),
  );
  const [x, setX] = useState(first);
  // Ids are numbers that nobody draws.
  const drawn = numeric.filter(({ i, name }) => i !== first && !/(^|_)id$/i.test(name));
  const [chosen, setChosen] = useState<number[]>(drawn.slice(-1).map(({ i }) => i));
  const [kind, setKind] = useState<'line' | 'bar'>(rows <= 60 ? 'bar' : 'line');
  const options = store.columns.map(({ name }, i) => [String(i), name] as const);
  return (
    <div class="chart-view">
      <div class="chart-controls">
        <Choice
          label="Across"
          value={String(x)}
          options={options}
          onChange={(value) => setX(Number(value))}
        />
        <Series columns={numeric} chosen={chosen} onChange={setChosen} />
        <Choice
          label="As"
          value={kind}
          options={[
            ['line', 'Lines'],
            ['bar', 'Bars'],
          ]}
          onChange={(value) => setKind(value as 'line' | 'bar')}
        />
        {rows > pointsMax && <p class="hint">The first {count(pointsMax)} rows.</p>}
      </div>
      {numeric.length === 0 && <p class="empty">A chart needs a column of numbers.</p>}
      <Chart
        label={`Chart of ${chosen.map((i) => store.columns[i]?.name).join(', ')} by ${store.columns[x]?.name}`}
        draw={() => (chosen.length === 0 ? undefined : { kind, ...dataOf(store, { x, chosen, rows }) })}
        on={[store, rows, x, chosen, kind]}
      />
    </div>
  );
}

interface SeriesProps {
  columns: { name: string; i: number }[];
  chosen: number[];
  onChange(chosen: number[]): void;
}

function Series({ columns, chosen, onChange }: SeriesProps) {
  const toggle = (i: number) =>
    onChange(chosen.includes(i) ? chosen.filter((one) => one !== i) : [...chosen, i]);
  return (
    <fieldset class="ticks">
      <legend>Up</legend>
      {columns.map(({ name, i }) => (
        <Tick key={name} label={name} checked={chosen.includes(i)} onChange={() => toggle(i)} />
      ))}
    </fieldset>
  );
}

function dataOf(
  store: RowStore,
  { x, chosen, rows }: { x: number; chosen: number[]; rows: number },
): Pick<ChartOptions, 'across' | 'x' | 'series'> {
  const length = Math.min(rows, store.length, pointsMax);
  const labels: string[] = [];
  const series = chosen.map((i) => ({ name: store.columns[i]?.name ?? '', values: [] as (number | null)[] }));
  for (let row = 0; row < length; row++) {
    const cells = store.cells(row);
    labels.push(textOf(cells[x] ?? 'null'));
    for (const [k, i] of chosen.entries()) {
      const cell = cells[i];
      series[k]?.values.push(cell === undefined || cell === 'null' ? null : Number(textOf(cell)));
    }
  }
  const column = store.columns[x];
  const across = column?.name ?? '';
  const isTime =
    timeType.test(column?.type ?? '') && labels.every((label) => !Number.isNaN(Date.parse(label)));
  const values = labels.map((label) => (isTime ? Date.parse(label) / 1_000 : Number(label)));
  // The axis runs from left to right: other orders are labels.
  const rising = values.every(
    (value, i) => !Number.isNaN(value) && (i === 0 || value >= (values[i - 1] as number)),
  );
  if (rising && (isTime || column?.numeric))
    return { x: { kind: isTime ? 'time' : 'number', values }, series, across };
  return { x: { kind: 'label', labels }, series, across };
}
