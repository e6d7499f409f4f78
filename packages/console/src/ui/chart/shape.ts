/** Makes a chart of rows: one column runs across, others go up, and one may split them into series. */

import type { GridColumn } from '../../state/rows/row-store.ts';
import { textOf, type Values } from '../../state/rows/scan.ts';
import { secondsOf, timeLabels } from './labels.ts';
import { type ChartAxis, type ChartData, type ChartKind, colorsMax } from './protocol.ts';

export interface ChartSettings {
  /** `number` shows the last value. */
  kind: ChartKind | 'number';
  /** Names of columns. */
  x: string;
  y: string[];
  split?: string | undefined;
}

/** Rows in the order in which they are shown. */
export interface ChartRows {
  readonly columns: readonly GridColumn[];
  readonly length: number;
  cells(row: number, into?: Values): Values;
}

export interface Shaped extends ChartData {
  /** The number of rows that are drawn. */
  rows: number;
  /** True if several rows have the same place, so that their values are added. */
  isSum: boolean;
  /** Values of `split` that are drawn as one series. */
  merged: number;
  /** Labels that have no room. */
  labelsLeft: number;
}

/** More labels would be lines of one pixel. */
const labelsMax = 1_000;
const splitsMax = 500;
const others = 'all others';
const timeType = /^(date|timestamp|datetime)/i;
const sliceMs = 12;

export const isTimeColumn = ({ type }: GridColumn): boolean => timeType.test(type);
const breathe = () => new Promise<void>((resolve) => setTimeout(resolve));

interface Table {
  /** The place of each row along the axis, as texts, and as numbers where it has some. */
  texts: string[];
  groups: Map<string, (number | null)[]>;
  isSum: boolean;
  left: Set<string>;
}

/** Resolves to undefined if `isCurrent` becomes false. It pauses for the page. */
export async function shape(
  rows: ChartRows,
  settings: ChartSettings,
  isCurrent: () => boolean = () => true,
): Promise<Shaped | undefined> {
  const kind = settings.kind === 'number' ? 'areas' : settings.kind;
  const table = await collect(rows, { ...settings, kind }, isCurrent);
  if (table === undefined) return undefined;
  const merged = mergeSmall(table.groups);
  const column = rows.columns.find(({ name }) => name === settings.x);
  const { x, order } = axisOf(table.texts, { column, kind });
  const series = [...table.groups].map(([name, values]) => ({
    name,
    values: order.map((at) => values[at] ?? null),
  }));
  return { kind, x, series, rows: rows.length, isSum: table.isSum, merged, labelsLeft: table.left.size };
}

async function collect(
  rows: ChartRows,
  { kind, x, y, split }: ChartSettings & { kind: ChartKind },
  isCurrent: () => boolean,
): Promise<Table | undefined> {
  const indexOf = (name: string | undefined) => rows.columns.findIndex((column) => column.name === name);
  const [xAt, splitAt] = [indexOf(x), indexOf(split)];
  const ups = y.map((name) => ({ name, at: indexOf(name) })).filter(({ at }) => at >= 0);
  const column = rows.columns[xAt];
  const isLabel = column === undefined || !isScale(column, kind);
  const table: Table = { texts: [], groups: new Map(), isSum: false, left: new Set() };
  const places = new Map<string, number>();
  const cells: Values = [];
  let until = performance.now() + sliceMs;
  for (let row = 0; row < rows.length; row++) {
    if ((row & 127) === 0 && performance.now() > until) {
      await breathe();
      if (!isCurrent()) return undefined;
      until = performance.now() + sliceMs;
    }
    rows.cells(row, cells);
    const text = xAt < 0 ? String(row + 1) : textOf(cells[xAt] ?? 'null');
    let place = kind === 'points' ? undefined : places.get(text);
    if (place === undefined) {
      if (isLabel && table.texts.length >= labelsMax) {
        table.left.add(text);
        continue;
      }
      place = table.texts.push(text) - 1;
      places.set(text, place);
    }
    const part = splitAt < 0 ? undefined : textOf(cells[splitAt] ?? 'null');
    for (const { name, at } of ups)
      add(table, { place, name: nameOf(part, name, ups.length), cell: cells[at] });
  }
  return table;
}

const nameOf = (part: string | undefined, column: string, columns: number): string =>
  part === undefined ? column : columns > 1 ? `${part}, ${column}` : part;

function add(
  table: Table,
  { place, name, cell }: { place: number; name: string; cell: string | undefined },
): void {
  const { groups } = table;
  const key = groups.has(name) || groups.size < splitsMax ? name : others;
  let values = groups.get(key);
  if (values === undefined) {
    values = [];
    groups.set(key, values);
  }
  const value = cell === undefined || cell === 'null' ? null : Number(textOf(cell));
  if (value === null || Number.isNaN(value)) return;
  const before = values[place];
  if (before !== undefined && before !== null) table.isSum = true;
  values[place] = (before ?? 0) + value;
}

/** There are more series than colours: the smallest become one. Returns how many. */
function mergeSmall(groups: Map<string, (number | null)[]>): number {
  if (groups.size <= colorsMax) return 0;
  const size = (values: (number | null)[]) =>
    values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
  const bySize = [...groups]
    .map(([name, values]) => [name, size(values)] as const)
    .sort((a, b) => b[1] - a[1]);
  const small = bySize.slice(colorsMax - 1).map(([name]) => name);
  const sum: (number | null)[] = [];
  for (const name of small) {
    for (const [i, value] of (groups.get(name) ?? []).entries())
      if (value !== null && value !== undefined) sum[i] = (sum[i] ?? 0) + value;
    groups.delete(name);
  }
  groups.set(others, sum);
  return small.length;
}

/** Bars stand beside each other; other kinds have a scale if the column has one. */
const isScale = (column: GridColumn, kind: ChartKind): boolean =>
  !kind.endsWith('bars') && (column.numeric || isTimeColumn(column));

/** The axis, and the order of the places along it. */
function axisOf(
  texts: string[],
  { column, kind }: { column: GridColumn | undefined; kind: ChartKind },
): { x: ChartAxis; order: number[] } {
  const arrival = texts.map((_, i) => i);
  const isTime = column !== undefined && isTimeColumn(column);
  const numbers = isTime
    ? texts.map(secondsOf)
    : column === undefined || column.numeric
      ? texts.map(Number)
      : [];
  const hasPlace = (i: number) => Number.isFinite(numbers[i]) && texts[i] !== 'null';
  if (numbers.length === 0 || arrival.some((i) => texts[i] !== 'null' && !hasPlace(i)))
    return { x: { kind: 'label', labels: texts }, order: arrival };
  const order = arrival.filter(hasPlace).sort((a, b) => (numbers[a] as number) - (numbers[b] as number));
  const values = order.map((i) => numbers[i] as number);
  if (column === undefined || isScale(column, kind))
    return { x: { kind: isTime ? 'time' : 'number', values }, order };
  const labels = isTime ? timeLabels(values) : order.map((i) => texts[i] as string);
  return { x: { kind: 'label', labels }, order };
}
