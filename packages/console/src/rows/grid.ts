/**
 * A table of any length: only the cells in sight exist, and scrolling changes their texts. It is plain DOM, because a
 * frame of scrolling rewrites some hundred cells and has no time for a diff.
 */

import { drawCell, heightOf, widthsOf } from './grid-cells.ts';
import { GridKeys } from './grid-keys.ts';
import type { RowStore, Sort } from './row-store.ts';

const overscan = 6;

export interface GridOptions {
  label: string;
  onSort(sort: Sort | undefined): void;
  /** A cell was opened by Enter or a double click. */
  onOpen(row: number, column: number): void;
}

interface DrawnRow {
  element: HTMLElement;
  number: HTMLElement;
  cells: HTMLElement[];
  /** What is drawn, so that an unchanged row is left alone. */
  drawn: string;
}

let grids = 0;

export class Grid {
  readonly element = document.createElement('div');
  readonly options: GridOptions;
  store: RowStore;
  sort: Sort | undefined;
  widths: number[] = [];
  lefts: number[] = [];
  readonly keys: GridKeys;
  readonly id = `grid-${++grids}`;
  readonly #head = document.createElement('div');
  readonly #body = document.createElement('div');
  #rows: DrawnRow[] = [];
  #frame = 0;
  #version = 0;
  readonly #resize = new ResizeObserver(() => this.draw());

  constructor(store: RowStore, options: GridOptions) {
    this.store = store;
    this.options = options;
    this.element.className = 'grid';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'grid');
    this.element.setAttribute('aria-label', options.label);
    this.#head.className = 'grid-head';
    this.#head.setAttribute('role', 'row');
    this.#head.setAttribute('aria-rowindex', '1');
    this.#body.className = 'grid-body';
    this.#body.setAttribute('role', 'rowgroup');
    const headGroup = document.createElement('div');
    headGroup.className = 'grid-head-group';
    headGroup.setAttribute('role', 'rowgroup');
    headGroup.append(this.#head);
    this.element.append(headGroup, this.#body);
    this.element.addEventListener('scroll', () => this.draw(), { passive: true });
    this.keys = new GridKeys(this);
    this.#resize.observe(this.element);
  }

  close(): void {
    this.#resize.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** Rows were added or put into another order. */
  changed(): void {
    this.#version++;
    if (this.widths.length !== this.store.columns.length || this.#version < 4) this.#measure();
    this.draw();
  }

  draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  get rowHeight(): number {
    return heightOf(this.element);
  }

  #measure(): void {
    this.widths = widthsOf(this.store);
    this.lefts = [];
    let left = 56;
    for (const width of this.widths) {
      this.lefts.push(left);
      left += width;
    }
    this.#drawHead();
    const total = `${left}px`;
    this.#body.style.width = total;
    this.#head.style.width = total;
  }

  #drawHead(): void {
    const { columns } = this.store;
    this.element.setAttribute('aria-colcount', String(columns.length + 1));
    const corner = document.createElement('div');
    corner.className = 'grid-number';
    corner.setAttribute('role', 'columnheader');
    corner.setAttribute('aria-label', 'Row');
    const heads = columns.map(({ name, type, numeric }, column) => {
      const cell = document.createElement('div');
      cell.setAttribute('role', 'columnheader');
      cell.setAttribute('aria-colindex', String(column + 2));
      const { descending } = this.sort?.column === column ? this.sort : { descending: undefined };
      const order = descending === undefined ? 'none' : descending ? 'descending' : 'ascending';
      cell.setAttribute('aria-sort', order);
      cell.className = numeric ? 'grid-title right' : 'grid-title';
      cell.style.left = `${this.lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
      const button = document.createElement('button');
      button.type = 'button';
      button.tabIndex = -1;
      button.title = `Sort by ${name}`;
      button.append(name);
      const small = document.createElement('small');
      small.append(type);
      cell.append(button, small);
      button.addEventListener('click', () => this.sortBy(column));
      return cell;
    });
    this.#head.replaceChildren(corner, ...heads);
  }

  /** Ascending, then descending, then as the rows came. */
  sortBy(column: number): void {
    const now = this.sort?.column === column ? this.sort : undefined;
    this.sort = now?.descending === true ? undefined : { column, descending: now !== undefined };
    this.#drawHead();
    this.options.onSort(this.sort);
  }

  /** The columns in sight, as a half-open range. */
  #columnsInSight(): [number, number] {
    const { scrollLeft, clientWidth } = this.element;
    const count = this.widths.length;
    let first = 0;
    while (first < count - 1 && (this.lefts[first] as number) + (this.widths[first] as number) < scrollLeft)
      first++;
    let last = first;
    while (last < count && (this.lefts[last] as number) < scrollLeft + clientWidth) last++;
    return [first, last];
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const height = this.rowHeight;
    const { length } = this.store;
    this.#body.style.height = `${length * height}px`;
    this.element.setAttribute('aria-rowcount', String(length + 1));
    const first = Math.max(0, Math.floor(scrollTop / height) - overscan);
    const last = Math.min(length, Math.ceil((scrollTop + clientHeight) / height) + overscan);
    const [from, to] = this.#columnsInSight();
    while (this.#rows.length < last - first) this.#rows.push(this.#makeRow());
    while (this.#rows.length > Math.max(last - first, 1)) this.#rows.pop()?.element.remove();
    const count = this.#rows.length;
    for (let row = first; row < last; row++) {
      const drawn = this.#rows[row % count] as DrawnRow;
      const state = `${row} ${from} ${to} ${this.#version} ${this.keys.stateOf(row)}`;
      if (drawn.drawn === state) continue;
      drawn.drawn = state;
      drawn.element.hidden = false;
      this.#fill(drawn, row, [from, to]);
    }
    if (last === first) for (const { element } of this.#rows) element.hidden = true;
    this.keys.drawn();
  }

  #fill({ element, number, cells }: DrawnRow, row: number, [from, to]: [number, number]): void {
    element.style.transform = `translateY(${row * this.rowHeight}px)`;
    element.setAttribute('aria-rowindex', String(row + 2));
    number.textContent = String(row + 1);
    const values = this.store.cells(row);
    while (cells.length < to - from) {
      const cell = document.createElement('div');
      cell.setAttribute('role', 'gridcell');
      cells.push(cell);
      element.append(cell);
    }
    while (cells.length > to - from) cells.pop()?.remove();
    for (let column = from; column < to; column++) {
      const cell = cells[column - from] as HTMLElement;
      cell.style.left = `${this.lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
      cell.setAttribute('aria-colindex', String(column + 2));
      drawCell(cell, values[column], this.store.columns[column]?.numeric === true);
      this.keys.mark(cell, row, column);
    }
  }

  #makeRow(): DrawnRow {
    const element = document.createElement('div');
    element.className = 'grid-row';
    element.setAttribute('role', 'row');
    const number = document.createElement('div');
    number.className = 'grid-number';
    number.setAttribute('role', 'rowheader');
    element.append(number);
    this.#body.append(element);
    return { element, number, cells: [], drawn: '' };
  }
}
