/** Keeps what a formatter must not change: every token, what stands between them, and the names of columns of MySQL. */

import { type Token, tokenize } from '@datahub/statement/sql/lexer';
import type { Dialect } from '@datahub/statement/types';

interface Read {
  text: string;
  tokens: Token[];
}

/** The formatted text, with names as they were. Throws if it might mean something else. */
export function keepMeaning(text: string, formatted: string, engine: Dialect): string {
  const read = (one: string): Read => ({
    text: one,
    tokens: tokenize(one, engine, { isDeclared: () => true }),
  });
  const [before, after] = [read(text), read(formatted)];
  const isSame = before.tokens.length === after.tokens.length;
  if (!isSame || !before.tokens.every((_, at) => isKept(before, after, at)))
    throw new Error('The formatted statement differs in more than white space.');
  return engine === 'postgres' ? formatted : withNames(before, after);
}

/** The token and what stands in front of it. Words may have another case. */
function isKept(before: Read, after: Read, at: number): boolean {
  const [one, other] = [before.tokens[at], after.tokens[at]] as [Token, Token];
  if (one.kind !== other.kind || one.text !== other.text) return false;
  if (one.kind === 'quoted' && textOf(before, one) !== textOf(after, other)) return false;
  const [gap, otherGap] = [gapBefore(before, at), gapBefore(after, at)];
  if (comments(gap) !== comments(otherGap)) return false;
  const previous = before.tokens[at - 1];
  if (previous === undefined) return true;
  // PostgreSQL joins strings only over a line break.
  if (previous.kind === 'quoted' && one.kind === 'quoted')
    return /[\n\r]/.test(gap) === /[\n\r]/.test(otherGap);
  return (gap === '') === (otherGap === '') || !isOne(previous, one);
}

const textOf = ({ text }: Read, { start, end }: Token) => text.slice(start, end);
const gapBefore = ({ text, tokens }: Read, at: number) =>
  text.slice(tokens[at - 1]?.end ?? 0, tokens[at]?.start);
/** A formatter indents comments. */
const comments = (gap: string) => gap.replaceAll(/\s+/g, '');

const operator = /^[-+*/<>=~!@#%^&|?$]$/;

/** True if the two can mean something else with a blank between them: `n'a'` is a string and `n 'a'` two words. */
function isOne(first: Token, second: Token): boolean {
  if (operator.test(first.text))
    return (
      /[@$&#]/.test(first.text) ||
      (operator.test(second.text) && !/^[-=<>*/+][-+]$/.test(first.text + second.text))
    );
  if (first.kind === 'word' && second.kind === 'quoted') return /^[BENX]$/.test(first.text);
  return first.kind !== 'symbol' && (second.kind !== 'symbol' || second.text === '$');
}

/** Of both engines. Other words can be names, whose case counts. */
const reserved = new Set(
  [
    'SELECT DISTINCT FROM WHERE AND OR XOR NOT IN IS NULL TRUE FALSE LIKE BETWEEN EXISTS AS ON USING JOIN INNER LEFT',
    'RIGHT OUTER CROSS NATURAL GROUP BY HAVING ORDER ASC DESC LIMIT UNION ALL WITH RECURSIVE CASE WHEN THEN ELSE INSERT',
    'INTO VALUES UPDATE SET DELETE REPLACE CALL INTERVAL FOR OVER PARTITION DIV MOD',
  ].flatMap((line) => line.split(' ')),
);

/** MySQL names a column by the text of its expression, so all that has no name of its own stays as it was. */
function withNames(before: Read, after: Read): string {
  const { tokens } = before;
  const ranges = unnamedItems(tokens);
  let written = '';
  let end = 0;
  let cases = 0;
  for (let at = 0; at < tokens.length; at++) {
    const last = ranges.get(at) ?? at;
    const [from, to] = [after.tokens[at], after.tokens[last]] as [Token, Token];
    const isEnd = from.text === 'END' && cases > 0;
    if (last === at) cases += isEnd ? -1 : from.text === 'CASE' ? 1 : 0;
    const isKeyword = (reserved.has(from.text) || isEnd) && tokens[at - 1]?.text !== '.' && !ranges.has(at);
    written += after.text.slice(end, from.start);
    written += isKeyword ? textOf(after, from) : before.text.slice(tokens[at]?.start, tokens[last]?.end);
    end = to.end;
    at = last;
  }
  return written + after.text.slice(end);
}

const listEnds = new Set(
  'FROM WHERE GROUP HAVING ORDER LIMIT FOR INTO LOCK PROCEDURE WINDOW UNION EXCEPT INTERSECT'.split(' '),
);

/** The first and last tokens of what a SELECT returns without `AS`. */
function unnamedItems(tokens: readonly Token[]): Map<number, number> {
  const items = new Map<number, number>();
  for (const [select, { kind, text }] of tokens.entries()) {
    if (kind !== 'word' || text !== 'SELECT') continue;
    let first = select + (/^(DISTINCT|ALL)$/.test(tokens[select + 1]?.text ?? '') ? 2 : 1);
    let depth = 0;
    for (let at = first; at <= tokens.length; at++) {
      const { kind, text } = tokens[at] ?? { kind: 'symbol', text: ')' };
      if (kind === 'symbol' && text === '(') depth++;
      const isEnd = depth === 0 && (kind === 'word' ? listEnds.has(text) : /^[,);]$/.test(text));
      if (kind === 'symbol' && text === ')') depth--;
      if (!isEnd) continue;
      if (at > first && tokens[at - 2]?.text !== 'AS') items.set(first, at - 1);
      if (text !== ',') break;
      first = at + 1;
    }
  }
  return items;
}
