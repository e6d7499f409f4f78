/**
 * Finds the columns of a result whose values may be added: sums and counts of groups. Whatever it does not understand,
 * it leaves out.
 */

import type { Dialect } from '../types.ts';
import type { Token } from './lexer.ts';
import { selectItems, withoutAlias } from './select-list.ts';
import { bySyntax } from './syntax.ts';
import { TokenReader } from './token-reader.ts';

/** The rows of different SELECTs can be anything, and subtotals contain other rows. */
const otherRows = new Set(['UNION', 'INTERSECT', 'EXCEPT', 'MINUS', 'GROUPING', 'ROLLUP', 'CUBE']);
const filling = new Set(['COALESCE', 'IFNULL']);

export function sumColumns(text: string, tokens: readonly Token[], dialect: Dialect): Set<string> {
  if (tokens.some(({ kind, text: word }) => kind === 'word' && otherRows.has(word))) return new Set();
  const items = selectItems(tokens.filter(({ kind, text: symbol }) => kind !== 'symbol' || symbol !== ';'));
  const sums = new Set<string>();
  const others = new Set<string>();
  for (const item of items) {
    const name = nameOf(text, item, dialect);
    // The result gives the second of two equal names another one.
    const isFirst = !sums.has(name) && !others.has(name);
    if (isFirst && isSum(withoutAlias(item))) sums.add(name);
    else {
      sums.delete(name);
      others.add(name);
    }
  }
  return sums;
}

/** Names an expression as the server names its column. */
function nameOf(text: string, item: Token[], dialect: Dialect): string {
  const expression = withoutAlias(item);
  const [first, last] = [expression[0], item.at(-1)];
  if (last === undefined || first === undefined) return '';
  const isNamed = expression.length < item.length;
  if (!isNamed && bySyntax(dialect, { postgres: false, mysql: true }))
    return text.slice(first.start, last.end);
  const { kind, start, end } = isNamed ? last : first;
  const written = text.slice(start, end);
  if (kind === 'quoted') return written.slice(1, -1).replaceAll(/(["'`])\1/g, '$1');
  return bySyntax(dialect, { postgres: written.toLowerCase(), mysql: written });
}

function isSum(expression: Token[]): boolean {
  const reader = new TokenReader(expression);
  return takesSum(reader) && reader.isOver;
}

/** Far more than people write. */
const depthMax = 50;

/** Goes past sums that are added or subtracted. */
function takesSum(reader: TokenReader, depth = 0): boolean {
  if (depth > depthMax) return false;
  do if (!takesTerm(reader, depth + 1)) return false;
  while (reader.takes('+') || reader.takes('-'));
  return true;
}

function takesTerm(reader: TokenReader, depth: number): boolean {
  if (reader.takes('(')) {
    if (!takesSum(reader, depth) || !reader.takes(')')) return false;
  } else if (reader.takes('CAST', '(')) {
    if (!takesSum(reader, depth) || !reader.is('AS') || !takesRest(reader)) return false;
  } else if (reader.takes('ROUND', '(')) {
    if (!takesSum(reader, depth) || !(reader.is(',') || reader.is(')')) || !takesRest(reader)) return false;
  } else if (reader.isAny(filling)) {
    reader.at++;
    if (!reader.takes('(') || !takesSum(reader, depth) || !reader.takes(',') || !takesZero(reader))
      return false;
  } else {
    if (!reader.takes('SUM') && !reader.takes('COUNT')) return false;
    if (reader.is('DISTINCT', 1) || !reader.is('(') || !reader.takesGroup()) return false;
    if (reader.takes('FILTER') && !reader.takesGroup()) return false;
  }
  while (reader.takes('::')) {
    reader.at++;
    if (reader.is('(') && !reader.takesGroup()) return false;
  }
  return true;
}

function takesZero(reader: TokenReader): boolean {
  const isZero = reader.next?.kind === 'number' && Number(reader.next.text) === 0;
  reader.at++;
  return isZero && reader.takes(')');
}

/** Goes past the other arguments of the open call. */
function takesRest(reader: TokenReader): boolean {
  while (!reader.isOver && !reader.is(')')) {
    if (!reader.is('(')) reader.at++;
    else if (!reader.takesGroup()) return false;
  }
  return reader.takes(')');
}
