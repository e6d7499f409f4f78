/** The expressions of a SELECT's result. */

import type { Token } from './lexer.ts';

const listEnds = new Set([
  ...['FROM', 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH', 'FOR', 'WINDOW'],
  ...['INTO', 'LOCK', 'PROCEDURE'],
]);

/** Returns the expressions of the outermost SELECT; none if their number may differ from the number of columns. */
export function selectItems(tokens: readonly Token[]): Token[][] {
  let depth = 0;
  let at = tokens.findIndex((token) => {
    depth += nesting(token);
    return depth === 0 && token.kind === 'word' && token.text === 'SELECT';
  });
  if (at < 0) return [];
  const quantifier = tokens[at + 1]?.text;
  if (quantifier === 'DISTINCT' && tokens[at + 2]?.text === 'ON') return [];
  at += quantifier === 'DISTINCT' || quantifier === 'ALL' ? 2 : 1;
  const items: Token[][] = [[]];
  depth = 0;
  for (const token of tokens.slice(at)) {
    depth += nesting(token);
    if (depth === 0 && token.kind === 'word' && listEnds.has(token.text)) break;
    if (depth === 0 && token.text === ',' && token.kind === 'symbol') items.push([]);
    else items.at(-1)?.push(token);
  }
  // `*` stands for any number of columns.
  return items.some((item) => item.at(-1)?.text === '*') ? [] : items;
}

export function nesting({ kind, text }: Token): number {
  if (kind !== 'symbol') return 0;
  return text === '(' || text === '[' ? 1 : text === ')' || text === ']' ? -1 : 0;
}

export function withoutAlias(item: Token[]): Token[] {
  if (item.at(-2)?.kind === 'word' && item.at(-2)?.text === 'AS') return item.slice(0, -2);
  const last = item.at(-1);
  return item.length > 1 && (last?.kind === 'word' || last?.kind === 'quoted') ? item.slice(0, -1) : item;
}
