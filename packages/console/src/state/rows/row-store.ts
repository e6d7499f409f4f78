/**
 * Stores rows as lines of NDJSON. A line is parsed only to be drawn, sorted or searched, so that 100,000 rows need
 * little memory.
 */

import { contains, type DrawnAs, isIdentifier, isTimestampType } from './drawn.ts';
import { hasOthers, isLongNumber, isNumberText, membersOf, readValues, type Values } from './scan.ts';
import { compareBy, keyOf, type SortKey } from './sort-keys.ts';

export interface GridColumn extends DrawnAs {
  name: string;
  type: string;
  /** What a classifier added: its label, or its confidence. */
  added?: 'label' | 'confidence' | undefined;
}

const toColumn = (name: string, type: string, numeric: boolean): GridColumn => ({
  name,
  type,
  numeric,
  isPlain: isIdentifier(name),
  isTimestamp: isTimestampType(type),
});

/** Values of `money` are texts such as `$1,000.25`, in the way of the server's language. */
const numericType =
  /^((tiny|small|medium|big)?(int|integer|serial)|number|numeric|decimal|real|float|double|long)\d*\b/i;
export const isNumericType = (type: string): boolean => numericType.test(type) && !type.includes('[]');

/** The number of rows that are sampled for numbers in untyped columns. */
const sampledMax = 200;
/** A page with more columns would be slow. Downloads have all. */
const columnsMax = 1_000;

/** A stored text, with the name of the engine that runs it. */
export interface Statement {
  text: string;
  engine: string;
}

export interface Sort {
  column: number;
  descending: boolean;
}

/** Lets the page draw and handle keys between two slices of work. */
const breathe = () => new Promise<void>((resolve) => setTimeout(resolve));
const sliceMs = 12;

export class RowStore {
  readonly lines: string[] = [];
  readonly columns: GridColumn[] = [];
  /** True if the types of the columns are known. */
  isTyped = false;
  /** What returned the rows, if it is known. */
  statement: Statement | undefined;
  bytes = 0;
  /** The indexes of the lines in display order; undefined while all lines are shown in the order of arrival. */
  order: Uint32Array | undefined;
  /** The labels that the person gave, by line, in place of those of the classifier. */
  readonly #corrections = new Map<number, string>();
  /** The name of the column of labels that a classifier adds. */
  readonly #labels: string | undefined;
  readonly #places = new Map<string, number>();
  /** The untyped columns that have had nothing but nulls, and numbers that are too long for JSON. */
  readonly #undecided = new Set<string>();
  readonly #layout = { prefixes: [] as string[], placeOf: (name: string) => this.#places.get(name) };

  constructor(columns: { name: string; type: string }[], labels?: string) {
    this.#labels = labels;
    this.setTypes(columns);
  }

  #add(column: GridColumn): void {
    if (this.#labels !== undefined && column.name === this.#labels) column.added = 'label';
    if (this.#labels !== undefined && column.name === `${this.#labels}Confidence`)
      column.added = 'confidence';
    this.#places.set(column.name, this.columns.length);
    this.columns.push(column);
    this.#layout.prefixes.push(`${JSON.stringify(column.name)}:`);
  }

  /** Sets the types of the columns. They may become known only after the first rows. */
  setTypes(columns: { name: string; type: string }[]): void {
    for (const { name, type } of columns) {
      const column = toColumn(name, type, isNumericType(type));
      const place = this.#places.get(name);
      if (place === undefined) this.#add(column);
      else this.columns[place] = column;
    }
    this.isTyped = columns.length > 0;
  }

  get length(): number {
    return this.order?.length ?? this.lines.length;
  }

  add(lines: string[]): void {
    for (const line of lines) {
      if (this.lines.length < sampledMax || this.#hasOthers(line)) this.#sample(line);
      this.bytes += line.length;
      this.lines.push(line);
    }
  }

  /** Documents can have members that those before them lack. */
  #hasOthers(line: string): boolean {
    return !this.isTyped && this.columns.length < columnsMax && hasOthers(line, this.#layout);
  }

  /** Detects columns that are not in the signature, and numbers in columns whose type is unknown. */
  #sample(line: string): void {
    const { names, values } = membersOf(line);
    for (const [i, name] of names.entries()) {
      const value = values[i] as string;
      const place = this.#places.get(name);
      const numeric = isNumberText(value);
      if (place === undefined) {
        this.#add(toColumn(name, '', numeric));
        if (value === 'null' || isLongNumber(value)) this.#undecided.add(name);
      } else if (!this.isTyped && value !== 'null' && !isLongNumber(value)) {
        const column = this.columns[place] as GridColumn;
        const isFirst = this.#undecided.delete(name);
        column.numeric = numeric && (column.numeric || isFirst);
      }
    }
  }

  lineAt(row: number): number {
    return this.order === undefined ? row : (this.order[row] as number);
  }

  /**
   * Returns JSON texts by column, undefined for a missing member. To draw many rows, pass the same list `into` each
   * time.
   */
  cells(row: number, into: Values = []): Values {
    const line = this.lineAt(row);
    readValues(this.lines[line] as string, this.#layout, into);
    const label = this.#corrections.get(line);
    if (label !== undefined) this.#putCorrection(label, into);
    return into;
  }

  /** Shows a label in place of that of the classifier, and no confidence. */
  correct(row: number, label: string): void {
    this.#corrections.set(this.lineAt(row), label);
  }

  #putCorrection(label: string, values: Values): void {
    for (const [at, { added }] of this.columns.entries()) {
      if (added === 'label') values[at] = JSON.stringify(label);
      if (added === 'confidence') values[at] = undefined;
    }
  }

  /**
   * Shows the rows that contain `filter`, in the order of `sort`. If `isCurrent` becomes false, stops and changes
   * nothing.
   */
  async arrange(
    { sort, filter }: { sort: Sort | undefined; filter: string },
    isCurrent: () => boolean,
  ): Promise<void> {
    const wanted = filter.trim().toLowerCase();
    if (sort === undefined && wanted === '') {
      this.order = undefined;
      return;
    }
    const found: number[] = [];
    const keys: SortKey[] = [];
    const sorted = sort === undefined ? undefined : this.columns[sort.column];
    const cells: Values = [];
    let until = performance.now() + sliceMs;
    for (let at = 0; at < this.lines.length; at++) {
      if ((at & 127) === 0 && performance.now() > until) {
        await breathe();
        if (!isCurrent()) return;
        until = performance.now() + sliceMs;
      }
      readValues(this.lines[at] as string, this.#layout, cells);
      if (wanted !== '' && !this.#isFound(cells, wanted)) continue;
      found.push(at);
      if (sort !== undefined) keys[at] = keyOf(cells[sort.column], sorted);
    }
    const numeric = sorted?.numeric === true;
    const order =
      sort === undefined ? found : await sortSliced(found, compareBy(keys, { ...sort, numeric }), isCurrent);
    if (order !== undefined && isCurrent()) this.order = Uint32Array.from(order);
  }

  #isFound(cells: Values, wanted: string): boolean {
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at];
      if (cell !== undefined && contains(cell, wanted, this.columns[at])) return true;
    }
    return false;
  }
}

/** A merge sort that pauses for the page. Resolves to undefined if a newer sort has started. */
async function sortSliced(
  items: number[],
  compare: (a: number, b: number) => number,
  isCurrent: () => boolean,
): Promise<number[] | undefined> {
  const run = 4_096;
  let runs: number[][] = [];
  for (let at = 0; at < items.length; at += run) {
    runs.push(items.slice(at, at + run).sort(compare));
    await breathe();
  }
  while (runs.length > 1) {
    const merged: number[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left, right] = [runs[i] as number[], runs[i + 1]];
      merged.push(right === undefined ? left : await merge(left, right, compare));
      if (!isCurrent()) return undefined;
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge(
  left: number[],
  right: number[],
  compare: (a: number, b: number) => number,
): Promise<number[]> {
  const merged: number[] = [];
  let [l, r] = [0, 0];
  while (l < left.length && r < right.length) {
    const [a, b] = [left[l] as number, right[r] as number];
    if (compare(a, b) <= 0) {
      merged.push(a);
      l++;
    } else {
      merged.push(b);
      r++;
    }
    if ((merged.length & 16_383) === 0) await breathe();
  }
  return merged.concat(l < left.length ? left.slice(l) : right.slice(r));
}
