/** A pinned query: its chart, its number or its first rows. */

import type { ComponentChild } from 'preact';
import type { Problem, Query } from '../../api/types.ts';
import { linkTo } from '../../state/route.ts';
import { drawnText } from '../../state/rows/drawn.ts';
import type { GridColumn, RowStore } from '../../state/rows/row-store.ts';
import { textOf } from '../../state/rows/scan.ts';
import { Chart } from '../../ui/chart/chart-host.tsx';
import { defaultChart, missingText, storedChart } from '../../ui/chart/defaults.ts';
import type { ChartSettings } from '../../ui/chart/shape.ts';
import { useShaped } from '../../ui/chart/use-shaped.ts';
import { drawnName, leftOf } from '../../ui/chart/words.ts';
import { count, counted, exactMoment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { wordsOfProblem } from '../../ui/problem-words.ts';
import { BigNumber } from '../query/big-number.tsx';
import { type CardValues, readCard } from './cards.ts';
import { ignoredBy } from './pinned.ts';

const rowsShown = 5;
const columnsShown = 4;
const largeShown = { rows: 14, columns: 8 };

interface CardProps {
  query: Query;
  values: CardValues;
  /** The card is read again when it changes. */
  turn: number;
  /** True if there is room for axes and more rows. */
  isLarge?: boolean;
}

export function Card({ query, values, turn, isLarge = false }: CardProps) {
  const { label, hubId } = query.meta;
  const { queryId } = query.config.query;
  const { value, problem, loading } = useLoad(
    (signal) => readCard(query, values, signal),
    [queryId, JSON.stringify(values), turn],
  );
  const ignored = ignoredBy(query, values);
  const notes = [
    value?.cachedAt === undefined ? '' : `as of ${exactMoment(value.cachedAt)}`,
    value?.cutBy === undefined ? '' : `first ${count(value.store.length)} rows: ${value.cutBy}`,
    ignored.length === 0 ? '' : `ignores ${ignored.join(', ')}`,
  ].filter((note) => note !== '');
  return (
    <div class="card pinned-card" aria-busy={loading}>
      <div class="card-head">
        <a href={linkTo('hub', hubId, 'query', queryId)} title={label}>
          {label}
        </a>
        {notes.length > 0 && <span class="note">{notes.join(' · ')}</span>}
      </div>
      {problem !== undefined && (
        <p class="card-problem" role="alert">
          {saidOf(problem)}
        </p>
      )}
      {value === undefined && problem === undefined && <p class="note">Running …</p>}
      {value !== undefined && value.store.length === 0 && <p class="note">No rows.</p>}
      {value !== undefined && value.store.length > 0 && (
        <Drawn
          store={value.store}
          label={label}
          stored={query.config.presentation?.chart}
          isLarge={isLarge}
        />
      )}
    </div>
  );
}

/** The first fault, with the name of its variable. */
function saidOf(problem: Problem): string {
  const { text, faults } = wordsOfProblem(problem);
  return faults[0] ?? (text || 'It could not be read.');
}

interface DrawnProps {
  store: RowStore;
  label: string;
  stored: unknown;
  isLarge: boolean;
}

function Drawn({ store, label, stored, isLarge }: DrawnProps) {
  const saved = storedChart(stored, store);
  // Another chart in place of the saved one would be taken for it.
  if (saved !== undefined && 'missing' in saved) return <p class="note">{missingText(saved.missing)}</p>;
  const settings = saved?.settings ?? defaultChart(store);
  if (settings === undefined) return <FirstRows store={store} isLarge={isLarge} />;
  if (settings.kind === 'number') return <BigNumber store={store} turn={0} settings={settings} />;
  return <SmallChart store={store} label={label} settings={settings} isLarge={isLarge} />;
}

interface SmallChartProps {
  store: RowStore;
  label: string;
  settings: ChartSettings;
  isLarge: boolean;
}

function SmallChart({ store, label, settings, isLarge }: SmallChartProps) {
  const shaped = useShaped(store, 0, settings);
  const name = `${drawnName(settings, shaped?.repeats === true)} by ${settings.x}`;
  const left = shaped === undefined ? [] : leftOf(shaped, settings);
  return (
    <>
      <p class="card-drawn" title={name}>
        {name}
      </p>
      {left.length > 0 && <p class="card-left">{left.join(' ')}</p>}
      <Chart
        label={`${label}: ${name}`}
        data={shaped}
        small={!isLarge}
        legend={shaped === undefined ? 'none' : 'below'}
      />
    </>
  );
}

function FirstRows({ store, isLarge }: { store: RowStore; isLarge: boolean }) {
  const columns = store.columns.slice(0, isLarge ? largeShown.columns : columnsShown);
  const shown = isLarge ? largeShown.rows : rowsShown;
  const rows = Array.from({ length: Math.min(shown, store.length) }, (_, row) => [...store.cells(row)]);
  const left = [
    store.length > rows.length ? `first ${count(rows.length)} of ${counted(store.length, 'row')}` : '',
    store.columns.length > columns.length
      ? `${count(columns.length)} of ${counted(store.columns.length, 'column')}`
      : '',
  ].filter((words) => words !== '');
  return (
    <>
      {left.length > 0 && <p class="card-drawn">{left.join(', ')}</p>}
      <table class="facts card-rows">
        <thead>
          <tr>
            {columns.map(({ name, numeric }) => (
              <th key={name} scope="col" class={numeric ? 'right' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {columns.map((column, i) => (
                <td key={column.name} class={column.numeric ? 'right' : undefined}>
                  {shownCell(cells[i], column)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function shownCell(json: string | undefined, column: GridColumn): ComponentChild {
  if (json === undefined) return '–';
  return json === 'null' ? <i class="note">null</i> : drawnText(textOf(json), column);
}
