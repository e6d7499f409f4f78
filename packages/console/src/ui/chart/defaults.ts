/** The chart that fits the types and values of the rows. */

import { isEngine } from '@datahub/contract/engines';
import { sumsOf } from '@datahub/statement/sums';
import { type Aggregate, aggregates } from '../../state/rows/decimals.ts';
import { textOf, type Values } from '../../state/rows/scan.ts';
import { type ChartRows, type ChartSettings, isTimeColumn } from './shape.ts';

const sampledMax = 2_000;
const seriesMax = 12;
const barsMax = 60;

/** Ids are numbers that nobody draws. */
const isId = (name: string): boolean => /(^|_)id$/i.test(name);

/** Undefined if no column has numbers. */
export function defaultChart(rows: ChartRows): ChartSettings | undefined {
  const numbers = rows.columns.filter(({ numeric }) => numeric);
  const measures = numbers.filter(({ name }) => !isId(name));
  const [first] = numbers;
  if (first === undefined) return undefined;
  const time = rows.columns.find((column) => isTimeColumn(rows, column));
  const texts = rows.columns.filter(
    (column) => !column.numeric && !isTimeColumn(rows, column) && !/json|\[\]/.test(column.type),
  );
  const across = time ?? texts[0] ?? (measures.length === 1 ? first : measures[0]) ?? first;
  // The first measure behind the axis is what a query is about.
  const others = (columns: typeof numbers) => columns.filter((column) => column !== across);
  const behind = others(measures).filter(
    (column) => rows.columns.indexOf(column) > rows.columns.indexOf(across),
  );
  const up = behind[0] ?? others(measures)[0] ?? others(numbers)[0] ?? first;
  const mayAdd = sumsIn(rows).has(up.name);
  const settings = { x: across.name, y: [up.name], aggregate: usualAggregate([up.name], rows) };
  if (rows.length === 1)
    return { ...settings, y: [(measures[0] ?? first).name], kind: 'number', aggregate: 'last' };
  const distinct = distinctIn(rows);
  const places = distinct(across.name);
  const repeats = places < Math.min(rows.length, sampledMax);
  const split = repeats
    ? texts.find(({ name }) => name !== across.name && distinct(name) > 1 && distinct(name) <= seriesMax)
        ?.name
    : undefined;
  if (across.numeric) return { ...settings, split, kind: isRising(rows, across.name) ? 'lines' : 'points' };
  if (time !== undefined && (places > barsMax || (split !== undefined && !mayAdd)))
    return { ...settings, split, kind: 'lines' };
  return { ...settings, split, kind: split !== undefined && mayAdd ? 'stacked-bars' : 'bars' };
}

/** Only sums are added without asking. */
export function usualAggregate(y: string[], rows: ChartRows): Aggregate {
  const sums = sumsIn(rows);
  return y.every((name) => sums.has(name)) ? 'sum' : 'none';
}

const sumsIn = ({ statement: { text, engine } = { text: '', engine: 'postgres' } }: ChartRows) =>
  sumsOf(text, isEngine(engine) ? engine : 'postgres');

/** Counts the different values of a column among the first rows. */
function distinctIn(rows: ChartRows): (name: string) => number {
  const cells: Values = [];
  return (name) => {
    const at = rows.columns.findIndex((column) => column.name === name);
    const found = new Set<string>();
    for (let row = 0; row < Math.min(rows.length, sampledMax); row++)
      found.add(rows.cells(row, cells)[at] ?? '');
    return found.size;
  };
}

function isRising(rows: ChartRows, name: string): boolean {
  const at = rows.columns.findIndex((column) => column.name === name);
  let before = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < Math.min(rows.length, sampledMax); row++) {
    const value = Number(textOf(rows.cells(row)[at] ?? '0'));
    if (value <= before) return false;
    before = value;
  }
  return true;
}

/** What is wrong with a stored chart, or the chart. It may have been written by anyone. */
export type StoredChart = { settings: ChartSettings } | { missing: string } | undefined;

export const unitMax = 20;

export const missingText = (column: string): string =>
  `The saved chart draws the column “${column}”, which the rows do not have.`;

/** Undefined if none is stored that can be read. If the rows lack one of its columns, its name is returned. */
export function storedChart(stored: unknown, rows: ChartRows): StoredChart {
  const { kind, x, y, split, aggregate, unit } = (stored ?? {}) as Partial<ChartSettings>;
  const isWhole = typeof kind === 'string' && /^(number|((stacked-)?(bars|areas))|lines|points)$/.test(kind);
  if (!isWhole || typeof x !== 'string' || !Array.isArray(y) || y.length === 0) return undefined;
  const has = (name: unknown) => rows.columns.some((column) => column.name === name);
  const missing = [x, ...y, ...(split === undefined ? [] : [split])].find((name) => !has(name));
  if (missing !== undefined) return { missing: String(missing) };
  const isKnown = aggregates.some(([name]) => name === aggregate);
  return {
    settings: {
      kind,
      x,
      y,
      split,
      aggregate:
        isKnown && aggregate !== undefined ? aggregate : kind === 'number' ? 'last' : usualAggregate(y, rows),
      unit: typeof unit === 'string' && unit !== '' ? unit.slice(0, unitMax) : undefined,
    },
  };
}
