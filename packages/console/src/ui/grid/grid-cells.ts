/** Draws cells and measures the width of columns. */

import { drawnText } from '../../state/rows/drawn.ts';
import { partsOf } from '../../state/rows/marks.ts';
import type { GridColumn, RowStore } from '../../state/rows/row-store.ts';
import { beginningOf, textOf, type Values } from '../../state/rows/scan.ts';

const charactersShownMax = 300;
/** A number of more characters is not drawn whole; the cell says how long it is. */
const numberMax = 120;
const numberStart = 24;
const widths = { min: 64, max: 380, padding: 26, character: 7.3 };
/** The narrowest column that a person can set. */
export const widthMin = 44;
const sampled = 60;

export interface Cell {
  element: HTMLElement;
  text: Text;
  /** The text that is drawn. Reading it from the page would be slower. */
  shown: string;
  kind: string;
  /** True if it has marks in place of characters that are not seen. */
  isMarked: boolean;
  hidden: boolean;
  /** The column of the cell, and the widths that it was placed with. */
  column: number;
  layout: readonly number[] | undefined;
}

export function makeCell(row: HTMLElement): Cell {
  const element = document.createElement('div');
  element.className = 'grid-cell';
  element.setAttribute('role', 'gridcell');
  const text = document.createTextNode('');
  element.append(text);
  row.append(element);
  return {
    element,
    text,
    shown: '',
    kind: '',
    isMarked: false,
    hidden: false,
    column: -1,
    layout: undefined,
  };
}

/**
 * `json` is the value's JSON text. It is always drawn as a text node, so it cannot become markup. Returns the width that
 * the cell needs: a number is never cut, because its part would be another number.
 */
export function drawCell(
  cell: Cell,
  json: string | undefined,
  {
    column,
    digit,
    confidence,
  }: { column: GridColumn | undefined; digit: number; confidence: string | undefined },
): number {
  if (column?.added !== undefined && json !== 'null') return drawAdded(cell, json, { column, confidence });
  const numeric = column?.numeric === true;
  if (json === undefined) draw(cell, '', 'absent');
  else if (json === 'null') draw(cell, 'null', numeric ? 'null right' : 'null');
  else if (json === '""') draw(cell, 'empty text', 'null');
  else {
    const text = textOf(json.length > 4_000 && json.startsWith('"') ? beginningOf(json, 2_000) : json);
    const drawn = column === undefined ? text : drawnText(text, column);
    if (numeric) {
      const whole = wholeNumber(drawn);
      draw(cell, whole, 'right');
      return widthOf(lengthOf(whole), digit);
    }
    drawText(cell, drawn.length > charactersShownMax ? `${drawn.slice(0, charactersShownMax)}…` : drawn);
  }
  return 0;
}

/** Below this confidence, a label is drawn in italics. */
const doubtfulBelow = 0.6;

/** What a classifier says about a row: a label, or its confidence as a bar with two digits. */
function drawAdded(
  cell: Cell,
  json: string | undefined,
  { column, confidence }: { column: GridColumn; confidence: string | undefined },
): number {
  if (column.added === 'label') {
    const kind =
      confidence === undefined ? 'corrected' : Number(confidence) < doubtfulBelow ? 'doubtful' : '';
    draw(cell, json === undefined ? '' : textOf(json), kind);
  } else if (json === undefined) draw(cell, 'by you', 'null right');
  else {
    cell.element.style.setProperty('--share', json);
    // Nothing is certain: 0.999 is not 1.00, and neither is 1.
    draw(cell, Math.min(0.99, Math.floor(Number(json) * 100) / 100).toFixed(2), 'confidence right');
  }
  return 0;
}

const widthOf = (characters: number, width = widths.character) =>
  Math.ceil(characters * width + widths.padding);

/** A number, or its beginning with its length, so that nobody takes a part for the number. */
const wholeNumber = (text: string): string =>
  text.length <= numberMax ? text : `${text.slice(0, numberStart)}… (${text.length} characters)`;

/** In digits: signs and letters, as in 1e+300, are wider. */
const lengthOf = (number: string): number => number.length * (/[^\d.,-]/.test(number) ? 1.35 : 1);

function drawText(cell: Cell, text: string): void {
  const parts = partsOf(text);
  if (parts === undefined) {
    draw(cell, text, '');
    return;
  }
  setKind(cell, '');
  if (cell.isMarked && cell.shown === text) return;
  cell.isMarked = true;
  cell.shown = text;
  const nodes = parts.map((part) => {
    if (!part.isMark) return part.text;
    const mark = document.createElement('span');
    mark.className = 'mark';
    mark.textContent = part.text;
    return mark;
  });
  cell.element.replaceChildren(...nodes);
}

function draw(cell: Cell, text: string, kind: string): void {
  if (cell.isMarked) {
    cell.isMarked = false;
    cell.element.replaceChildren(cell.text);
    cell.text.data = text;
  } else if (cell.shown !== text) cell.text.data = text;
  cell.shown = text;
  setKind(cell, kind);
}

function setKind(cell: Cell, kind: string): void {
  if (cell.kind === kind) return;
  cell.kind = kind;
  cell.element.className = kind === '' ? 'grid-cell' : `grid-cell ${kind}`;
}

/** Measures the first rows, and some rows of the whole result, because numbers often grow with the rows. */
export function widthsOf(store: RowStore, digit: number): number[] {
  const heads = store.columns.map(({ name, type, added }) =>
    added === 'confidence' ? 16 : Math.max(name.length + 4, type.length * 0.9),
  );
  const longest = heads.map(() => 0);
  const step = Math.max(1, Math.floor(store.length / sampled));
  const values: Values = [];
  for (let i = 0; i < 2 * sampled; i++) {
    const row = i < sampled ? i : store.length - 1 - (i - sampled) * step;
    if (row < 0 || row >= store.length) continue;
    store.cells(row, values);
    for (const [at, json] of values.entries()) {
      const column = store.columns[at];
      if (json === undefined || column === undefined) continue;
      if (column.added === 'confidence') {
        longest[at] = 14;
        continue;
      }
      const length = column.numeric ? lengthOf(wholeNumber(drawnText(textOf(json), column))) : json.length;
      longest[at] = Math.max(longest[at] as number, length);
    }
  }
  return heads.map((head, at) => {
    const cells = widthOf(longest[at] as number, store.columns[at]?.numeric ? digit : undefined);
    const usual = Math.min(widths.max, Math.max(widths.min, widthOf(head), cells));
    return store.columns[at]?.numeric ? Math.max(usual, cells) : usual;
  });
}

/** Reads the row height from the style sheet, where it is larger for touch screens. */
export function heightOf(element: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 28;
}

/** The width of a digit. All digits are equally wide. */
export function digitWidthOf(element: HTMLElement): number {
  // `font` is empty for digits of one width, which it cannot express.
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(element);
  const context = new OffscreenCanvas(1, 1).getContext('2d');
  if (context === null || fontSize === '') return widths.character;
  context.font = `${fontWeight} ${fontSize} ${fontFamily}`;
  return Math.max(...[...'0123456789-'].map((one) => context.measureText(one).width)) || widths.character;
}
