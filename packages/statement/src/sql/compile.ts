/**
 * Stored SQL → what an engine runs. Compiled once for a definition; binding costs some microseconds. A value never
 * becomes part of the text: the text depends only on which variables hold lists, and how long these are, in steps.
 */

import type { EngineName } from '@datahub/contract/engines';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { HubError, type SqlFault } from '@datahub/service-kit/call/error';
import { compileCommand } from '../mongodb/command.ts';
import {
  type Declaration,
  declare,
  ExactNumber,
  type Given,
  resolveValues,
  toJsonText,
  type Value,
} from '../values.ts';
import { type Dialect, rejectAt, type Token, tokenize } from './lexer.ts';
import { toTyped } from './mysql-values.ts';
import { toStored } from './source-map.ts';
import { checkShape, type StatementKind } from './statement-kind.ts';

export type { Dialect } from './lexer.ts';
export type { StatementKind } from './statement-kind.ts';

/** A decimal is its digits; only engines whose statements do not say the types of their values are given one. */
export type BoundValue = string | number | bigint | boolean | null | { readonly decimal: string };

export interface BoundStatement {
  /** Equal keys of one compiled statement have equal texts. */
  key: string;
  text: string;
  params: BoundValue[];
}

export interface CompiledStatement {
  kind: StatementKind;
  verb: string;
  /** It touches rows that the database does not count for it. */
  uncounted: boolean;
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
  dialect: EngineName;
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
  const { verb, kind, uncounted, tokens } = checkShape(text, all, options);
  const names = variableNames(text, tokens);
  const declarations = names.map((name) => declare(name, declared.get(name)));
  const known = new Set([...names, ...declared.keys()]);
  const end = tokens.at(-1)?.end ?? 0;
  const source: Source = { text: text.slice(0, end), places: findPlaces(tokens, names), declarations };
  const write = options.dialect === 'postgres' ? writePostgres : writeMysql;
  const texts = new Map<string, string>();
  let charactersKept = 0;
  const textFor = (key: string, values: Value[]) => {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const written = write(source, values);
    if (texts.size < textsMax && charactersKept < textsCharactersMax) {
      texts.set(key, written);
      charactersKept += written.length;
    }
    return written;
  };
  const toParams = options.dialect === 'postgres' ? postgresParams : mysqlParams;
  const lists = source.places.filter((place) => place.list !== undefined).map((place) => place.variable);
  const bindValues = (values: Value[]): BoundStatement => {
    if (options.dialect !== 'postgres') requireFew(source.places, values);
    const key = lists.length === 0 ? '' : keyOf(values, lists, options.dialect);
    return { key, text: textFor(key, values), params: toParams(source, values) };
  };
  return {
    kind,
    verb,
    uncounted,
    variables: names,
    bind: (given) => bindValues(resolveValues(declarations, given, known)),
    describable: () => ({
      ...bindValues(names.map(() => null)),
      placeholders:
        options.dialect === 'postgres'
          ? names
          : source.places.map(({ variable }) => names[variable] as string),
    }),
    toStored: (run, fault) =>
      toStored({ stored: text, run, isCast: (n) => isCast(declarations[n - 1]) }, fault),
  };
}

/** What the protocols of the engines can number in one statement. */
const placeholdersMax = 65_535;

/** In the order of the text, each once. */
function variableNames(text: string, tokens: Token[]): string[] {
  const variables = tokens.filter((token) => token.kind === 'variable');
  const beyond = variables[placeholdersMax];
  if (beyond === undefined) return [...new Set(variables.map((token) => token.text))];
  throw rejectAt(text, beyond.start, `Variables stand in more than ${placeholdersMax} places.`);
}

/** Texts kept of one statement; lists of more lengths are written anew. */
const textsMax = 64;
const textsCharactersMax = 1_048_576;

interface Source {
  text: string;
  places: Place[];
  declarations: Declaration[];
}

function findPlaces(tokens: Token[], names: string[]): Place[] {
  const numbers = new Map(names.map((name, number) => [name, number]));
  return tokens.flatMap(({ text, start, end }, i) => {
    const variable = tokens[i]?.kind === 'variable' ? numbers.get(text) : undefined;
    return variable === undefined ? [] : [{ variable, start, end, list: findList(tokens, i) }];
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

/** Lists may stand in many places: what no server takes is not even written. */
function requireFew(places: Place[], values: Value[]): void {
  let count = 0;
  for (const { variable, list } of places) {
    const value = values[variable];
    count += list !== undefined && Array.isArray(value) ? paddedLength(value.length) : 1;
  }
  if (count <= placeholdersMax) return;
  throw new HubError(
    'CONTEXT_INVALID',
    `With lists of these lengths the statement has more than ${placeholdersMax} placeholders.`,
    { stage: 'prepare', retryable: false },
  );
}

/** The next power of two, so that few texts are prepared whatever the lengths are. */
function paddedLength(length: number): number {
  return length === 0 ? 0 : 2 ** Math.ceil(Math.log2(length));
}

/** One number a name; declared types are casts; a list is compared with ANY or ALL. */
function writePostgres({ text, places, declarations }: Source, values: Value[]): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { variable, start, end, list } of places) {
    const isList = list !== undefined && Array.isArray(values[variable]);
    const placeholder = `$${variable + 1}${castOf(declarations[variable] as Declaration, values[variable])}`;
    const before = text.slice(at, isList ? list.from : start);
    pieces.push(before);
    if (isList) pieces.push(`${list.not ? '<> ALL' : '= ANY'} (`);
    // A dollar sign right after a word, as in LIMIT:n, would be part of it.
    else if (endsInWord.test(before === '' ? (pieces.at(-2) ?? '') : before)) pieces.push(' ');
    pieces.push(placeholder);
    at = end;
    if (beginsWord.test(text.charAt(at))) pieces.push(' ');
  }
  return pieces.join('') + text.slice(at);
}

const beginsWord = /^[\w\u0080-\uffff]/;
const endsInWord = /[\w$\u0080-\uffff]$/;

const isCast = (declaration: Declaration | undefined): boolean =>
  declaration !== undefined && castOf(declaration, undefined) !== '';

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
    if (list === undefined || !Array.isArray(value)) params.push(toTyped(toScalar(value, type), type));
    else {
      const elements = value.map((element) => toTyped(toScalar(element, type), type));
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
