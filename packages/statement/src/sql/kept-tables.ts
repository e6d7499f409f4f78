/**
 * Finds the tables of a SELECT whose rows no outer join replaces with NULLs: those of the outermost FROM that are not on
 * the right of a LEFT JOIN. Whatever it does not understand, it leaves out.
 */

import type { Dialect } from '../types.ts';
import { isWord, type Token } from './lexer.ts';
import { bySyntax } from './syntax.ts';

export interface KeptTables {
  /** The names by which the statement refers to them. */
  aliases: ReadonlySet<string>;
  /** Lower-case names of tables whose columns come from nowhere else in the statement. */
  tables: ReadonlySet<string>;
}

const none: KeptTables = { aliases: new Set(), tables: new Set() };

/** Words that end the list of relations. */
const ends = new Set([
  ...['WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH', 'FOR', 'WINDOW'],
  ...['INTO', 'LOCK', 'PROCEDURE'],
]);
const joinWords = new Set(['JOIN', 'STRAIGHT_JOIN', 'LEFT', 'INNER', 'CROSS', 'NATURAL']);
const conditionWords = new Set(['ON', 'USING']);
const combining = new Set(['UNION', 'INTERSECT', 'EXCEPT', 'MINUS']);

export function keptTables(text: string, tokens: readonly Token[], dialect: Dialect): KeptTables {
  const outer = outermost(tokens);
  const select = outer.findIndex((token) => isWord(token, 'SELECT'));
  const from = outer.findIndex(
    (token, i) => i > select && isWord(token, 'FROM') && !isWord(outer[i - 1], 'DISTINCT'),
  );
  if (select < 0 || from < 0) return none;
  const rest = outer.slice(from + 1);
  // The tables on the left of a RIGHT or FULL join, and the rows of other SELECTs, are not traced.
  if (rest.some((token, i) => token.kind === 'word' && isOther(token.text, rest[i + 1]))) return none;
  const end = rest.findIndex(({ kind, text: word }) => kind === 'word' && ends.has(word));
  const nameOf = (token: Token | undefined) => readName(text, token, dialect);
  const relations = readRelations(end < 0 ? rest : rest.slice(0, end), nameOf);
  if (relations === undefined) return none;
  const ctes = new Set(outer.slice(0, select).map((token) => nameOf(token)?.toLowerCase()));
  const plain = relations.filter(({ name, isQualified }) => isQualified || !ctes.has(name.toLowerCase()));
  const names = new Set(plain.map(({ name }) => name.toLowerCase()));
  const aliases = new Set(plain.map(({ alias }) => alias));
  // A subquery on the right of a LEFT JOIN can pass on the columns of a table on the left.
  if (tokens.some((token) => isWord(token, 'LATERAL'))) return { aliases, tables: none.tables };
  const counts = occurrences(text, tokens, names);
  return { aliases, tables: new Set([...names].filter((name) => counts.get(name) === 1)) };
}

/** Returns the table of an item such as `t.id`; undefined for any other expression. */
export function tableOfItem(text: string, item: readonly Token[], dialect: Dialect): string | undefined {
  const [table, dot, column] = item;
  if (item.length !== 3 || dot?.text !== '.' || readName(text, column, dialect) === undefined)
    return undefined;
  return readName(text, table, dialect);
}

interface Relation {
  name: string;
  isQualified: boolean;
  alias: string;
}

type NameOf = (token: Token | undefined) => string | undefined;

/** Returns the plain tables that are kept. Undefined if a join has no condition of its own, as in nested joins. */
function readRelations(tokens: readonly Token[], nameOf: NameOf): Relation[] | undefined {
  const kept: Relation[] = [];
  let at = 0;
  let [isNullable, needsCondition] = [false, false];
  while (at < tokens.length) {
    const relation = readRelation(tokens, at, nameOf);
    if (relation !== undefined && !isNullable) kept.push(relation);
    let hasCondition = false;
    for (; at < tokens.length && !isSeparator(tokens, at); at++)
      hasCondition ||= tokens[at]?.kind === 'word' && conditionWords.has(tokens[at]?.text ?? '');
    if (needsCondition !== hasCondition) return undefined;
    const words: string[] = [];
    if (tokens[at]?.text === ',') at++;
    else {
      while (at < tokens.length && isJoinWord(tokens[at])) words.push(tokens[at++]?.text ?? '');
    }
    isNullable = words.includes('LEFT');
    needsCondition = words.length > 0 && !words.includes('CROSS') && !words.includes('NATURAL');
  }
  return kept;
}

/** Reads `name`, `schema.name`, each with or without an alias. Undefined for anything else. */
function readRelation(tokens: readonly Token[], from: number, nameOf: NameOf): Relation | undefined {
  let at = from;
  let name = nameOf(tokens[at++]);
  let isQualified = false;
  while (tokens[at]?.text === '.' && tokens[at]?.kind === 'symbol') {
    name = nameOf(tokens[at + 1]);
    isQualified = true;
    at += 2;
  }
  if (name === undefined) return undefined;
  if (isWord(tokens[at], 'AS')) at++;
  let alias = name;
  if (at < tokens.length && !isSeparator(tokens, at) && !isCondition(tokens[at])) {
    const given = nameOf(tokens[at++]);
    if (given === undefined) return undefined;
    alias = given;
  }
  const isComplete = at >= tokens.length || isSeparator(tokens, at) || isCondition(tokens[at]);
  return isComplete ? { name, isQualified, alias } : undefined;
}

const isCondition = (token: Token | undefined) => token?.kind === 'word' && conditionWords.has(token.text);
const isJoinWord = (token: Token | undefined) =>
  token?.kind === 'word' && (joinWords.has(token.text) || token.text === 'OUTER');

/** `LEFT` is also a function. Its parenthesis follows. */
function isSeparator(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token?.kind === 'symbol') return token.text === ',';
  return isJoinWord(token) && !isWord(token, 'OUTER') && tokens[at + 1]?.text !== '(';
}

const isOther = (word: string, next: Token | undefined) =>
  combining.has(word) || ((word === 'RIGHT' || word === 'FULL') && next?.text !== '(');

/** Returns the tokens outside of all brackets, with the brackets themselves. */
function outermost(tokens: readonly Token[]): Token[] {
  let depth = 0;
  return tokens.filter(({ kind, text }) => {
    const isBracket = kind === 'symbol' && '()[]'.includes(text);
    if (isBracket && (text === ')' || text === ']')) depth--;
    const isOuter = depth === 0;
    if (isBracket && (text === '(' || text === '[')) depth++;
    return isOuter;
  });
}

/** Returns the name as the server compares it; undefined for a token that is no name. */
function readName(text: string, token: Token | undefined, dialect: Dialect): string | undefined {
  if (token === undefined) return undefined;
  const raw = text.slice(token.start, token.end);
  const { quote, fold } = bySyntax(dialect, {
    postgres: { quote: '"', fold: (name: string) => name.toLowerCase() },
    // Whether names with other capitals are the same depends on the server.
    mysql: { quote: '`', fold: (name: string) => name },
  });
  if (token.kind === 'word') return fold(raw);
  if (token.kind !== 'quoted' || !raw.startsWith(quote)) return undefined;
  return raw.slice(1, -1).replaceAll(quote + quote, quote);
}

/** How often each of the names occurs other than in front of a column. */
function occurrences(
  text: string,
  tokens: readonly Token[],
  names: ReadonlySet<string>,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [i, token] of tokens.entries()) {
    if ((token.kind !== 'word' && token.kind !== 'quoted') || tokens[i + 1]?.text === '.') continue;
    const raw = text.slice(token.start, token.end).toLowerCase();
    for (const name of [raw, raw.slice(1, -1)])
      if (names.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
