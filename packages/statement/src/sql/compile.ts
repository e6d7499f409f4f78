/** Compiles stored SQL: checks the statement, finds its variables, and writes and caches the texts that run. */

import type { BoundStatement, CompiledStatement, CompileOptions, Dialect } from '../types.ts';
import {
  type BoundValue,
  type Declaration,
  declare,
  type Given,
  resolveValues,
  type Value,
} from '../values.ts';
import { numberApart } from './apart.ts';
import { type Token, tokenize } from './lexer.ts';
import {
  comparesJson,
  kindOf,
  mysqlParams,
  mysqlRoles,
  mysqlUntyped,
  paddedLength,
  requireFewPlaceholders,
  requireLimits,
  writeMysql,
} from './mysql.ts';
import { columnFacts } from './nullability.ts';
import { isCast, postgresParams, postgresUntyped, writePostgres } from './postgres.ts';
import { refuseFormats, refuseSessionUse } from './session-use.ts';
import { findPlaceholders, type Placeholder, type Source, variableNames } from './source.ts';
import { toStored } from './source-map.ts';
import { checkShape } from './statement-kind.ts';
import { bySyntax, type Syntax } from './syntax.ts';
import type { UntypedValue } from './untyped.ts';
import { findWarnings } from './warnings.ts';

/** Of a new text. It is read several times in one turn, which takes 30 ms. Older releases stored longer ones. */
const tokensMax = 30_000;
/** The most cached texts of one statement. Beyond it, the text is written again for each call. */
const textsMax = 64;
/** Ten thousand statements may be compiled. A text without lists is kept in any case. */
const textsCharactersMax = 8_192;

interface Writer {
  write(source: Source, values: Value[]): string;
  /** Throws SQL_REJECTED if the engine cannot bind the values. */
  params(source: Source, values: Value[]): BoundValue[];
  /** Throws CONTEXT_INVALID for values in LIMIT and OFFSET that the engine would take for others. */
  requireLimits?(source: Source, values: Value[]): void;
  /** The values whose form depends on the type that the database expects. Undefined if there are none. */
  untyped?(source: Source, values: Value[], params: readonly BoundValue[]): UntypedValue[] | undefined;
  /** Identifies the form of a list in the text. */
  formOf(list: readonly unknown[]): string;
  /** True if a variable that is used several times is one placeholder. */
  sharesPlaceholders: boolean;
  /** True if each kind of row lock fails in a read-only transaction. */
  refusesLocks: boolean;
  /** True if a statement in a WITH clause can write. */
  writesInWith: boolean;
  /** True if a list becomes several values, in any IN. Elsewhere it is JSON text. */
  expandsLists: boolean;
}

const writers: Record<Syntax, Writer> = {
  postgres: {
    write: writePostgres,
    params: postgresParams,
    untyped: postgresUntyped,
    formOf: () => 'a',
    sharesPlaceholders: true,
    refusesLocks: true,
    writesInWith: true,
    expandsLists: false,
  },
  mysql: {
    write: writeMysql,
    params: (source, values) => {
      requireFewPlaceholders(source, values);
      return mysqlParams(source, values);
    },
    requireLimits,
    untyped: mysqlUntyped,
    formOf: ({ length }) => String(paddedLength(length)),
    sharesPlaceholders: false,
    refusesLocks: false,
    writesInWith: false,
    expandsLists: true,
  },
};

/** Throws SQL_REJECTED, COMMAND_MISMATCH. */
export function compileSql(text: string, options: CompileOptions & { dialect: Dialect }): CompiledStatement {
  const writer = bySyntax(options.dialect, writers);
  const declared = new Map(options.variables.map((variable) => [variable.key, variable]));
  // Compiled statements are cached, and tokens take 100 times as much memory as the text. So no closure holds them.
  const parse = () =>
    checkShape(
      text,
      tokenize(text, options.dialect, {
        isDeclared: (name) => declared.has(name),
        tokensMax: options.isNew ? tokensMax : undefined,
      }),
      options,
    );
  const { verb, kind, uncounted, tokens } = parse();
  if (options.dialect === 'postgres') refuseFormats(text, tokens);
  if (options.pooling === 'transaction') refuseSessionUse(text, tokens);
  const names = variableNames(text, tokens);
  const declarations = names.map((name) => declare(name, declared.get(name)));
  const known = new Set([...names, ...declared.keys()]);
  const end = tokens.at(-1)?.end ?? 0;
  const placeholders = findPlaceholders(tokens, names, options.dialect);
  const isListPlace = ({ list }: Placeholder) =>
    list !== undefined && (writer.expandsLists || list.size === 1);
  const castsJson = options.dialect === 'mysql';
  const uses = new Array<number>(names.length).fill(0);
  for (const { variable } of placeholders) uses[variable] = (uses[variable] as number) + 1;
  const source: Source = { text: text.slice(0, end), placeholders, declarations, castsJson, uses };
  const textFor = createTextCache((values) => writer.write(source, values));
  const apartFor = options.dialect === 'postgres' ? createApart(source, tokens) : undefined;
  const lists = placeholders.filter(isListPlace).map(({ variable }) => variable);
  const keyFor = createKey(source, lists, writer);
  const markable = writer.expandsLists ? createMarkable(source, lists.length > 0) : undefined;
  const untypedLists = new Set(lists.filter((variable) => declarations[variable]?.type === undefined));
  const infersTypes = options.dialect === 'postgres' && declarations.some(({ type }) => type === undefined);
  const bindValues = (values: Value[]): BoundStatement => {
    const params = writer.params(source, values);
    const key = keyFor(values);
    const untyped = writer.untyped?.(source, values, params);
    const own = { ...(infersTypes && { infersTypes }), ...apartFor?.(key, values), ...markable?.(values) };
    return { key, text: textFor(key, values), params, ...(untyped && { untyped }), ...own };
  };
  return {
    kind,
    verb,
    uncounted,
    variables: names,
    bind: (given) => bindValues(valuesOf(source, given, { known, writer })),
    lists: new Set([...untypedLists].map((variable) => names[variable] as string)),
    describable: () => {
      const forms = describedForms(source, writer.expandsLists ? new Set() : untypedLists).map((values) => ({
        ...bindValues(values),
        placeholders: writer.sharesPlaceholders
          ? names
          : placeholders.map(({ variable }) => names[variable] as string),
      }));
      return forms.filter(({ text: form }, i) => forms.findIndex((other) => other.text === form) === i);
    },
    warnings: () =>
      findWarnings(text, parse().tokens, {
        declared: new Set(declared.keys()),
        writer,
        lists: writer.expandsLists ? listUses(source) : [],
        jsonTexts: options.dialect === 'mariadb' ? placeholders.filter(comparesJson(source)) : [],
        reads: kind === 'read' ? verb : undefined,
      }),
    columnFacts: () => columnFacts(text, parse().tokens, { dialect: options.dialect, verb }),
    toStored: (run, fault) =>
      toStored({ stored: text, run, isCast: (n) => isCast(declarations[n - 1]) }, fault),
  };
}

/** Undefined if one parameter for each variable does. */
function createApart(source: Source, tokens: readonly Token[]) {
  const numbering = numberApart(source, tokens);
  if (numbering === undefined) return undefined;
  const textFor = createTextCache((values) => writePostgres(source, values, numbering));
  const { params, texts } = numbering;
  return (key: string, values: Value[]) => ({ apart: { text: textFor(key, values), params, texts } });
}

type Markable = Pick<BoundStatement, 'textWith' | 'roles'>;

/** What the types of parameters at MySQL and MariaDB may change. */
function createMarkable(source: Source, hasLists: boolean): (values: Value[]) => Markable {
  const roles = hasLists ? undefined : mysqlRoles(source, []);
  return (values) => ({
    textWith: (marks) => writeMysql(source, values, marks),
    roles: () => roles ?? mysqlRoles(source, values),
  });
}

function valuesOf(
  source: Source,
  given: Given,
  { known, writer }: { known: ReadonlySet<string>; writer: Writer },
): Value[] {
  const values = resolveValues(source.declarations, given, known);
  writer.requireLimits?.(source, values);
  return values;
}

/**
 * Returns values for each form in which the statement can run. A variable without a type in `IN (:name)` can be a list
 * or a single value. If its default does not decide this, the list is tried first. If the variable is also used
 * elsewhere, only one of the two forms may be valid.
 */
function describedForms(
  { placeholders, declarations }: Source,
  untypedLists: ReadonlySet<number>,
): Value[][] {
  const form = (isList: (variable: number) => boolean): Value[] =>
    declarations.map((_, variable) => (untypedLists.has(variable) && isList(variable) ? [null] : null));
  const isScalar = (value: Value | undefined) =>
    value !== undefined && value !== null && !Array.isArray(value);
  const elsewhere = new Set(
    placeholders.filter(({ list }) => list?.size !== 1).map(({ variable }) => variable),
  );
  return [
    form((variable) => !isScalar(declarations[variable]?.fallback)),
    form((variable) => !elsewhere.has(variable)),
    form(() => false),
    form(() => true),
  ];
}

/** The uses of variables that are lists by their declaration or another use, where a list is not expanded. */
function listUses({ placeholders, declarations }: Source): Placeholder[] {
  const expanded = new Set(
    placeholders.filter(({ list }) => list !== undefined).map(({ variable }) => variable),
  );
  return placeholders.filter(({ variable, list, isJsonPart }) => {
    const { type, isList, fallback } = declarations[variable] as Declaration;
    const mayBeList = isList || (type === undefined && (Array.isArray(fallback) || expanded.has(variable)));
    return list === undefined && mayBeList && !isJsonPart;
  });
}

function createTextCache(write: (values: Value[]) => string): (key: string, values: Value[]) => string {
  const texts = new Map<string, string>();
  let characters = 0;
  return (key, values) => {
    const cached = texts.get(key);
    if (cached !== undefined) return cached;
    const written = write(values);
    const isKept = texts.size < textsMax && characters + written.length <= textsCharactersMax;
    if (isKept || key === '') {
      texts.set(key, written);
      characters += written.length;
    }
    return written;
  };
}

/** Keys of the forms of variables that are lists, and of the kinds of values without a type. */
function createKey(
  source: Source,
  lists: number[],
  { expandsLists, formOf }: Writer,
): (values: Value[]) => string {
  const { placeholders, declarations } = source;
  const marked = expandsLists ? placeholders.filter(({ isJsonPart }) => isJsonPart) : [];
  const variables = [...new Set(marked.map(({ variable }) => variable))];
  const ofAnyKind = variables.filter((variable) => declarations[variable]?.type === undefined);
  return (values) => {
    const forms = lists.map((variable) => {
      const value = values[variable];
      return Array.isArray(value) ? formOf(value) : '-';
    });
    const kinds = ofAnyKind.map((i) => kindOf(declarations[i] as Declaration, values[i])).join('');
    return forms.join(',') + (/[^-]/.test(kinds) ? `/${kinds}` : '');
  };
}
