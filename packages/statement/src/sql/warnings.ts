/** Finds uses of variables that are probably mistakes, even if the database accepts them. */

import type { StatementWarning } from '../types.ts';
import { lineAndColumn, type Token } from './lexer.ts';
import { writesInWith } from './statement-kind.ts';

/** The most warnings that are listed. */
const warningsMax = 20;

const variableInText = /(?<![\w:]):([A-Za-z_]\w{0,63})(?!\w)/g;

interface Circumstances {
  /** The names in the query's context. */
  declared: ReadonlySet<string>;
  /** What the engine refuses. */
  writer: { refusesLocks: boolean; writesInWith: boolean };
  /** Uses of lists that the database gets as JSON text, or that it would compare. */
  lists: readonly { start: number; end: number; isCompared: boolean }[];
  /** Uses of variables that are declared as JSON, and that the database compares as texts. */
  jsonTexts: readonly { start: number; end: number }[];
  /** The verb of a statement that only reads. */
  reads: string | undefined;
}

export function findWarnings(
  text: string,
  tokens: readonly Token[],
  { declared, writer, lists, jsonTexts, reads }: Circumstances,
): StatementWarning[] {
  const known = new Set([
    ...declared,
    ...tokens.filter(({ kind }) => kind === 'variable').map((token) => token.text),
  ]);
  const found = [
    ...quotedVariables(text, tokens, known),
    ...orderVariables(tokens),
    ...tableVariables(tokens),
    ...sliceBounds(tokens),
    ...listUses(text, tokens, lists),
    ...jsonUses(text, jsonTexts),
    ...(reads === undefined ? [] : rowLocks(tokens, writer.refusesLocks)),
    ...(reads === undefined || explains.has(reads) ? [] : withWrites(tokens, writer.writesInWith)),
  ].sort((a, b) => a.at - b.at);
  return found
    .slice(0, warningsMax)
    .map(({ code, detail, at }) => ({ code, detail, ...lineAndColumn(text, at) }));
}

interface Found {
  code: string;
  detail: string;
  at: number;
}

/**
 * Finds strings that are only `:name`, perhaps between wildcards, or that contain `:name` of a variable of the query.
 */
function* quotedVariables(
  text: string,
  tokens: readonly Token[],
  known: ReadonlySet<string>,
): Iterable<Found> {
  for (const { kind, start, end } of tokens) {
    if (kind !== 'quoted' || !/^[eE]?['"]/.test(text.slice(start, start + 2))) continue;
    const quoted = text.slice(start, end);
    const isAlone = /^.?['"]\s*[%_]*:[A-Za-z_]\w{0,63}[%_]*\s*['"]$/.test(quoted);
    for (const { 0: variable, 1: name = '', index } of quoted.matchAll(variableInText)) {
      if (!isAlone && !known.has(name)) continue;
      const detail = `${variable} is in quotes, so it is plain text and not a variable. Remove the quotes. To build a pattern, concatenate, as in '%' || :name or CONCAT('%', :name).`;
      yield { code: 'QUOTED_VARIABLE', detail, at: start + index };
    }
  }
}

/** Finds items of ORDER BY that are only a variable. */
function* orderVariables(tokens: readonly Token[]): Iterable<Found> {
  let depth = 0;
  /** The depths of the open ORDER BY clauses. */
  const orders: number[] = [];
  for (const [i, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === 'symbol' && text === '(') depth++;
    else if (kind === 'symbol' && text === ')') depth--;
    // A text can close more parentheses than it opens.
    while (orders.length > 0 && (orders.at(-1) as number) > depth) orders.pop();
    const before = tokens[i - 1];
    if (kind === 'word' && text === 'BY' && before?.text === 'ORDER') orders.push(depth);
    else if (kind === 'word' && endsOrder.has(text) && orders.at(-1) === depth) orders.pop();
    const isFirst = before?.kind === 'word' ? before.text === 'BY' : before?.text === ',';
    if (kind !== 'variable' || !isFirst || orders.at(-1) !== depth) continue;
    const next = tokens[i + 1];
    if (next !== undefined && next.kind !== 'word' && next.text !== ',' && next.text !== ')') continue;
    const detail = `ORDER BY :${text} does not sort, because the value is the same for all rows. A variable cannot name a column; use CASE :${text} WHEN 'name' THEN name END.`;
    yield { code: 'ORDER_BY_VARIABLE', detail, at: token.start };
  }
}

const endsOrder = new Set(['LIMIT', 'OFFSET', 'FETCH', 'FOR', 'UNION', 'ROWS', 'RANGE', 'SEPARATOR']);
const beforeTables = new Set(['FROM', 'JOIN', 'INTO', 'UPDATE', 'TABLE']);
const queryWords = new Set(['SELECT', 'DELETE']);

function* tableVariables(tokens: readonly Token[]): Iterable<Found> {
  /** For each open parenthesis, true if it contains a query. `EXTRACT(year FROM :at)` names no table. */
  const queries = [true];
  for (const [i, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === 'symbol' && text === '(') queries.push(false);
    else if (kind === 'symbol' && text === ')' && queries.length > 1) queries.pop();
    else if (kind === 'word' && queryWords.has(text)) queries[queries.length - 1] = true;
    const [before, word] = [tokens[i - 1], tokens[i - 2]];
    const follows = before?.kind === 'word' && beforeTables.has(before.text);
    if (kind !== 'variable' || !follows || !queries.at(-1)) continue;
    if (before.text === 'FROM' && word?.text === 'DISTINCT') continue;
    const detail = `:${text} is used as the name of a table, but a variable is a value. Write the name into the text, or store one query for each table.`;
    yield { code: 'TABLE_VARIABLE', detail, at: token.start };
  }
}

/** Finds `names[:i]` with an `i` that the context does not declare, which is a slice up to the column `i`. */
function* sliceBounds(tokens: readonly Token[]): Iterable<Found> {
  for (const [i, { kind, text, start, end }] of tokens.entries()) {
    const next = tokens[i + 1];
    if (kind !== 'symbol' || text !== ':' || tokens[i - 1]?.text !== '[') continue;
    if (next?.kind !== 'word' || next.start !== end) continue;
    const name = next.text.toLowerCase();
    const detail = `[:${name}] is a slice that ends at the column ${name}, because the context has no variable of this name. For a variable, declare it in the context or write {{${name}}}.`;
    yield { code: 'SLICE_BOUND', detail, at: start };
  }
}

function* listUses(text: string, tokens: readonly Token[], lists: Circumstances['lists']): Iterable<Found> {
  const nullTests = new Set(
    tokens.flatMap(({ start }, i) =>
      tokens[i + 1]?.text === 'IS' && tokens[i + 1]?.kind === 'word' ? [start] : [],
    ),
  );
  for (const { start, end, isCompared } of lists) {
    if (nullTests.has(start)) continue;
    const name = text.slice(start, end);
    const detail = isCompared
      ? `${name} can be a list, but it is compared with one value here, so a call with a list fails. Write IN (${name}).`
      : `${name} can be a list, and the database gets a list as JSON text here. It is only a list in IN (${name}).`;
    yield { code: isCompared ? 'LIST_COMPARED' : 'LIST_AS_JSON', detail, at: start };
  }
}

function* jsonUses(text: string, uses: Circumstances['jsonTexts']): Iterable<Found> {
  for (const { start, end } of uses) {
    const name = text.slice(start, end);
    const detail = `${name} is JSON, and the database compares it as text, with its blanks and the order of its members. Write JSON_EQUALS(column, ${name}).`;
    yield { code: 'JSON_COMPARED', detail, at: start };
  }
}

/** What follows FOR in a clause that locks rows. */
const rowLock = /^(UPDATE|SHARE|NO KEY UPDATE|KEY SHARE)\b/;

/** In a transaction that only reads, PostgreSQL allows none of these locks, and MySQL and MariaDB no FOR UPDATE. */
function* rowLocks(tokens: readonly Token[], refusesLocks: boolean): Iterable<Found> {
  for (const [i, { kind, text, start }] of tokens.entries()) {
    if (kind !== 'word' || text !== 'FOR') continue;
    const words = tokens.slice(i + 1, i + 4).map((token) => (token.kind === 'word' ? token.text : ''));
    const lock = rowLock.exec(words.join(' '))?.[1];
    if (lock === undefined || (!refusesLocks && lock !== 'UPDATE')) continue;
    const detail = `FOR ${lock} locks rows, so the database rejects the statement under a command that only reads. Set the command to CALL, or remove FOR ${lock}.`;
    yield { code: 'LOCKING_READ', detail, at: start };
  }
}

/** A plan writes nothing. */
const explains = new Set(['EXPLAIN', 'DESCRIBE', 'DESC']);

function* withWrites(tokens: readonly Token[], canWrite: boolean): Iterable<Found> {
  for (const { text, start } of writesInWith(tokens)) {
    const detail = canWrite
      ? `${text} in a WITH clause writes, so the database rejects the statement under a command that only reads. Set the command to CALL, or remove ${text}.`
      : `${text} writes, but the database accepts only queries in a WITH clause. Remove ${text}, or store it as a query of its own.`;
    yield { code: 'WRITING_WITH', detail, at: start };
  }
}
