/** How one cell is drawn, and how wide its column is. */

import type { RowStore } from './row-store.ts';
import { grouped, textOf } from './scan.ts';

const charactersShownMax = 300;
const widths = { min: 64, max: 380, padding: 26, character: 7.3 };
const sampled = 60;

export interface Cell {
  element: HTMLElement;
  text: Text;
  /** What is drawn: to ask the page would be slower. */
  shown: string;
  kind: string;
  hidden: boolean;
  /** Where it was placed, and by which widths. */
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

/** `json` is the value's JSON text. It goes into a text node, whatever it contains. */
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

/** The beginning of a long text, without an escape that was cut in half. */
function cut(json: string): string {
  return `${json.slice(0, 2_000).replace(/\\[^\\]*$/, '')}"`;
}

export function widthsOf(store: RowStore): number[] {
  const rows = Math.min(sampled, store.length);
  return store.columns.map(({ name, type }, column) => {
    let longest = Math.max(name.length + 2, type.length * 0.9);
    for (let row = 0; row < rows; row++) {
      const json = store.cells(row)[column];
      if (json !== undefined) longest = Math.max(longest, json.length * (json.startsWith('"') ? 1 : 1.15));
    }
    return Math.round(
      Math.min(widths.max, Math.max(widths.min, longest * widths.character + widths.padding)),
    );
  });
}

/** Rows are as high as the style sheet says, which is more where a finger points. */
export function heightOf(element: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 28;
}
