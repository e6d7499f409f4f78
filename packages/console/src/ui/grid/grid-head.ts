/** The head of a column: sorts by it, and changes its width. */

import type { RowStore, Sort } from '../../state/rows/row-store.ts';

/** What the head needs of its grid. */
interface HeadSurface {
  readonly store: RowStore;
  readonly sort: Sort | undefined;
  readonly lefts: readonly number[];
  readonly widths: readonly number[];
  sortBy(column: number): void;
  resize(column: number, width: number | undefined): void;
}

export function makeHead(grid: HeadSurface, column: number): HTMLElement {
  const { name = '', type = '', numeric = false } = grid.store.columns[column] ?? {};
  const cell = document.createElement('div');
  cell.setAttribute('role', 'columnheader');
  cell.setAttribute('aria-colindex', String(column + 1));
  const descending = grid.sort?.column === column ? grid.sort.descending : undefined;
  cell.setAttribute('aria-sort', descending === undefined ? 'none' : descending ? 'descending' : 'ascending');
  cell.className = numeric ? 'grid-title right' : 'grid-title';
  cell.style.left = `${grid.lefts[column]}px`;
  cell.style.width = `${grid.widths[column]}px`;
  const button = document.createElement('button');
  button.type = 'button';
  button.tabIndex = -1;
  button.title = `Sort by ${name}`;
  button.append(name);
  button.addEventListener('click', () => grid.sortBy(column));
  const small = document.createElement('small');
  small.append(type);
  cell.append(button, small, makeHandle(grid, column));
  return cell;
}

/** Dragging it changes the width; a double click makes the column as wide as its values need. */
function makeHandle(grid: HeadSurface, column: number): HTMLElement {
  const handle = document.createElement('span');
  handle.className = 'grid-handle';
  handle.title = 'Drag to change the width; + and − change that of the active column';
  handle.setAttribute('aria-hidden', 'true');
  handle.addEventListener('dblclick', () => grid.resize(column, undefined));
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    // The head is drawn again while it moves, so the window gets the events.
    event.preventDefault();
    event.stopPropagation();
    const [startX, startWidth] = [event.clientX, grid.widths[column] as number];
    const move = ({ clientX }: PointerEvent) => grid.resize(column, startWidth + clientX - startX);
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  });
  return handle;
}
