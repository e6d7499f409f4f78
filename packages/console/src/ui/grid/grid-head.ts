/** The head of a column: sorts by it, and changes its width. */

import type { RowStore, Sort } from '../../state/rows/row-store.ts';
import { hasOtherOrder } from '../../state/rows/sort-keys.ts';

/** What the head needs of its grid. */
interface HeadSurface {
  readonly store: RowStore;
  readonly sort: Sort | undefined;
  readonly lefts: readonly number[];
  readonly widths: readonly number[];
  sortBy(column: number): void;
  resize(column: number, width: number | undefined): void;
  readonly options: { onMenu?(column: number, at: HTMLElement): void };
}

export function makeHead(grid: HeadSurface, column: number): HTMLElement {
  const { name: stored = '', type = '', numeric = false, added } = grid.store.columns[column] ?? {};
  const name = added === 'confidence' ? 'confidence' : stored;
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
  small.append(added === 'label' ? 'label' : type);
  if (descending !== undefined && hasOtherOrder(type)) small.append(', sorted as text');
  cell.append(button, small, makeHandle(grid, column));
  const { onMenu } = grid.options;
  if (onMenu !== undefined) cell.append(makeMenuButton(name, (at) => onMenu(column, at)));
  return cell;
}

function makeMenuButton(name: string, open: (at: HTMLElement) => void): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  // The key M opens the menu of the active column.
  button.tabIndex = -1;
  button.className = 'grid-menu';
  button.setAttribute('aria-label', `Actions for the column ${name}`);
  button.title = 'Actions for the column (M)';
  button.addEventListener('click', () => open(button));
  return button;
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
