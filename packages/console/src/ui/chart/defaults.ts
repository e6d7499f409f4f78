/** The chart that fits the types and values of the rows. */

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
  const time = rows.columns.find(isTimeColumn);
  const texts = rows.columns.filter(
    (column) => !column.numeric && !isTimeColumn(column) && !/json|\[\]/.test(column.type),
  );
  const across = time ?? texts[0] ?? (measures.length === 1 ? (first ?? undefined) : measures[0]) ?? first;
  const up =
    measures.findLast((column) => column !== across) ??
    numbers.findLast((column) => column !== across) ??
    first;
  const settings = { x: across.name, y: [up.name] };
  if (rows.length === 1) return { ...settings, y: [(measures[0] ?? first).name], kind: 'number' };
  const distinct = distinctIn(rows);
  const places = distinct(across.name);
  const repeats = places < Math.min(rows.length, sampledMax);
  const split = repeats
    ? texts.find(({ name }) => name !== across.name && distinct(name) > 1 && distinct(name) <= seriesMax)
        ?.name
    : undefined;
  if (across.numeric) return { ...settings, split, kind: isRising(rows, across.name) ? 'lines' : 'points' };
  if (time !== undefined && places > barsMax) return { ...settings, split, kind: 'lines' };
  return { ...settings, split, kind: split === undefined ? 'bars' : 'stacked-bars' };
}

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

/** A stored chart, if the rows have its columns; it may have been written by anyone. */
export function storedChart(stored: unknown, rows: ChartRows): ChartSettings | undefined {
  const { kind, x, y, split } = (stored ?? {}) as Partial<ChartSettings>;
  const has = (name: unknown) => rows.columns.some((column) => column.name === name);
  const isWhole = typeof kind === 'string' && /^(number|((stacked-)?(bars|areas))|lines|points)$/.test(kind);
  if (!isWhole || !has(x) || !Array.isArray(y) || y.length === 0 || !y.every(has)) return undefined;
  return { kind, x: x as string, y, split: has(split) ? split : undefined };
}
