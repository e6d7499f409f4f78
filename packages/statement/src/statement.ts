/**
 * Stored SQL → what an engine runs. Compiled once for a definition; binding costs some microseconds. A value never
 * becomes part of the text: the text depends only on which variables hold lists, and how long these are, in steps.
 */

import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { SqlFault } from '@datahub/service-kit/error';
import { type Dialect, lineAndColumn, type Token, tokenize } from './lexer.ts';
import { compileCommand } from './mongodb/command.ts';
import {
  type Declaration,
  declare,
  ExactNumber,
  type Given,
  resolveValues,
  toJsonText,
  type Value,
} from './values.ts';
import { checkShape, type StatementKind } from './verb.ts';

export type { Dialect } from './lexer.ts';
export type { StatementKind } from './verb.ts';

export type BoundValue = string | number | boolean | null;

export interface BoundStatement {
  /** Equal keys of one compiled statement have equal texts. */
  key: string;
  text: string;
  params: BoundValue[];
}

export interface CompiledStatement {
  kind: StatementKind;
  verb: string;
  /** Names in the order in which they first stand in the text. */
  variables: string[];
  /** Throws CONTEXT_INVALID with all faults at once. */
  bind(given: Given): BoundStatement;
  /** The text for describing: one placeholder a variable or occurrence, and the variable each stands for. */
  describable(): BoundStatement & { placeholders: string[] };
  /** From a place in the text that was run to the place in the stored text. */
  toStored(run: string, fault: SqlFault): SqlFault;
}

export interface CompileOptions {
  /** The grammar of the text: that of SQL at an engine, or the commands of MongoDB. */
  dialect: Dialect | 'mongodb';
  command: string;
  variables: Variable[];
}

/** A variable where it stands; a `list` is alone in the parentheses of an IN. */
interface Place {
  variable: number;
  /** What the placeholder replaces: the variable, or the whole of `[NOT] IN (:name)`. */
  start: number;
  end: number;
  list: undefined | { not: boolean; from: number };
}

const casts: Record<string, string> = {
  string: 'text',
  integer: 'integer',
  bigint: 'bigint',
  number: 'double precision',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'timestamptz',
  uuid: 'uuid',
  json: 'jsonb',
};

/** Throws SQL_REJECTED, COMMAND_MISMATCH. */
export function compileStatement(text: string, options: CompileOptions): CompiledStatement {
  const { dialect } = options;
  return dialect === 'mongodb' ? compileCommand(text, options) : compileSql(text, { ...options, dialect });
}

function compileSql(text: string, options: CompileOptions & { dialect: Dialect }): CompiledStatement {
  const declared = new Map(options.variables.map((variable) => [variable.key, variable]));
  const all = tokenize(text, options.dialect, (name) => declared.has(name));
  const { verb, kind, tokens } = checkShape(text, all, options);
  const names = [...new Set(tokens.filter((token) => token.kind === 'variable').map((token) => token.text))];
  const declarations = names.map((name) => declare(name, declared.get(name)));
  const end = tokens.at(-1)?.end ?? 0;
  const source: Source = { text: text.slice(0, end), places: findPlaces(tokens, names), declarations };
  const write = options.dialect === 'postgres' ? writePostgres : writeMysql;
  const texts = new Map<string, string>();
  const textFor = (key: string, values: Value[]) => {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const written = write(source, values);
    if (texts.size < textsMax) texts.set(key, written);
    return written;
  };
  const toParams = options.dialect === 'postgres' ? postgresParams : mysqlParams;
  const lists = source.places.filter((place) => place.list !== undefined).map((place) => place.variable);
  const bindValues = (values: Value[]): BoundStatement => {
    const key = lists.length === 0 ? '' : keyOf(values, lists, options.dialect);
    return { key, text: textFor(key, values), params: toParams(source, values) };
  };
  return {
    kind,
    verb,
    variables: names,
    bind: (given) => bindValues(resolveValues(declarations, given)),
    describable: () => ({
      ...bindValues(names.map(() => null)),
      placeholders:
        options.dialect === 'postgres'
          ? names
          : source.places.map(({ variable }) => names[variable] as string),
    }),
    toStored: (run, fault) => toStored(text, run, fault),
  };
}

/** Texts kept of one statement; lists of more lengths are written anew. */
const textsMax = 64;

interface Source {
  text: string;
  places: Place[];
  declarations: Declaration[];
}

function findPlaces(tokens: Token[], names: string[]): Place[] {
  return tokens.flatMap((token, i) => {
    if (token.kind !== 'variable') return [];
    return [
      { variable: names.indexOf(token.text), start: token.start, end: token.end, list: findList(tokens, i) },
    ];
  });
}

/** `IN (:name)`, `NOT IN (:name)`. */
function findList(tokens: Token[], i: number): Place['list'] {
  const [open, close, word] = [tokens[i - 1], tokens[i + 1], tokens[i - 2]];
  if (open?.text !== '(' || close?.text !== ')' || word?.kind !== 'word' || word.text !== 'IN')
    return undefined;
  const before = tokens[i - 3];
  const not = before?.kind === 'word' && before.text === 'NOT';
  return { not, from: (not ? (before as Token) : word).start };
}

/** Which lists there are, and on MySQL how long their placeholder runs are. */
function keyOf(values: Value[], lists: number[], dialect: Dialect): string {
  return lists
    .map((variable) => {
      const value = values[variable];
      if (!Array.isArray(value)) return '-';
      return dialect === 'postgres' ? 'a' : String(paddedLength(value.length));
    })
    .join(',');
}

/** The next power of two, so that few texts are prepared whatever the lengths are. */
function paddedLength(length: number): number {
  return length === 0 ? 0 : 2 ** Math.ceil(Math.log2(length));
}

/** One number a name; declared types are casts; a list is compared with ANY or ALL. */
function writePostgres({ text, places, declarations }: Source, values: Value[]): string {
  let written = '';
  let at = 0;
  for (const { variable, start, end, list } of places) {
    const isList = list !== undefined && Array.isArray(values[variable]);
    const placeholder = `$${variable + 1}${castOf(declarations[variable] as Declaration, values[variable])}`;
    if (list !== undefined && isList) {
      written += `${text.slice(at, list.from)}${list.not ? '<> ALL' : '= ANY'} (${placeholder}`;
    } else {
      // A dollar sign right after a word, as in LIMIT:n, would be part of it.
      written += text.slice(at, start);
      written += endsInWord.test(written.slice(-1)) ? ` ${placeholder}` : placeholder;
    }
    at = end;
    if (beginsWord.test(text.slice(at, at + 1))) written += ' ';
  }
  return written + text.slice(at);
}

const beginsWord = /^[\w\u0080-\uffff]/;
const endsInWord = /[\w$\u0080-\uffff]$/;

function castOf({ type }: Declaration, value: Value | undefined): string {
  if (type === undefined) return '';
  const array = type.endsWith('[]') || (Array.isArray(value) && type !== 'json');
  const cast = casts[type.replace('[]', '')];
  return cast === undefined ? '' : `::${cast}${array ? '[]' : ''}`;
}

/** No row for the empty list, also for NOT IN with a NULL on its left: that is what a query without rows does. */
const noElement = 'SELECT NULL FROM DUAL WHERE FALSE';

function writeMysql({ text, places }: Source, values: Value[]): string {
  let written = '';
  let at = 0;
  for (const { variable, start, end, list } of places) {
    const value = values[variable];
    written += text.slice(at, start);
    if (list === undefined || !Array.isArray(value)) written += '?';
    else
      written += value.length === 0 ? noElement : new Array(paddedLength(value.length)).fill('?').join(',');
    at = end;
  }
  return written + text.slice(at);
}

function postgresParams({ declarations }: Source, values: Value[]): BoundValue[] {
  return values.map((value, i) => {
    const { type } = declarations[i] as Declaration;
    return Array.isArray(value) && type !== 'json' ? toArrayLiteral(value, type) : toScalar(value, type);
  });
}

function mysqlParams({ places, declarations }: Source, values: Value[]): BoundValue[] {
  const params: BoundValue[] = [];
  for (const { variable, list } of places) {
    const value = values[variable] ?? null;
    const { type } = declarations[variable] as Declaration;
    if (list === undefined || !Array.isArray(value)) params.push(toScalar(value, type));
    else {
      const elements = value.map((element) => toScalar(element, type));
      params.push(...elements);
      const last = elements.at(-1) ?? null;
      for (let i = value.length; i < paddedLength(value.length); i++) params.push(last);
    }
  }
  return params;
}

/** What no driver can take for a list or an operator: objects and arrays are JSON text, and all that is declared JSON. */
function toScalar(value: Value, type: string | undefined): BoundValue {
  if (value === null) return null;
  if (type === 'json' || type === 'json[]') return toJsonText(value);
  // A whole number may be written 1.0 or 1e3, which an integer of a database is not.
  if (value instanceof ExactNumber) return type?.startsWith('integer') ? Number(value.text) + 0 : value.text;
  return typeof value === 'object' ? toJsonText(value) : value;
}

/** PostgreSQL's own notation of an array; every element in quotes but NULL. */
function toArrayLiteral(values: Value[], type: string | undefined): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    if (Array.isArray(value) && type !== 'json[]') return toArrayLiteral(value, type);
    return `"${String(toScalar(value, type)).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  });
  return `{${elements.join(',')}}`;
}

/**
 * The place is found by what the two texts share before it: placeholders are shorter or longer than names, the rest is
 * the same. Where the database tells a place inside a placeholder, it is the variable's.
 */
function toStored(stored: string, run: string, fault: SqlFault): SqlFault {
  if (fault.line === undefined || fault.column === undefined) return fault;
  const offset = offsetOf(run, fault.line, fault.column);
  return { ...fault, ...lineAndColumn(stored, storedOffset(stored, run, offset)) };
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split('\n').slice(0, line - 1);
  const start = lines.reduce((sum, one) => sum + one.length + 1, 0);
  return start + [...text.slice(start)].slice(0, column - 1).join('').length;
}

const placeholderAt = / ?\$\d+(::(double precision|[a-z]+)(\[\])?)?|= ANY \(|<> ALL \(|\?(,\?)*/y;
const variableAt = /:[A-Za-z_]\w*|\{\{\s*\w+\s*\}\}|(NOT\s+)?IN\s*\(\s*/iy;

function storedOffset(stored: string, run: string, target: number): number {
  let [s, r] = [0, 0];
  while (r < target && s < stored.length) {
    if (stored[s] === run[r]) {
      s++;
      r++;
      continue;
    }
    placeholderAt.lastIndex = r;
    variableAt.lastIndex = s;
    const placeholder = placeholderAt.exec(run);
    const variable = variableAt.exec(stored);
    if (placeholder === null || variable === null || r + placeholder[0].length > target) return s;
    r += placeholder[0].length;
    s += variable[0].length;
  }
  return s;
}
