/** How one cell is drawn, and how wide its column is. */

import type { RowStore } from './row-store.ts';
import { grouped, textOf } from './scan.ts';

const charactersShownMax = 300;
const widths = { min: 64, max: 380, padding: 26, character: 7.3 };
const sampled = 60;

export interface Cell {
  element: HTMLElement;
  text: Text;
  kind: string;
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
  return { element, text, kind: '', column: -1, layout: undefined };
}

/** `json` is the value's JSON text. It goes into a text node, whatever it contains. */
export function drawCell(cell: Cell, json: string | undefined, numeric: boolean): void {
  const { text, kind } = shown(json, numeric);
  if (cell.text.data !== text) cell.text.data = text;
  if (cell.kind === kind) return;
  cell.kind = kind;
  cell.element.className = kind === '' ? 'grid-cell' : `grid-cell ${kind}`;
}

function shown(json: string | undefined, numeric: boolean): { text: string; kind: string } {
  if (json === undefined) return { text: '', kind: 'absent' };
  if (json === 'null') return { text: 'null', kind: numeric ? 'null right' : 'null' };
  if (json === '""') return { text: 'empty text', kind: 'null' };
  const text = textOf(json.length > 4_000 && json.startsWith('"') ? cut(json) : json);
  if (numeric) return { text: grouped(text), kind: 'right' };
  return {
    text: text.length > charactersShownMax ? `${text.slice(0, charactersShownMax)}…` : text,
    kind: '',
  };
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
