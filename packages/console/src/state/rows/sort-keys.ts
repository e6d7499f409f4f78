/** What rows are sorted by: numbers by all their digits, and dates by their time. */

import { compareNumbers } from './decimals.ts';
import { textOf } from './scan.ts';

/** A number as its text if a double would lose digits of it, or if it is none; undefined for a null. */
export type SortKey = string | number | undefined;

interface SortedColumn {
  type: string;
  numeric?: boolean | undefined;
}

/** A number of fewer characters keeps its digits as a double. */
const exactLength = 15;
const dateType = /^(date|timestamp)/i;
/** A date as `2026-11-24`, `12026-11-24` or `0044-03-15 BC`, with or without a time. */
const date = /^(-?)(\d{4,})(-.*?)Z?( BC)?$/;
const yearDigits = 7;
/** Years before the first count backwards. */
const yearsMax = 10 ** yearDigits;

/** True if the order of a type's texts is not that of its values. */
export const hasOtherOrder = (type: string): boolean =>
  /^(money|interval|time(?!s)|inet|cidr)|\[\]$/i.test(type);

/** The key of a cell, a JSON text; undefined if the row has no such member. */
export function keyOf(cell: string | undefined, column: SortedColumn | undefined): SortKey {
  if (cell === undefined || cell === 'null') return undefined;
  const text = textOf(cell);
  if (column?.numeric) {
    const value = Number(text);
    return text.length <= exactLength && !Number.isNaN(value) ? value : text;
  }
  return column !== undefined && dateType.test(column.type) ? timeKey(text) : text;
}

/** A text that sorts as the time does. */
function timeKey(text: string): string {
  if (text === '-infinity') return '';
  const [, minus, year = '', rest = '', era] = date.exec(text) ?? [];
  if (rest === '') return `2${text}`;
  if (minus === '' && era === undefined) return `1${year.padStart(yearDigits, '0')}${rest}`;
  return `0${String(yearsMax - Number(year)).padStart(yearDigits, '0')}${rest}`;
}

/** Compares places in a list of keys. Nulls come last in both directions, and equal keys keep their order. */
export function compareBy(
  keys: readonly SortKey[],
  { descending, numeric }: { descending: boolean; numeric: boolean },
): (a: number, b: number) => number {
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const [x, y] = [keys[a], keys[b]];
    if (x === y) return a - b;
    if (x === undefined) return 1;
    if (y === undefined) return -1;
    const areDoubles = typeof x === 'number' && typeof y === 'number';
    const order = numeric && !areDoubles ? compareNumbers(String(x), String(y)) : x < y ? -1 : x > y ? 1 : 0;
    return order === 0 ? a - b : sign * order;
  };
}
