/**
 * The text of another product → the text of a query. Each place where that product puts a value becomes a variable, also
 * in quotes and in `[[ … ]]`. What the product puts in there that no value can be is a misfit: the text is not converted.
 */

import { comments, type Dialect, outlineOf, quotes } from './outline.ts';

export interface Misfit {
  line: number;
  column: number;
  detail: string;
}

export interface Slot {
  /** What is between `{{` and `}}`, or the name of a driver's placeholder. */
  name: string;
  /** Alone in quotes, with other text in quotes, or neither. */
  quoted: 'alone' | 'part' | undefined;
  position: 'value' | 'condition' | 'name';
  /** The text before it, without quotes and comments, and all behind it. */
  before: string;
  rest: string;
}

export interface Rules {
  dialect: Dialect;
  /** `{{ … }}` counts in the text, and `[[ … ]]`. */
  hasBraces: boolean;
  hasOptionalParts: boolean;
  /** A column that the product leaves without a name has none here, either. */
  keepsColumnNames?: boolean;
  /** `%%` is `%` everywhere, also in quotes and comments. */
  doublesPercent?: boolean;
  /** A regular expression of further placeholders, each a named group. */
  placeholders?: string;
  /** The SQL for a slot. Throws an error of `Refusal` if there is none. */
  fill(slot: Slot): string;
  /** SQL that is true if the slot in an optional part has no value. Undefined: it always has one. */
  absent(name: string): string | undefined;
}

/** Why a slot has no SQL. */
export class Refusal extends Error {}

interface Place {
  at: number;
  before: string;
  rest: string;
}

const fixed = '(?<percent>%%)|(?<end>;)';
const braces = String.raw`\{\{\{?(?<braces>[\s\S]*?)\}?\}\}`;
const optional = String.raw`\[\[(?<optional>[\s\S]*?)\]\]`;

/** What comes before a value. */
const beforeValue =
  /(?:^|[-=<>!~*/%+|&^(,[?@#]|\b(?:and|or|not|in|between|like|ilike|to|select|distinct|when|then|else|case|limit|offset|interval|date|timestamp|where|having|on|values|any|all|regexp|rlike|div|mod|returning|set|escape|is|from\s*\([^()]*,?))\s*$/i;
const beforeName = /\b(?:from|join|into|update|table|order\s+by|group\s+by|as)\s*$|\.\s*$/i;
const beforeCondition = /\b(?:where|and|or|not|on|having|when)\s*\(*\s*$/i;
const afterCondition =
  /^\s*(?:$|;|\)|\]\]|\[\[|--|\/\*|(?:and|or|group|order|limit|having|union|then|offset)\b)/i;
const beforeBound = /\bbetween\s+\S*\s*and\s*$/i;

export class TextConversion {
  readonly misfits: Misfit[] = [];
  /** The text without quotes, comments and placeholders. */
  words = '';
  readonly #source: string;
  readonly #rules: Rules;
  readonly #pattern: RegExp;
  /** Characters behind a match that it has used. */
  #used = 0;

  constructor(source: string, rules: Rules) {
    this.#source = source;
    this.#rules = rules;
    const { dialect } = rules;
    const parts = [
      `(?<comment>${comments[dialect]})`,
      `(?<quoted>${quotes[dialect]})`,
      ...(rules.hasOptionalParts ? [optional] : []),
      ...(rules.hasBraces ? [braces] : []),
      ...(rules.placeholders === undefined ? [] : [rules.placeholders]),
      fixed,
    ];
    this.#pattern = new RegExp(parts.join('|'), 'g');
  }

  refuse(offset: number, detail: string): void {
    const before = this.#source.slice(0, offset).split('\n');
    this.misfits.push({ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, detail });
  }

  /** Converts a part of the source that begins at the offset. */
  convert(part = this.#source, offset = 0): string {
    const pattern = new RegExp(this.#pattern);
    let from = 0;
    let text = '';
    for (;;) {
      pattern.lastIndex = from;
      const match = pattern.exec(part);
      const end = match?.index ?? part.length;
      this.words += part.slice(from, end);
      text += part.slice(from, end);
      if (match === null) return text;
      from = end + match[0].length;
      const place = { at: offset + end, before: this.words, rest: part.slice(from) };
      const piece = this.#convertMatch(match[0], match.groups ?? {}, place);
      text = piece.startsWith(castMark) ? withCast(text, piece.slice(castMark.length)) : text + piece;
      from += this.#used;
      this.#used = 0;
    }
  }

  #convertMatch(whole: string, groups: Record<string, string | undefined>, place: Place): string {
    const { comment, quoted, end, percent, braces: inner, optional: part } = groups;
    if (comment !== undefined) return this.#plain(whole);
    if (quoted !== undefined) return this.#convertQuoted(whole, place);
    if (end !== undefined) return this.#convertEnd(place);
    if (part !== undefined) return this.#convertOptional(whole, part, place);
    if (inner !== undefined)
      return this.#asColumn(this.#fill(this.#slot(inner.trim(), place), place.at), place);
    const found = Object.entries(groups).find(([name, value]) => value !== undefined && name !== 'tag');
    if (found === undefined || percent !== undefined)
      return this.#fill({ ...this.#slot('%%', place), position: 'value' }, place.at);
    return this.#fill({ ...this.#slot(whole, place), position: 'value' }, place.at);
  }

  #plain(text: string): string {
    return this.#rules.doublesPercent === true ? text.replaceAll('%%', '%') : text;
  }

  #slot(name: string, { before, rest }: Place): Slot {
    const isCondition =
      beforeCondition.test(before) && afterCondition.test(rest) && !beforeBound.test(before);
    const isValue = beforeValue.test(before) && !/^(?:[\w."`]|\s*\()/.test(rest);
    const position =
      beforeName.test(before) || (!isValue && !isCondition) ? 'name' : isCondition ? 'condition' : 'value';
    return { name, quoted: undefined, position, before, rest };
  }

  #fill(slot: Slot, at: number): string {
    try {
      const sql = this.#rules.fill(slot);
      // What is behind it sees that there is a value.
      if (slot.quoted === undefined && slot.name !== '%%') this.words += '0';
      return sql;
    } catch (err) {
      if (!(err instanceof Refusal)) throw err;
      this.refuse(at, err.message);
      return '';
    }
  }

  /** A text becomes the text of its parts, one after the other. */
  #convertQuoted(whole: string, place: Place): string {
    if (!this.#rules.hasBraces || !whole.includes('{{')) return this.#plain(whole);
    const isText = whole.startsWith("'") || (whole.startsWith('"') && this.#rules.dialect === 'mysql');
    const parts = whole.slice(1, -1).split(/\{\{\{?\s*([^{}]*?)\s*\}?\}\}/);
    if (!isText || parts.length === 1) {
      this.refuse(place.at, 'A name, or a text in these quotes, cannot contain a value.');
      return whole;
    }
    if (this.#rules.dialect === 'mysql' && parts.slice(0, -1).some((part) => endsEscape.test(part))) {
      this.refuse(place.at, 'A backslash stands before a value.');
      return whole;
    }
    const { before, rest } = place;
    const isAlone = parts.length === 3 && parts[0] === '' && parts[2] === '';
    const quoted = isAlone ? 'alone' : 'part';
    const pieces = parts.map((part, i) =>
      i % 2 === 0
        ? part === ''
          ? ''
          : `'${inSingleQuotes(this.#plain(part), whole)}'`
        : this.#fill({ name: part, quoted, position: 'value', before, rest }, place.at),
    );
    const text = isAlone ? (pieces[1] as string) : `CONCAT(${pieces.filter((one) => one !== '').join(', ')})`;
    const type = this.#typeOf(parts, place);
    return type === undefined ? this.#asColumn(text, place) : `${castMark}${type}|${text}`;
  }

  /** A literal is a column without a name. A variable with a type, and CONCAT, would give it one. */
  #asColumn(sql: string, { at, before, rest }: Place): string {
    const list = /\bselect\b((?:(?!\b(?:select|from|where|group|order|values|in|on)\b)[\s\S])*)$/i.exec(
      before,
    )?.[1];
    const isColumn =
      list !== undefined &&
      /^\s*$|,\s*$|^\s*distinct\s*$/i.test(list) &&
      outlineOf(list, this.#rules.dialect).isBalanced &&
      /^\s*(?:$|,|;|from\b)/i.test(rest);
    if (this.#rules.keepsColumnNames !== true || !isColumn || sql === '') return sql;
    if (this.#rules.dialect === 'mysql')
      this.refuse(at, 'The column is named after its value. Give it a name with AS.');
    return `${sql} AS "?column?"`;
  }

  /** PostgreSQL gives a literal the type that its place expects, and a text of parts has the type text. */
  #typeOf(parts: string[], { at, before }: Place): string | undefined {
    const keyword = /\b(interval|date|timestamp|timestamptz|time)\s*$/i.exec(before)?.[1]?.toLowerCase();
    if (keyword !== undefined) return keyword;
    const [start, , end] = parts;
    const isTime = parts.length === 3 && start === '' && /^[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(end ?? '');
    if (!isTime || this.#rules.dialect !== 'postgres') return undefined;
    // A column of dates would cut the time off the literal.
    const isSafe = /^[^1-9]*$/.test(end ?? '')
      ? /[<>=]\s*$|\b(between|and)\s*$/i
      : /(<=|>)\s*$|\bbetween\s+\S*\s*and\s*$/i;
    if (!isSafe.test(before))
      this.refuse(
        at,
        'The time in this text would be cut off if the column is a date. Write CAST(… AS timestamp) around it.',
      );
    return 'timestamp';
  }

  #convertEnd({ at, rest }: Place): string {
    const behind = rest.replaceAll(new RegExp(comments[this.#rules.dialect], 'g'), '');
    if (behind.trim() !== '') this.refuse(at, 'There are several statements. Make a query of each.');
    return '';
  }

  /** `[[AND a = {{a}}]]` is left out if `a` has no value. */
  #convertOptional(whole: string, inner: string, place: Place): string {
    const { at, before, rest } = place;
    if (!inner.includes('{{')) {
      // Not Metabase's brackets, but an array of arrays.
      this.words += whole;
      return `[[${this.convert(inner, at + 2)}]]`;
    }
    const replaced = this.#convertDefault(inner, place) ?? this.#convertLimit(inner, place);
    if (replaced !== undefined) return replaced;
    const [, blanks = '', word = '', condition = ''] = /^(\s*)(and|or|where)\b([\s\S]*)$/i.exec(inner) ?? [];
    const fault = word === '' ? 'begins' : faultOfPart(word, condition, { before, rest, ...this.#rules });
    if (fault !== undefined) {
      this.refuse(
        at,
        fault === 'begins'
          ? 'Only a part that begins with AND, OR or WHERE, and has one condition, can be optional.'
          : fault,
      );
      return whole;
    }
    this.words += `${word} `;
    const text = this.convert(condition, at + 2 + blanks.length + word.length).trim();
    const names = [...condition.matchAll(/\{\{\{?\s*([\s\S]*?)\s*\}?\}\}/g)].map(([, name = '']) => name);
    if (this.misfits.length > 0) return '';
    const absent = [...new Set(names)].flatMap((name) => this.#rules.absent(name) ?? []);
    if (absent.length === 0) return `${blanks}${word} (${text})`;
    // The condition is first, because PostgreSQL infers the type of a variable from its first place.
    if (word.toLowerCase() !== 'or') return `${blanks}${word} ((${text}) OR ${absent.join(' OR ')})`;
    return `${blanks}${word} ((${text}) AND NOT (${absent.join(' OR ')}))`;
  }

  /** `COALESCE([[ {{a}}, ]] b)`, and `[[ {{a}} -- ]] b`, whose comment hides `b` if `a` has a value. */
  #convertDefault(inner: string, { at, before, rest }: Place): string | undefined {
    const [, name, kind] = /^\s*\{\{\s*([^{}]*?)\s*\}\}\s*(,|--|#)\s*$/.exec(inner) ?? [];
    if (name === undefined) return undefined;
    const slot: Slot = { name, quoted: undefined, position: 'value', before, rest };
    if (kind === ',') return /\bcoalesce\s*\(\s*$/i.test(before) ? `${this.#fill(slot, at)}, ` : undefined;
    const [used, literal] =
      /^[ \t]*('(?:[^']|'')*'|-?\d+(?:\.\d+)?|current_date|now\(\)|true|false|null)[ \t]*(?=\n|$)/i.exec(
        rest,
      ) ?? [];
    if (used === undefined) return undefined;
    this.#used = used.length;
    return `COALESCE(${this.#fill(slot, at)}, ${literal})`;
  }

  /** PostgreSQL takes `LIMIT NULL` as no limit. */
  #convertLimit(inner: string, place: Place): string | undefined {
    const [, word, name] = /^\s*(limit|offset)\s+\{\{\s*([^{}]*?)\s*\}\}\s*$/i.exec(inner) ?? [];
    if (name === undefined || this.#rules.dialect !== 'postgres') return undefined;
    this.words += `${word} `;
    return `${word} ${this.#fill({ ...this.#slot(name, place), position: 'value' }, place.at)}`;
  }
}

/** An odd number of backslashes. */
const endsEscape = /(?<!\\)(?:\\\\)*\\$/;

/** A part of MySQL's text in double quotes, in which `""` is one character and an apostrophe needs no escape. */
const inSingleQuotes = (part: string, whole: string): string =>
  whole.startsWith("'")
    ? part
    : part.replaceAll(/\\[\s\S]|""|'/g, (found) => (found === '""' ? '"' : found === "'" ? "''" : found));

/** Marks a text whose typed literal, such as `interval '…'`, becomes a cast. */
const castMark = '\0cast ';

function withCast(text: string, piece: string): string {
  const [, type = '', value = ''] = /^(\w+)\|([\s\S]*)$/.exec(piece) ?? [];
  const before = text.replace(new RegExp(`\\b${type}\\s*$`, 'i'), '');
  return `${before}CAST(${value} AS ${type})`;
}

/** What binds less than AND. */
const or: Record<Dialect, RegExp> = { postgres: /\bor\b/i, mysql: /\b(?:or|xor)\b|\|\|/i };

/** AND, also of a part that is optional itself, and what binds like it. */
const and = /^\s*(?:\[\[\s*)?(?:and\b|xor\b|&&)/i;

/**
 * In parentheses, the condition must mean what it means without them, and so must what is around it if the part is left
 * out.
 */
function faultOfPart(
  word: string,
  condition: string,
  { rest, dialect }: { before: string; rest: string; dialect: Dialect },
): string | undefined {
  const { text, isBalanced } = outlineOf(condition, dialect);
  if (!isBalanced) return 'The parentheses of an optional part must end in it.';
  if (/--|#(?!>|-)/.test(condition) || /\b(?:order|group|limit|having|union|join|where)\b/i.test(text))
    return 'begins';
  const isLast = /^\s*(?:$|;|\)|(?:group|order|limit|having|union)\b)/i.test(rest);
  if (or[dialect].test(text) && (word.toLowerCase() === 'and' || !isLast))
    return 'Write parentheses around the conditions of this optional part, because OR also counts for what is around it.';
  const behind = rest.replaceAll(new RegExp(comments[dialect], 'g'), '');
  if (word.toLowerCase() === 'or' && and.test(behind))
    return 'Write parentheses around the conditions that the OR of this optional part counts for: what follows AND counts for the part, or without it for the condition in front.';
  return undefined;
}

/** The names in braces that are needed whether or not an optional part is there. */
export function namesOutside(source: string, dialect: Dialect): Set<string> {
  const parts = [
    `(?:${comments[dialect]})`,
    `(?<quoted>${quotes[dialect]})`,
    String.raw`\[\[(?=[\s\S]*?\{\{)[\s\S]*?\]\]`,
    String.raw`(?<braced>\{\{[^{}]*\}\})`,
  ];
  const found = [...source.matchAll(new RegExp(parts.join('|'), 'g'))].map(({ groups }) => groups);
  const texts = found.map((groups) => groups?.quoted ?? groups?.braced ?? '').join(' ');
  return new Set([...texts.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)].map(([, name = '']) => name));
}

/** A value can be neither a condition nor a name. */
export function refusePosition({ name, position }: Pick<Slot, 'name' | 'position'>): void {
  if (position === 'condition')
    throw new Refusal(`{{${name}}} stands for a condition. Write the comparison, with a variable.`);
  if (position === 'name') throw new Refusal(`{{${name}}} stands for a name, which no value can be.`);
}
