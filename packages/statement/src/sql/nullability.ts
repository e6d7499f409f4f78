/**
 * Finds out from the text of a statement which columns cannot be NULL. The rules err on one side only: they may call a
 * column nullable that is never NULL, but never the reverse.
 */

import type { ColumnFacts, Dialect } from '../types.ts';
import { keptTables, tableOfItem } from './kept-tables.ts';
import type { Token } from './lexer.ts';
import { isCount, isNeverNull, type ProofOptions } from './never-null.ts';
import { Places } from './places.ts';
import { selectItems, withoutAlias } from './select-list.ts';
import { bySyntax } from './syntax.ts';

export const noFacts: ColumnFacts = {
  keepsNotNull: false,
  keptTables: new Set(),
  kept: [],
  neverNull: [],
  variables: [],
  computed: [],
  functions: new Set(),
};

/** With these words, a column can be NULL although it is NOT NULL in its table. */
const outerWords = new Set(['LEFT', 'RIGHT', 'FULL']);
/**
 * Beside RETURNING, `old` is NULL for an INSERT, `new` for a DELETE, and a MERGE can have rows without a source. Names in
 * quotes have the same meaning. See docs/adr/0013-returning.md.
 */
const absentRows = /^"?(old|new|merge)"?$/i;
const writeWords = new Set(['INSERT', 'UPDATE', 'DELETE']);
/** With these words, rows have NULL for expressions that they are not grouped by, even for literals. */
const groupingWords = new Set(['GROUPING', 'ROLLUP', 'CUBE']);
const combiningWords = new Set(['UNION', 'INTERSECT', 'EXCEPT', 'MINUS']);
const queryWords = new Set(['SELECT', 'TABLE']);

export function columnFacts(
  text: string,
  tokens: readonly Token[],
  { dialect, verb }: { dialect: Dialect; verb: string },
): ColumnFacts {
  const isMysql = bySyntax(dialect, { postgres: false, mysql: true });
  const has = (words: ReadonlySet<string>) =>
    tokens.some(({ kind, text: word }) => kind === 'word' && words.has(word));
  const isReturning = has(new Set(['RETURNING']));
  const isTraced = !isReturning || (!isMysql && !mayReturnAbsent(text, tokens));
  const isGrouped = has(groupingWords);
  if (writeWords.has(verb) && isReturning)
    return { ...noFacts, keepsNotNull: isTraced && !isGrouped && !has(outerWords) };
  if (!queryWords.has(verb)) return noFacts;
  const isCombined = has(combiningWords);
  // With the hub's sql_mode, columns beside an aggregate are NULL if there are no rows.
  const mayAggregate = isMysql && (has(new Set(['HAVING'])) || tokens.some((_, i) => isOtherCall(tokens, i)));
  const items = isGrouped ? [] : selectItems(tokens);
  const functions = new Set<string>();
  const proof = { isMysql, functions, onlyCounts: mayAggregate };
  const neverNull = isCombined ? [] : items.map((item) => findNeverNull(text, item, proof));
  const variables = isCombined ? [] : items.map(variableOf);
  const computed = isCombined ? [] : computedItems(tokens, items);
  const { tables, aliases } = keptTables(text, isGrouped || mayAggregate ? [] : tokens, dialect);
  // `t.id` looks like `t.` with an alias.
  const tableOf = (item: Token[]) =>
    tableOfItem(text, item, dialect) ?? tableOfItem(text, withoutAlias(item), dialect);
  const kept = items.map((item) => aliases.has(tableOf(item) ?? ''));
  // PostgreSQL reports no table for the columns of a UNION, so they need no exclusion here.
  const keepsNotNull =
    isTraced && !isGrouped && !has(outerWords) && !mayAggregate && !(isMysql && isCombined);
  return { keepsNotNull, keptTables: tables, kept, neverNull, variables, computed, functions };
}

const mayReturnAbsent = (text: string, tokens: readonly Token[]) =>
  tokens.some(
    ({ kind, start, end }) =>
      (kind === 'word' || kind === 'quoted') && absentRows.test(text.slice(start, end)),
  );

function variableOf(item: Token[]): string | undefined {
  const [token, ...others] = withoutAlias(item);
  return token?.kind === 'variable' && others.length === 0 ? token.text : undefined;
}

/** Words of an expression that are no names of columns. */
const ownWords = new Set([
  'SELECT',
  'CASE',
  'WHEN',
  'THEN',
  'ELSE',
  'END',
  'NULL',
  'TRUE',
  'FALSE',
  'DIV',
  'MOD',
]);

function computedItems(tokens: readonly Token[], items: Token[][]): (boolean | 'alone')[] {
  const places = new Places(tokens, false);
  const parts = new Set(tokens.filter(({ kind }, i) => kind === 'variable' && places.isComputed(i)));
  return items.map((item) => {
    if (item[0]?.text === 'CAST' || !item.some((token) => parts.has(token))) return false;
    const expression = withoutAlias(item);
    return expression.some((token, i) => mayBeColumn(token, expression[i + 1])) || 'alone';
  });
}

const mayBeColumn = ({ kind, text }: Token, next: Token | undefined): boolean =>
  (kind === 'word' || kind === 'quoted') && next?.text !== '(' && !ownWords.has(text);

/** With `onlyCounts`, all other expressions can be NULL. */
function findNeverNull(
  text: string,
  item: Token[],
  { onlyCounts, ...proof }: ProofOptions & { onlyCounts: boolean },
): boolean {
  // The last word can be an alias, or belong to the expression, as in `a IS NULL`.
  return [item, withoutAlias(item)].some((expression) =>
    onlyCounts ? isCount(expression, proof) : isNeverNull(text, expression, proof),
  );
}

/** Words that can precede a parenthesis without being a function call. */
const callless = new Set([
  ...['ALL', 'AND', 'ANY', 'AS', 'BETWEEN', 'BY', 'CASE', 'DISTINCT', 'DIV', 'ELSE', 'EXISTS', 'FROM', 'IN'],
  ...['IS', 'JOIN', 'LATERAL', 'LIKE', 'LIMIT', 'NOT', 'OFFSET', 'ON', 'OR', 'OVER', 'SELECT', 'SOME'],
  ...['THEN', 'USING', 'VALUES', 'WHEN', 'WHERE', 'XOR', 'STRAIGHT_JOIN', 'INDEX', 'KEY', 'PARTITION'],
  ...['CHAR', 'DATETIME', 'DECIMAL', 'TIME', 'VARCHAR'],
]);
/** Common functions that are not aggregates. Any other function may be one, because users can define aggregates. */
const scalars = new Set([
  ...[
    'ABS',
    'CAST',
    'CEIL',
    'CEILING',
    'CHAR_LENGTH',
    'COALESCE',
    'CONCAT',
    'CONCAT_WS',
    'CONVERT',
    'CURDATE',
  ],
  ...['DATE', 'DATEDIFF', 'DATE_ADD', 'DATE_FORMAT', 'DATE_SUB', 'DAY', 'DENSE_RANK', 'EXTRACT', 'FIELD'],
  ...['FIND_IN_SET', 'FLOOR', 'GREATEST', 'HEX', 'HOUR', 'IF', 'IFNULL', 'INSTR', 'JSON_CONTAINS'],
  ...['JSON_EXTRACT', 'JSON_UNQUOTE', 'JSON_VALUE', 'LAST_DAY', 'LCASE', 'LEAST', 'LENGTH', 'LOCATE'],
  ...['LOWER', 'LPAD', 'LTRIM', 'MD5', 'MINUTE', 'MOD', 'MONTH', 'NOW', 'NULLIF', 'POW', 'POWER', 'QUARTER'],
  ...['RANK', 'REPEAT', 'REPLACE', 'REVERSE', 'ROUND', 'ROW_NUMBER', 'RPAD', 'RTRIM', 'SECOND', 'SHA1'],
  ...['SHA2', 'SIGN', 'SQRT', 'STR_TO_DATE', 'SUBSTR', 'SUBSTRING', 'TIMESTAMPDIFF', 'TRIM', 'TRUNCATE'],
  ...['UCASE', 'UNIX_TIMESTAMP', 'UPPER', 'UTC_TIMESTAMP', 'WEEK', 'YEAR'],
]);

function isOtherCall(tokens: readonly Token[], at: number): boolean {
  const { kind, text } = tokens[at] as Token;
  if (tokens[at + 1]?.text !== '(') return false;
  if (kind === 'quoted') return true;
  const isQualified = tokens[at - 1]?.text === '.';
  return kind === 'word' && (isQualified || !(callless.has(text) || scalars.has(text)));
}
