/** Makes a chart of rows: one column runs across, others go up, and one may split them into series. */

import { type Aggregate, combined, toPixelValue } from '../../state/rows/decimals.ts';
import { drawnText } from '../../state/rows/drawn.ts';
import type { GridColumn, Statement } from '../../state/rows/row-store.ts';
import { textOf, type Values } from '../../state/rows/scan.ts';
import { secondsOf, timeLabels } from './labels.ts';
import { type ChartAxis, type ChartData, type ChartKind, type ChartSeries, colorsMax } from './protocol.ts';

export interface ChartSettings {
  /** `number` shows one value for all rows. */
  kind: ChartKind | 'number';
  /** Names of columns. */
  x: string;
  y: string[];
  split?: string | undefined;
  /** What becomes of rows at the same place. */
  aggregate: Aggregate;
  /** What the values are counted in. */
  unit?: string | undefined;
}

/** Rows in the order in which they are shown. */
export interface ChartRows {
  readonly columns: readonly GridColumn[];
  readonly length: number;
  /** What returned the rows, if it is known. */
  readonly statement?: Statement | undefined;
  cells(row: number, into?: Values): Values;
}

export interface Shaped extends ChartData {
  rows: number;
  /** Rows without a place on the scale. */
  rowsLeft: number;
  /** True if several rows have the same place. */
  repeats: boolean;
  /** Series that are drawn as one. */
  merged: number;
  /** Series that have no room, because their rows must not be combined. */
  seriesLeft: number;
  /** Values that are NULL or no finite numbers, and so have no place. */
  valuesLeft: number;
  /** Labels that have no room. */
  labelsLeft: number;
}

/** More labels would be lines of one pixel. */
const labelsMax = 1_000;
const splitsMax = 500;
const othersName = 'all others';
const timeType = /^(date|timestamp|datetime)/i;
const sampledMax = 200;
const sliceMs = 12;

/** A column of points in time: by its type, or because its texts are such as `2026-01` or `2026-01-31`. */
export function isTimeColumn(rows: ChartRows, column: GridColumn): boolean {
  if (timeType.test(column.type) && !column.type.includes('[]')) return true;
  if (column.numeric) return false;
  const at = rows.columns.indexOf(column);
  const cells: Values = [];
  let found = false;
  for (let row = 0; row < Math.min(rows.length, sampledMax); row++) {
    const cell = rows.cells(row, cells)[at];
    if (cell === undefined || cell === 'null') continue;
    if (Number.isNaN(secondsOf(textOf(cell)))) return false;
    found = true;
  }
  return found;
}

const breathe = () => new Promise<void>((resolve) => setTimeout(resolve));

/** The texts of the rows at each place of a series; null for NULL. */
type Group = ((string | null)[] | undefined)[];
type Groups = Map<string, Group>;

interface Table {
  /** The place of each row along the axis. */
  texts: string[];
  groups: Groups;
  repeats: boolean;
  /** Labels that have no room. */
  left: Set<string>;
  /** Series that have no group. */
  seriesLeft: Set<string>;
  /** The rows of those, if they may be combined. */
  others: Group;
  /** Rows whose place is NULL. */
  nulls: number;
  /** Values that are NULL. */
  nullValues: number;
}

/** Resolves to undefined if `isCurrent` becomes false. It pauses for the page. */
export async function shape(
  rows: ChartRows,
  settings: ChartSettings,
  isCurrent: () => boolean = () => true,
): Promise<Shaped | undefined> {
  const kind = settings.kind === 'number' ? 'bars' : settings.kind;
  const column = rows.columns.find(({ name }) => name === settings.x);
  const isTime = column !== undefined && isTimeColumn(rows, column);
  const isScale = !kind.endsWith('bars') && (column?.numeric === true || isTime);
  const table = await collect(rows, { settings, isLabel: !isScale }, isCurrent);
  if (table === undefined) return undefined;
  const { aggregate } = settings;
  const merged = mayMerge(aggregate) ? mergeSmall(table) : 0;
  const seriesLeft = mayMerge(aggregate) ? 0 : dropSmall(table);
  const { x, order } = axisOf(table.texts, { column, isTime, isScale });
  const series = [...table.groups].map(([name, cells]) => seriesOf(name, { cells, order, aggregate }));
  const { repeats, left, nulls } = table;
  const rowsLeft = order.length < table.texts.length ? nulls : 0;
  const valuesLeft = (aggregate === 'count' ? 0 : table.nullValues) + notFinite(series);
  const counts = { rows: rows.length, rowsLeft, merged, seriesLeft, labelsLeft: left.size, valuesLeft };
  const isAdded = aggregate === 'none' || aggregate === 'sum' || aggregate === 'count';
  // A part of a sum would be taken for the sum.
  const hasSum = isAdded && seriesLeft === 0;
  return { kind, x, series, hasSum, repeats, ...counts };
}

interface Collecting {
  settings: ChartSettings;
  isLabel: boolean;
}

async function collect(
  rows: ChartRows,
  { settings, isLabel }: Collecting,
  isCurrent: () => boolean,
): Promise<Table | undefined> {
  const { kind, x, y, split, aggregate } = settings;
  const indexOf = (name: string | undefined) => rows.columns.findIndex((column) => column.name === name);
  const [xAt, splitAt] = [indexOf(x), kind === 'number' ? -1 : indexOf(split)];
  const ups = y.map((name) => ({ name, at: indexOf(name) })).filter(({ at }) => at >= 0);
  const table: Table = {
    texts: [],
    groups: new Map(),
    repeats: false,
    left: new Set(),
    seriesLeft: new Set(),
    others: [],
    ...{ nulls: 0, nullValues: 0 },
  };
  const isNumber = rows.columns[xAt]?.numeric === true;
  const places = createPlaces(table, { isLabel, isApart: kind === 'points', isNumber, aggregate });
  const cells: Values = [];
  let until = performance.now() + sliceMs;
  for (let row = 0; row < rows.length; row++) {
    if ((row & 127) === 0 && performance.now() > until) {
      await breathe();
      if (!isCurrent()) return undefined;
      until = performance.now() + sliceMs;
    }
    rows.cells(row, cells);
    const text = kind === 'number' ? '' : xAt < 0 ? String(row + 1) : labelOf(cells[xAt]);
    if (text === nullLabel) table.nulls++;
    const part = splitAt < 0 ? undefined : labelOf(cells[splitAt]);
    const place = places(text, part);
    if (place === undefined) continue;
    for (const { name, at } of ups)
      add(table, { place, name: nameOf(part, name, ups.length), cell: cells[at], aggregate });
  }
  return table;
}

const nullLabel = 'null';

/** The text of a value along the axis or of a series. A text that reads like NULL is in quotes, so that it is not NULL. */
function labelOf(cell = 'null'): string {
  if (cell === 'null') return nullLabel;
  const text = textOf(cell);
  return /^"*null"*$/.test(text) ? `"${text}"` : text;
}

interface Placing {
  isLabel: boolean;
  /** Each row has a place of its own. */
  isApart: boolean;
  /** Numbers with the same value have the same place. */
  isNumber: boolean;
  aggregate: Aggregate;
}

const withoutZeros = (text: string): string => text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

/** Finds the place of a row. Rows that are not combined have different places in the same series. */
function createPlaces(table: Table, { isLabel, isApart, isNumber, aggregate }: Placing) {
  const known = new Map<string, number>();
  const seen = new Map<string, number>();
  return (text: string, part: string | undefined): number | undefined => {
    const value = isNumber ? withoutZeros(text) : text;
    const series = JSON.stringify([value, part]);
    const before = seen.get(series) ?? 0;
    if (before > 0 && !isApart) table.repeats = true;
    seen.set(series, before + 1);
    const key = aggregate === 'none' && before > 0 ? JSON.stringify([value, before]) : value;
    const found = isApart ? undefined : known.get(key);
    if (found !== undefined) return found;
    if (isLabel && table.texts.length >= labelsMax) {
      table.left.add(value);
      return undefined;
    }
    const place = table.texts.push(text) - 1;
    known.set(key, place);
    return place;
  };
}

const nameOf = (part: string | undefined, column: string, columns: number): string =>
  part === undefined ? column : columns > 1 ? `${part}, ${column}` : part;

interface Added {
  place: number;
  name: string;
  cell: string | undefined;
  aggregate: Aggregate;
}

function add(table: Table, { place, name, cell, aggregate }: Added): void {
  const { groups, seriesLeft } = table;
  let values = groups.get(name);
  if (values === undefined && groups.size < splitsMax) {
    values = [];
    groups.set(name, values);
  }
  if (values === undefined) {
    seriesLeft.add(name);
    if (!mayMerge(aggregate)) return;
    values = table.others;
  }
  const text = cell === undefined || cell === 'null' ? null : textOf(cell);
  if (text === null) table.nullValues++;
  const before = values[place];
  if (before === undefined || aggregate === 'last') values[place] = [text];
  else before.push(text);
}

/** Whether the rows of several series can become one value. */
const mayMerge = (aggregate: Aggregate): boolean => aggregate !== 'none' && aggregate !== 'last';

interface Cells {
  cells: ((string | null)[] | undefined)[];
  order: number[];
  aggregate: Aggregate;
}

function seriesOf(name: string, { cells, order, aggregate }: Cells): ChartSeries {
  const texts = order.map((place) => {
    const given = cells[place]?.filter((text) => text !== null);
    if (given === undefined) return undefined;
    return given.length === 0 && aggregate !== 'count' ? null : combined(given, aggregate);
  });
  const values = texts.map((text) => (typeof text === 'string' ? toPixelValue(text) : text));
  return { name, texts: texts.map((text) => text ?? null), values };
}

/** Names of series by what they take of the chart, the largest first. */
function bySize(groups: Groups): string[] {
  const size = (cells: Group) => {
    let sum = 0;
    for (const texts of cells)
      for (const text of texts ?? []) sum += Math.abs((text === null ? null : toPixelValue(text)) ?? 0);
    return sum;
  };
  const sizes = [...groups].map(([name, cells]) => [name, size(cells)] as const);
  return sizes.sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

const notFinite = (series: ChartSeries[]): number =>
  series.reduce(
    (sum, { texts, values }) =>
      sum + values.filter((value, i) => value === null && typeof texts?.[i] === 'string').length,
    0,
  );

/** There are more series than colours, and their rows must not be combined: the smallest are left out. Returns how many. */
function dropSmall({ groups, seriesLeft }: Table): number {
  if (groups.size <= colorsMax) return 0;
  const small = bySize(groups).slice(colorsMax);
  for (const name of small) groups.delete(name);
  return small.length + seriesLeft.size;
}

/** There are more series than colours: the smallest become one, with those that have no group. Returns how many. */
function mergeSmall({ groups, seriesLeft, others }: Table): number {
  if (groups.size <= colorsMax) return 0;
  const small = bySize(groups).slice(colorsMax - 1);
  for (const name of small) {
    for (const [i, texts = []] of (groups.get(name) ?? []).entries()) {
      const place = others[i] ?? [];
      others[i] = place;
      for (const text of texts) place.push(text);
    }
    groups.delete(name);
  }
  groups.set(groups.has(othersName) ? `${othersName} (combined)` : othersName, others);
  return small.length + seriesLeft.size;
}

interface Axis {
  column: GridColumn | undefined;
  isTime: boolean;
  isScale: boolean;
}

/** The axis, and the order of the places along it. */
function axisOf(texts: string[], { column, isTime, isScale }: Axis): { x: ChartAxis; order: number[] } {
  const arrival = texts.map((_, i) => i);
  const numbers = isTime
    ? texts.map(secondsOf)
    : column === undefined || column.numeric
      ? texts.map(Number)
      : [];
  const hasPlace = (i: number) => Number.isFinite(numbers[i]) && texts[i] !== nullLabel;
  if (numbers.length === 0 || arrival.some((i) => texts[i] !== nullLabel && !hasPlace(i)))
    return { x: { kind: 'label', labels: texts }, order: arrival };
  const order = arrival.filter(hasPlace).sort((a, b) => (numbers[a] as number) - (numbers[b] as number));
  const values = order.map((i) => numbers[i] as number);
  const placed = order.map((i) => texts[i] as string);
  const written = placed.map((text) => (column === undefined ? text : drawnText(text, column)));
  if (isScale) return { x: { kind: isTime ? 'time' : 'number', values, texts: written }, order };
  return { x: { kind: 'label', labels: isTime ? timeLabels(values) : placed, texts: written }, order };
}
