/** Cells as spreadsheets paste them: fields between tabs, in quotes if they have tabs or line breaks. */

import { isNumberText, textOf } from './scan.ts';

export interface Copied {
  text: string;
  /** Cells that got an apostrophe, because a spreadsheet would run them. */
  guarded: number;
}

/** The beginning of what was selected. */
export interface CopiedRows extends Copied {
  rows: number;
  /** How many rows were selected and not copied, because they are too many. */
  rowsLeft: number;
}

/** What spreadsheets take for the beginning of a formula. */
const formula = /^[=+\-@\t\r]/;
const delimits = /[\t\r\n]/;

/** `rows` are JSON texts; NULL becomes an empty field, and the empty text two quotes. */
export function toClipboard(rows: readonly (readonly (string | undefined)[])[]): Copied {
  let guarded = 0;
  const fieldOf = (json: string | undefined): string => {
    if (json === undefined || json === 'null') return '';
    const text = textOf(json);
    const isRun = formula.test(text) && !isNumberText(text);
    if (isRun) guarded++;
    const safe = isRun ? `'${text}` : text;
    return safe === '' || delimits.test(safe) || safe.startsWith('"')
      ? `"${safe.replaceAll('"', '""')}"`
      : safe;
  };
  const text = rows.map((cells) => cells.map(fieldOf).join('\t')).join('\n');
  return { text, guarded };
}
