/**
 * A table of any length: only the cells in sight exist, and scrolling changes their texts. It is plain DOM, because a
 * frame of scrolling rewrites some hundred cells and has no time for a diff.
 */

import { type Cell, drawCell, heightOf, makeCell, widthsOf } from './grid-cells.ts';
import { GridKeys } from './grid-keys.ts';
import type { RowStore, Sort } from './row-store.ts';

const overscan = 3;

export interface GridOptions {
  label: string;
  onSort(sort: Sort | undefined): void;
  /** A cell was opened by Enter or a double click. */
  onOpen(row: number, column: number): void;
}

/** Cells and rows are made once and written over: what is thrown away while scrolling would have to be collected. */
interface DrawnRow {
  element: HTMLElement;
  number: Text;
  cells: Cell[];
  /** What is drawn, so that an unchanged row is left alone. */
  drawn: string;
  inSight: boolean;
}

let grids = 0;

export class Grid {
  readonly element = document.createElement('div');
  readonly options: GridOptions;
  store: RowStore;
  sort: Sort | undefined;
  widths: number[] = [];
  lefts: number[] = [];
  /** Read once a frame: to ask the style sheet between two writes would lay out the page each time. */
  rowHeight = 28;
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
    this.rowHeight = heightOf(this.element);
    const height = this.rowHeight;
    const { length } = this.store;
    this.#body.style.height = `${length * height}px`;
    this.element.setAttribute('aria-rowcount', String(length + 1));
    const first = Math.max(0, Math.floor(scrollTop / height) - overscan);
    const last = Math.min(length, Math.ceil((scrollTop + clientHeight) / height) + overscan);
    const [from, to] = this.#columnsInSight();
    while (this.#rows.length < last - first) this.#rows.push(this.#makeRow());
    const count = this.#rows.length;
    for (const one of this.#rows) one.inSight = false;
    for (let row = first; row < last; row++) {
      const drawn = this.#rows[row % count] as DrawnRow;
      drawn.inSight = true;
      const state = `${row} ${from} ${to} ${this.#version} ${this.keys.stateOf(row)}`;
      if (drawn.drawn === state) continue;
      drawn.drawn = state;
      this.#fill(drawn, row, [from, to]);
    }
    for (const { element, inSight } of this.#rows) if (element.hidden === inSight) element.hidden = !inSight;
    this.keys.drawn();
  }

  #fill(drawn: DrawnRow, row: number, [from, to]: [number, number]): void {
    const { element, number, cells } = drawn;
    element.style.transform = `translateY(${row * this.rowHeight}px)`;
    element.setAttribute('aria-rowindex', String(row + 2));
    number.data = String(row + 1);
    const values = this.store.cells(row);
    while (cells.length < to - from) cells.push(makeCell(element));
    for (const [i, cell] of cells.entries()) {
      const column = from + i;
      cell.element.hidden = column >= to;
      if (column >= to) continue;
      this.#place(cell, column);
      drawCell(cell, values[column], this.store.columns[column]?.numeric === true);
      this.keys.mark(cell.element, row, column);
    }
  }

  #place(cell: Cell, column: number): void {
    if (cell.column === column && cell.layout === this.lefts) return;
    cell.column = column;
    cell.layout = this.lefts;
    cell.element.style.left = `${this.lefts[column]}px`;
    cell.element.style.width = `${this.widths[column]}px`;
    cell.element.setAttribute('aria-colindex', String(column + 2));
  }

  #makeRow(): DrawnRow {
    const element = document.createElement('div');
    element.className = 'grid-row';
    element.setAttribute('role', 'row');
    const head = document.createElement('div');
    head.className = 'grid-number';
    head.setAttribute('role', 'rowheader');
    const number = document.createTextNode('');
    head.append(number);
    element.append(head);
    this.#body.append(element);
    return { element, number, cells: [], drawn: '', inSight: true };
  }
}
