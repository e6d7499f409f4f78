/**
 * A table of any length. Only the visible cells exist, and scrolling changes their texts. It is plain DOM, because a
 * frame of scrolling rewrites some hundred cells, and a virtual DOM would be too slow.
 */

import type { CopiedRows } from '../../state/rows/clipboard.ts';
import type { RowStore, Sort } from '../../state/rows/row-store.ts';
import type { Values } from '../../state/rows/scan.ts';
import { type Cell, digitWidthOf, drawCell, heightOf, makeCell, widthsOf } from './grid-cells.ts';
import { makeHead } from './grid-head.ts';
import { GridKeys } from './grid-keys.ts';
import { ColumnWidths } from './grid-widths.ts';

const overscan = 3;

export interface GridOptions {
  label: string;
  onSort(sort: Sort | undefined): void;
  /** Called when a cell was opened with Enter or a double click. */
  onOpen(row: number, column: number): void;
  onCopy?(copied: CopiedRows): void;
  /** Called to open the menu of a column. */
  onMenu?(column: number, at: HTMLElement): void;
}

/** Rows and cells are created once and reused, because new ones for each frame would cause garbage collection. */
interface DrawnRow {
  element: HTMLElement;
  number: HTMLElement;
  cells: Cell[];
  row: number;
  height: number;
  /** The state that is drawn, so that an unchanged row is not drawn again. */
  drawn: string;
  inSight: boolean;
  hidden: boolean;
}

const numbersWidth = 56;

let grids = 0;

export class Grid {
  readonly element = document.createElement('div');
  readonly options: GridOptions;
  store: RowStore;
  sort: Sort | undefined;
  /** Read once per frame, because reading it between two writes would force a layout each time. */
  rowHeight = 28;
  readonly keys: GridKeys;
  readonly columns = new ColumnWidths(numbersWidth);
  readonly id = `grid-${++grids}`;
  readonly #head = document.createElement('div');
  readonly #body = document.createElement('div');
  /** One sticky element has the numbers of all rows, because each sticky element would be a separate layer. */
  readonly #numbers = document.createElement('div');
  readonly #values: Values = [];
  #length = -1;
  /** The number of rows when the columns were measured. */
  #measured = 0;
  #isTyped = false;
  #widens = false;
  #digit = 8;
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
    this.#numbers.className = 'grid-numbers';
    this.#numbers.setAttribute('aria-hidden', 'true');
    this.#body.append(this.#numbers);
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

  /** Call this when rows were added or reordered, or their types became known. */
  changed(): void {
    this.#version++;
    const { length, columns, isTyped } = this.store;
    const hasOtherColumns = this.widths.length !== columns.length || this.#isTyped !== isTyped;
    if (hasOtherColumns || this.#version === 1 || length >= 2 * this.#measured) {
      this.#measured = length;
      this.#isTyped = isTyped;
      this.#measure();
    }
    this.draw();
  }

  draw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  get widths(): readonly number[] {
    return this.columns.widths;
  }

  get lefts(): readonly number[] {
    return this.columns.lefts;
  }

  #measure(): void {
    this.#digit = digitWidthOf(this.element);
    this.columns.measure(widthsOf(this.store, this.#digit), this.store.columns);
    this.#layOut();
  }

  #layOut(): void {
    this.#drawHead();
    const total = `${this.columns.total}px`;
    this.#body.style.width = total;
    this.#head.style.width = total;
  }

  /** Makes a column as wide as the person wants; undefined makes it as wide as its values need. */
  resize(column: number, width: number | undefined): void {
    this.columns.resize(this.store.columns[column], column, width);
    this.#layOut();
    this.draw();
  }

  #drawHead(): void {
    this.element.setAttribute('aria-colcount', String(this.store.columns.length));
    const corner = document.createElement('div');
    corner.className = 'grid-corner';
    corner.setAttribute('aria-hidden', 'true');
    this.#head.replaceChildren(corner, ...this.store.columns.map((_, column) => makeHead(this, column)));
  }

  /** Sorts ascending, then descending, then restores the order of arrival. */
  sortBy(column: number): void {
    const now = this.sort?.column === column ? this.sort : undefined;
    this.setSort(now?.descending === true ? undefined : { column, descending: now !== undefined });
  }

  /** Opens the menu of a column at its head. */
  openMenu(column: number): void {
    const title = this.#head.children[column + 1] as HTMLElement | undefined;
    if (title !== undefined) this.options.onMenu?.(column, title);
  }

  setSort(sort: Sort | undefined): void {
    this.sort = sort;
    this.#drawHead();
    this.options.onSort(sort);
  }

  /** The visible columns as a half-open range. */
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
    if (this.#length !== length * height) {
      this.#length = length * height;
      this.#body.style.height = `${this.#length}px`;
      this.element.setAttribute('aria-rowcount', String(length + 1));
    }
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
      // A row that cannot be drawn must not count as drawn, with the texts of another one.
      drawn.drawn = '';
      this.#fill(drawn, row, [from, to]);
      drawn.drawn = state;
    }
    for (const one of this.#rows) {
      if (one.hidden !== one.inSight) continue;
      one.hidden = !one.inSight;
      one.element.hidden = one.hidden;
      one.number.hidden = one.hidden;
    }
    this.keys.drawn();
  }

  #fill(drawn: DrawnRow, row: number, [from, to]: [number, number]): void {
    const { element, number, cells } = drawn;
    if (drawn.row !== row || drawn.height !== this.rowHeight) {
      drawn.row = row;
      drawn.height = this.rowHeight;
      const place = `translateY(${row * this.rowHeight}px)`;
      element.style.transform = place;
      number.style.transform = place;
      element.setAttribute('aria-rowindex', String(row + 2));
      (number.firstChild as Text).data = String(row + 1);
    }
    const values = this.store.cells(row, this.#values);
    while (cells.length < to - from) cells.push(makeCell(element));
    // A column keeps its cell while the table scrolls horizontally.
    for (let column = from; column < to; column++) {
      const cell = cells[column % cells.length] as Cell;
      this.#place(cell, column);
      const needed = drawCell(cell, values[column], {
        column: this.store.columns[column],
        digit: this.#digit,
        confidence: values[column + 1],
      });
      if (needed > (this.widths[column] as number)) this.#widen(column, needed);
      this.keys.mark(cell.element, row, column);
    }
    for (const cell of cells) {
      const hidden = cell.column < from || cell.column >= to;
      if (cell.hidden === hidden) continue;
      cell.hidden = hidden;
      cell.element.hidden = hidden;
    }
  }

  /** A number that is longer than those that were measured came in sight. The next frame has room for it. */
  #widen(column: number, needed: number): void {
    this.columns.widen(column, needed);
    if (this.#widens) return;
    this.#widens = true;
    queueMicrotask(() => {
      this.#widens = false;
      this.#layOut();
      this.#version++;
      this.draw();
    });
  }

  #place(cell: Cell, column: number): void {
    if (cell.column === column && cell.layout === this.lefts) return;
    cell.column = column;
    cell.layout = this.lefts;
    cell.element.style.left = `${this.lefts[column]}px`;
    cell.element.style.width = `${this.widths[column]}px`;
    cell.element.setAttribute('aria-colindex', String(column + 1));
  }

  #makeRow(): DrawnRow {
    const element = document.createElement('div');
    element.className = 'grid-row';
    element.setAttribute('role', 'row');
    const number = document.createElement('div');
    number.className = 'grid-number';
    number.append('');
    this.#numbers.append(number);
    this.#body.append(element);
    return { element, number, cells: [], row: -1, height: 0, drawn: '', inSight: true, hidden: false };
  }
}
