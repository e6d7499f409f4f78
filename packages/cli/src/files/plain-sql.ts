/**
 * Plain SQL → the text and variables of a query. The placeholders of drivers, Redash and Metabase become variables. What
 * cannot be one, such as the name of a table, is a misfit: the file is not converted.
 */

import type { EngineName } from '@datahub/contract/engines';
import type { QueryModel } from './model.ts';

export interface Misfit {
  line: number;
  column: number;
  detail: string;
}

export interface Converted {
  text: string;
  command: string;
  context: QueryModel['context'];
}

/** Texts and comments, in which drivers replace nothing. The first alternative that matches wins. */
const quoted: Record<'postgres' | 'mysql', string> = {
  postgres: String.raw`[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?<tag>[A-Za-z_]\w*|)\$[^]*?\$\k<tag>\$`,
  mysql: String.raw`'(?:[^'\\]|\\[^]|'')*'|"(?:[^"\\]|\\[^]|"")*"|${'`[^`]*`'}`,
};
const comments: Record<'postgres' | 'mysql', string> = {
  postgres: String.raw`--.*|\/\*[^]*?\*\/`,
  // `5--3` is a subtraction.
  mysql: String.raw`--(?=\s|$).*|#.*|\/\*[^]*?\*\/`,
};
const placeholders: Record<'postgres' | 'mysql', string> = {
  postgres: String.raw`\$(?<number>\d+)\b|(?<![\w@<])@(?<at>[A-Za-z_]\w*)`,
  mysql: String.raw`(?<mark>\?)`,
};
const inBoth = String.raw`\[\[(?<optional>[^]*?)\]\]|\{\{(?<braces>[^]*?)\}\}|%\((?<python>[A-Za-z_]\w*)\)s|(?<positional>%s\b)|(?<percent>%%)|(?<![:\w]):(?<colon>[A-Za-z_]\w*)|(?<end>;)`;

/** The casts whose type is that of the variable. */
const castTypes: Readonly<Record<string, string>> = {
  ...{ int: 'integer', integer: 'integer', int4: 'integer', bigint: 'bigint', int8: 'bigint' },
  ...{ text: 'string', varchar: 'string', numeric: 'decimal', decimal: 'decimal', float8: 'number' },
  ...{ date: 'date', timestamptz: 'timestamp', uuid: 'uuid', bool: 'boolean', boolean: 'boolean' },
  ...{ json: 'json', jsonb: 'json' },
};

/** Returns the misfits if there are any. */
export function convertSql(source: string, engine: EngineName): Converted | Misfit[] {
  const conversion = new Conversion(source, engine === 'postgres' ? 'postgres' : 'mysql');
  const text = conversion.convert(source, 0).trim();
  if (conversion.words.trim() === '') conversion.refuse(0, 'The file has no statement.');
  const command = commandOf(conversion.words);
  if (conversion.misfits.length > 0) return conversion.misfits;
  return { text, command, context: conversion.context() };
}

/** A `WITH` that writes runs under a command that writes. */
function commandOf(words: string): string {
  const first = /[A-Za-z]+/.exec(words)?.[0].toUpperCase() ?? '';
  const writing = /\b(insert|update|delete|merge)\b/i.exec(words)?.[0].toUpperCase();
  return first === 'WITH' ? (writing ?? 'SELECT') : ['VALUES', 'TABLE'].includes(first) ? 'SELECT' : first;
}

class Conversion {
  readonly misfits: Misfit[] = [];
  /** The text without quotes, comments and placeholders. */
  words = '';
  readonly #variables = new Map<string, { key: string; type?: string; isOptional: boolean }>();
  readonly #isPython: boolean;
  readonly #source: string;
  readonly #dialect: 'postgres' | 'mysql';
  readonly #pattern: RegExp;
  #marks = 0;
  #optionalDepth = 0;

  constructor(source: string, dialect: 'postgres' | 'mysql') {
    this.#source = source;
    this.#dialect = dialect;
    this.#pattern = new RegExp(
      [
        `(?<comment>${comments[dialect]})`,
        `(?<quoted>${quoted[dialect]})`,
        inBoth,
        placeholders[dialect],
      ].join('|'),
      'g',
    );
    this.#isPython = /%\([A-Za-z_]\w*\)s/.test(source);
  }

  context(): QueryModel['context'] {
    return [...this.#variables.values()].map(({ key, type, isOptional }) => ({
      key,
      ...(type === undefined ? {} : { type }),
      ...(isOptional ? { value: null } : { required: true }),
    })) as QueryModel['context'];
  }

  refuse(offset: number, detail: string): void {
    const before = this.#source.slice(0, offset).split('\n');
    this.misfits.push({ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, detail });
  }

  /** Converts a part of the source that begins at the offset. */
  convert(part: string, offset: number): string {
    let from = 0;
    let text = '';
    for (const match of part.matchAll(this.#pattern)) {
      const [whole] = match;
      const { index, groups = {} } = match;
      const between = part.slice(from, index);
      this.words += between;
      text += between;
      from = index + whole.length;
      const rest = part.slice(from);
      text += this.#convertMatch(whole, groups, { at: offset + index, before: this.words, rest });
    }
    this.words += part.slice(from);
    return text + part.slice(from);
  }

  #convertMatch(
    whole: string,
    groups: Record<string, string | undefined>,
    place: { at: number; before: string; rest: string },
  ): string {
    const { comment, optional, braces, python, number, at, colon } = groups;
    if (comment !== undefined) return whole;
    if (groups.quoted !== undefined) return this.#convertQuoted(whole, place);
    if (groups.percent !== undefined) return this.#isPython ? '%' : whole;
    if (groups.end !== undefined) return this.#convertEnd(place);
    if (groups.positional !== undefined) {
      this.refuse(place.at, 'Give %s a name, as in %(name)s.');
      return whole;
    }
    if (optional !== undefined) return this.#convertOptional(whole, optional, place);
    if (braces !== undefined) return this.#convertBraces(whole, braces, place);
    const name = python ?? at ?? colon ?? `p${number ?? ++this.#marks}`;
    return this.#name(name, place.rest);
  }

  #convertQuoted(whole: string, { at, rest }: { at: number; rest: string }): string {
    const parts = whole.slice(1, -1).split(/\{\{\s*([A-Za-z][\w .]*?)\s*\}\}/);
    if (parts.length === 1 || !whole.startsWith("'")) {
      if (/\{\{/.test(whole)) this.refuse(at, 'A variable in this text has no simple name.');
      return whole;
    }
    // Alone, it has the type that the database expects. In a longer text it is one.
    const isAlone = parts.length === 3 && parts[0] === '' && parts[2] === '';
    if (isAlone) return this.#name(parts[1] as string, rest);
    // Each other part is a name.
    const pieces = parts.map((part, i) =>
      i % 2 === 0 ? (part === '' ? '' : `'${part}'`) : this.#name(part, '', 'string'),
    );
    return `CONCAT(${pieces.filter((piece) => piece !== '').join(', ')})`;
  }

  #convertEnd({ at, rest }: { at: number; rest: string }): string {
    const isLast = rest.replaceAll(new RegExp(comments[this.#dialect], 'g'), '').trim() === '';
    if (!isLast) this.refuse(at, 'The file has several statements. Make a file of each.');
    return '';
  }

  #convertBraces(whole: string, inner: string, place: { at: number; before: string; rest: string }): string {
    const name = /^\s*([A-Za-z][\w .]*?)\s*$/.exec(inner)?.[1];
    if (name === undefined) {
      this.refuse(place.at, `${whole} is no variable. Write the part into the text, or make it a view.`);
      return whole;
    }
    const isBounds = /\bbetween\s+\S*\s*and\s*$/i.test(place.before);
    const isCondition =
      /\b(where|and|or)\s*$/i.test(place.before) &&
      /^\s*($|;|\)|(and|or|group|order|limit|having)\b)/i.test(place.rest);
    const isTable = /\b(from|join|into|update|table|order\s+by|group\s+by)\s*$/i.test(place.before);
    if (isCondition && !isBounds)
      this.refuse(place.at, `${whole} stands for a condition. Write the comparison, with a variable.`);
    else if (isTable) this.refuse(place.at, `${whole} stands for a name, which no value can be.`);
    return this.#name(name, place.rest);
  }

  /** `[[AND a = {{a}}]]` is left out if `a` has no value. */
  #convertOptional(whole: string, inner: string, { at }: { at: number }): string {
    if (!inner.includes('{{')) {
      // Not Metabase's brackets, but an array of arrays.
      this.words += whole;
      return `[[${this.convert(inner, at + 2)}]]`;
    }
    const [, blanks = '', word = '', condition = ''] = /^(\s*)(and|where)\b([\s\S]*)$/i.exec(inner) ?? [];
    if (word === '' || /\b(order|group|limit|having|union|join)\b|--/i.test(condition)) {
      this.refuse(at, 'Only a part that begins with AND or WHERE, and has one condition, can be optional.');
      return whole;
    }
    this.words += `${word} `;
    const known = new Set(this.#variables.keys());
    this.#optionalDepth++;
    const text = this.convert(condition, at + 2 + blanks.length + word.length).trim();
    this.#optionalDepth--;
    const names = [...condition.matchAll(/\{\{\s*([\s\S]*?)\s*\}\}/g)].map(([, name = '']) => name);
    if (names.some((name) => known.has(name) && !this.#variables.get(name)?.isOptional))
      this.refuse(at, 'A variable of an optional part is used elsewhere, too.');
    const absent = [...new Set(names)].map((name) => `:${this.#variables.get(name)?.key} IS NULL`);
    // The condition is first, because PostgreSQL infers the type of a variable from its first place.
    return `${blanks}${word} ((${text}) OR ${absent.join(' OR ')})`;
  }

  #name(original: string, rest: string, quotedType?: string): string {
    const cast = /^::(\w+)((?:\[\])?)(?!\w)/.exec(rest);
    const base = castTypes[cast?.[1]?.toLowerCase() ?? ''];
    const type = base === undefined ? quotedType : `${base}${cast?.[2] ?? ''}`;
    const known = this.#variables.get(original);
    if (known !== undefined) {
      if (known.type === undefined && type !== undefined) known.type = type;
      if (this.#optionalDepth === 0) known.isOptional = false;
      return `:${known.key}`;
    }
    const plain = original.replaceAll(/\W+/g, '_');
    const keys = new Set([...this.#variables.values()].map(({ key }) => key));
    let key = plain;
    for (let count = 2; keys.has(key); count++) key = `${plain}_${count}`;
    const isOptional = this.#optionalDepth > 0;
    this.#variables.set(original, { key, isOptional, ...(type === undefined ? {} : { type }) });
    return `:${key}`;
  }
}
