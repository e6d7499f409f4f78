/** Draws cells and measures the width of columns. */

import type { RowStore } from '../../state/rows/row-store.ts';
import { grouped, textOf, type Values } from '../../state/rows/scan.ts';

const charactersShownMax = 300;
const widths = { min: 64, max: 380, padding: 26, character: 7.3 };
const sampled = 60;

export interface Cell {
  element: HTMLElement;
  text: Text;
  /** The text that is drawn. Reading it from the page would be slower. */
  shown: string;
  kind: string;
  hidden: boolean;
  /** The column of the cell, and the widths that it was placed with. */
  column: number;
  layout: number[] | undefined;
}

export function makeCell(row: HTMLElement): Cell {
  const element = document.createElement('div');
  element.className = 'grid-cell';
  element.setAttribute('role', 'gridcell');
  const text = document.createTextNode('');
  element.append(text);
  row.append(element);
  return { element, text, shown: '', kind: '', hidden: false, column: -1, layout: undefined };
}

/** `json` is the value's JSON text. It is always drawn as a text node, so it cannot become markup. */
export function drawCell(cell: Cell, json: string | undefined, numeric: boolean): void {
  if (json === undefined) draw(cell, '', 'absent');
  else if (json === 'null') draw(cell, 'null', numeric ? 'null right' : 'null');
  else if (json === '""') draw(cell, 'empty text', 'null');
  else {
    const text = textOf(json.length > 4_000 && json.startsWith('"') ? cut(json) : json);
    if (numeric) draw(cell, grouped(text), 'right');
    else draw(cell, text.length > charactersShownMax ? `${text.slice(0, charactersShownMax)}…` : text, '');
  }
}

function draw(cell: Cell, text: string, kind: string): void {
  if (cell.shown !== text) {
    cell.shown = text;
    cell.text.data = text;
  }
  if (cell.kind === kind) return;
  cell.kind = kind;
  cell.element.className = kind === '' ? 'grid-cell' : `grid-cell ${kind}`;
}

/** Returns the beginning of a long text, without a partial escape at its end. */
function cut(json: string): string {
  return `${json.slice(0, 2_000).replace(/\\[^\\]*$/, '')}"`;
}

/** Measures the first rows, and some rows of the whole result, because numbers often grow with the rows. */
export function widthsOf(store: RowStore): number[] {
  const longest = store.columns.map(({ name, type }) => Math.max(name.length + 2, type.length * 0.9));
  const step = Math.max(1, Math.floor(store.length / sampled));
  const values: Values = [];
  for (let i = 0; i < 2 * sampled; i++) {
    const row = i < sampled ? i : store.length - 1 - (i - sampled) * step;
    if (row < 0 || row >= store.length) continue;
    store.cells(row, values);
    for (const [column, json] of values.entries()) {
      if (json === undefined) continue;
      const drawn = store.columns[column]?.numeric ? grouped(json).length : json.length;
      longest[column] = Math.max(longest[column] as number, drawn);
    }
  }
  return longest.map((characters) =>
    Math.round(Math.min(widths.max, Math.max(widths.min, characters * widths.character + widths.padding))),
  );
}

/** Reads the row height from the style sheet, where it is larger for touch screens. */
export function heightOf(element: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 28;
}
