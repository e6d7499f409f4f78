/** Moving, selecting and copying in the grid: by keys and by pointer. */

import { type CopiedRows, toClipboard } from '../../state/rows/clipboard.ts';
import type { RowStore } from '../../state/rows/row-store.ts';
import type { Values } from '../../state/rows/scan.ts';

/** What the keys need of the grid that they move in. */
export interface GridSurface {
  readonly id: string;
  readonly element: HTMLElement;
  readonly store: RowStore;
  readonly lefts: readonly number[];
  readonly widths: readonly number[];
  readonly rowHeight: number;
  readonly options: { onOpen(row: number, column: number): void; onCopy?(copied: CopiedRows): void };
  draw(): void;
  sortBy(column: number): void;
  openMenu(column: number): void;
  resize(column: number, width: number | undefined): void;
}

interface Place {
  row: number;
  column: number;
}

const clamp = (value: number, max: number) => Math.max(0, Math.min(value, max));
/** Copying more would freeze the page; downloads have all rows. */
const copiedCellsMax = 200_000;

export class GridKeys {
  readonly #grid: GridSurface;
  active: Place = { row: 0, column: 0 };
  /** The other corner of the selection. */
  #anchor: Place = { row: 0, column: 0 };
  #used = false;

  constructor(grid: GridSurface) {
    this.#grid = grid;
    const { element } = grid;
    element.addEventListener('keydown', (event) => this.#keydown(event));
    element.addEventListener('pointerdown', (event) => this.#point(event));
    element.addEventListener(
      'dblclick',
      () => this.#used && grid.options.onOpen(this.active.row, this.active.column),
    );
    element.addEventListener('copy', (event) => this.#copy(event));
    element.addEventListener('focus', () => {
      this.#used = true;
      grid.draw();
    });
  }

  /** What of the selection a row shows. */
  stateOf(row: number): string {
    if (!this.#used) return '';
    const { top, bottom, left, right } = this.#range();
    const inside = row >= top && row <= bottom ? `${left}-${right}` : '';
    return `${inside}${row === this.active.row ? `@${this.active.column}` : ''}`;
  }

  #range() {
    const [a, b] = [this.active, this.#anchor];
    return {
      top: Math.min(a.row, b.row),
      bottom: Math.max(a.row, b.row),
      left: Math.min(a.column, b.column),
      right: Math.max(a.column, b.column),
    };
  }

  mark(cell: HTMLElement, row: number, column: number): void {
    if (!this.#used) return;
    const { top, bottom, left, right } = this.#range();
    const isActive = row === this.active.row && column === this.active.column;
    const isSelected = row >= top && row <= bottom && column >= left && column <= right;
    cell.classList.toggle('active', isActive);
    cell.classList.toggle('selected', isSelected && !isActive);
    if (isActive) cell.id = `${this.#grid.id}-active`;
    else if (cell.id !== '') cell.removeAttribute('id');
  }

  drawn(): void {
    const { element, id } = this.#grid;
    const there = this.#used && element.querySelector(`#${id}-active`) !== null;
    if (there) element.setAttribute('aria-activedescendant', `${id}-active`);
    else element.removeAttribute('aria-activedescendant');
  }

  move(to: Place, extend: boolean): void {
    const { store } = this.#grid;
    this.active = {
      row: clamp(to.row, store.length - 1),
      column: clamp(to.column, store.columns.length - 1),
    };
    if (!extend) this.#anchor = this.active;
    this.#used = true;
    this.#reveal();
    this.#grid.draw();
  }

  #reveal(): void {
    const { element, lefts, widths, rowHeight } = this.#grid;
    const headHeight = element.querySelector<HTMLElement>('.grid-head')?.offsetHeight ?? 0;
    const top = this.active.row * rowHeight;
    const height = element.clientHeight - headHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + height) element.scrollTop = top + rowHeight - height;
    const left = lefts[this.active.column] ?? 0;
    const width = widths[this.active.column] ?? 0;
    if (left - 56 < element.scrollLeft) element.scrollLeft = left - 56;
    else if (left + width > element.scrollLeft + element.clientWidth)
      element.scrollLeft = left + width - element.clientWidth;
  }

  #keydown(event: KeyboardEvent): void {
    const { row, column } = this.active;
    const far = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(this.#grid.element.clientHeight / this.#grid.rowHeight) - 2);
    const lastRow = this.#grid.store.length - 1;
    const lastColumn = this.#grid.store.columns.length - 1;
    const targets: Record<string, Place> = {
      ArrowUp: { row: far ? 0 : row - 1, column },
      ArrowDown: { row: far ? lastRow : row + 1, column },
      ArrowLeft: { row, column: far ? 0 : column - 1 },
      ArrowRight: { row, column: far ? lastColumn : column + 1 },
      PageUp: { row: row - page, column },
      PageDown: { row: row + page, column },
      Home: { row: far ? 0 : row, column: 0 },
      End: { row: far ? lastRow : row, column: lastColumn },
    };
    const target = targets[event.key];
    if (target !== undefined) this.move(target, event.shiftKey);
    else if (event.key === 'Enter' && !far) this.#grid.options.onOpen(row, column);
    else if (event.key.toLowerCase() === 's' && !far && !event.altKey) this.#grid.sortBy(column);
    else if (event.key.toLowerCase() === 'm' && !far && !event.altKey) this.#grid.openMenu(column);
    else if ((event.key === '+' || event.key === '-') && !far)
      this.#grid.resize(column, (this.#grid.widths[column] as number) + (event.key === '+' ? 24 : -24));
    else if (event.key.toLowerCase() === 'a' && far) {
      this.#anchor = { row: 0, column: 0 };
      this.active = { row: lastRow, column: lastColumn };
      this.#grid.draw();
    } else return;
    event.preventDefault();
  }

  #point(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { element, lefts, widths, rowHeight, store } = this.#grid;
    const head = element.querySelector('.grid-head') as HTMLElement;
    const box = element.getBoundingClientRect();
    const y = event.clientY - box.top - head.offsetHeight + element.scrollTop;
    const x = event.clientX - box.left + element.scrollLeft;
    if (event.clientY - box.top < head.offsetHeight || event.clientX - box.left > element.clientWidth) return;
    const row = Math.floor(y / rowHeight);
    const column = lefts.findIndex((left, i) => x >= left && x < left + (widths[i] as number));
    if (row >= store.length || column < 0) return;
    this.move({ row, column }, event.shiftKey);
  }

  /** What is selected, as spreadsheets paste it: separators between thousands are only drawn. */
  selected(): CopiedRows {
    const { store } = this.#grid;
    const { top, bottom, left, right } = this.#range();
    const rowsMax = Math.max(1, Math.floor(copiedCellsMax / (right - left + 1)));
    const rows: Values[] = [];
    for (let row = top; row <= bottom && rows.length < rowsMax; row++)
      rows.push(store.cells(row).slice(left, right + 1));
    return { ...toClipboard(rows), rows: rows.length, rowsLeft: bottom + 1 - top - rows.length };
  }

  #copy(event: ClipboardEvent): void {
    if (!this.#used || event.clipboardData === null) return;
    const copied = this.selected();
    event.clipboardData.setData('text/plain', copied.text);
    event.preventDefault();
    this.#grid.options.onCopy?.(copied);
  }
}
