/** The widths of columns: as their values need, or as a person set them. */

import type { GridColumn } from '../../state/rows/row-store.ts';
import { widthMin } from './grid-cells.ts';

const widthMax = 2_000;

export class ColumnWidths {
  widths: number[] = [];
  /** Where each column begins. A new list for each layout. */
  lefts: number[] = [];
  total = 0;
  readonly #first: number;
  /** What the values need. */
  #needed: number[] = [];
  readonly #set = new Map<string, number>();

  /** `first` is where the first column begins. */
  constructor(first: number) {
    this.#first = first;
  }

  /** While rows are still arriving, columns do not shrink, so that the user can read them. */
  measure(needed: number[], columns: readonly GridColumn[]): void {
    this.#needed = needed.map((width, at) => Math.max(width, this.#needed[at] ?? 0));
    this.widths = this.#needed.map((width, at) => {
      const column = columns[at];
      const set = column === undefined ? undefined : this.#set.get(column.name);
      return set === undefined ? width : this.#bounded(column, at, set);
    });
    this.#place();
  }

  widen(at: number, needed: number): void {
    this.#needed[at] = Math.max(needed, this.#needed[at] ?? 0);
    this.widths[at] = Math.max(needed, this.widths[at] ?? 0);
    this.#place();
  }

  resize(column: GridColumn | undefined, at: number, width: number | undefined): void {
    if (column === undefined) return;
    if (width === undefined) this.#set.delete(column.name);
    else this.#set.set(column.name, width);
    this.widths[at] = width === undefined ? (this.#needed[at] as number) : this.#bounded(column, at, width);
    this.#place();
  }

  /** A column of numbers stays as wide as its numbers: a part of a number would be another number. */
  #bounded(column: GridColumn | undefined, at: number, width: number): number {
    const least = column?.numeric ? (this.#needed[at] as number) : widthMin;
    return Math.round(Math.max(least, Math.min(width, widthMax)));
  }

  #place(): void {
    let left = this.#first;
    this.lefts = this.widths.map((width) => {
      const at = left;
      left += width;
      return at;
    });
    this.total = left;
  }
}
