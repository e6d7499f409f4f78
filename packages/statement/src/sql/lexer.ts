/** Splits SQL into the tokens that matter for binding: quoted text, comments and variables. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Dialect } from '../types.ts';
import { bySyntax } from './syntax.ts';

export interface Token {
  /** `quoted` covers strings, quoted identifiers and dollar quotes; `symbol` one character, or `::` or `:=`. */
  kind: 'word' | 'quoted' | 'number' | 'symbol' | 'variable';
  start: number;
  end: number;
  /** Upper case for words, the name for variables, the text for symbols. */
  text: string;
}

export const isSymbol = (token: Token | undefined, text: string): boolean =>
  token?.kind === 'symbol' && token.text === text;
export const isWord = (token: Token | undefined, text: string): boolean =>
  token?.kind === 'word' && token.text === text;
export const isAnyWord = (token: Token | undefined, words: ReadonlySet<string>): boolean =>
  token?.kind === 'word' && words.has(token.text);

/** The engines take every character beyond ASCII for a letter, even blanks and punctuation. */
const wordStart = /[A-Za-z_\u0080-\u{10ffff}]/u;
const wordPart = /[\w$\u0080-\u{10ffff}]/u;
const blank = /[ \t\n\v\f\r]/;
const otherLetter = /^(?![\0-\x7f])[\p{L}\p{N}]/u;
const variableName = /[A-Za-z_][A-Za-z0-9_]{0,63}/y;
const bracedVariable = /\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/y;
const bracedAnywhere = /\{\{\s*[A-Za-z_][A-Za-z0-9_]{0,63}\s*\}\}/;
const dollarTag = /\$([A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?\$/uy;
/** What can separate two strings that PostgreSQL joins: a line break, with comments around it. Blanks are ASCII. */
const continuation = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'/y;
const labelled = /^(begin|loop|repeat|while|for)$/i;
const numberText = /(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?/y;

/** SQL_REJECTED at a position of the text. Line and column count from 1. */
export function rejectAt(text: string, offset: number, message: string): HubError {
  return new HubError('SQL_REJECTED', message, {
    stage: 'prepare',
    retryable: false,
    sql: lineAndColumn(text, offset),
  });
}

export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
}

interface TokenizeOptions {
  isDeclared(name: string): boolean;
  tokensMax?: number | undefined;
}

/**
 * Throws SQL_REJECTED for unterminated quotes and comments, for comments that the database executes, and for more than
 * `tokensMax` tokens.
 */
export function tokenize(
  text: string,
  dialect: Dialect,
  { isDeclared, tokensMax = Infinity }: TokenizeOptions,
): Token[] {
  const lexer = new Lexer(text, dialect, isDeclared);
  while (lexer.next())
    if (lexer.tokens.length > tokensMax) throw rejectAt(text, lexer.at, tooManyTokens(tokensMax));
  return lexer.tokens;
}

const tooManyTokens = (max: number) =>
  `The statement has more than ${max} words, numbers and symbols. Pass long lists as values of variables.`;

/** Returns the tokens up to the first fault, for a text that may be unfinished. */
export function readTokens(text: string, dialect: Dialect, isDeclared: (name: string) => boolean): Token[] {
  const lexer = new Lexer(text, dialect, isDeclared);
  try {
    while (lexer.next());
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
  }
  return lexer.tokens;
}

class Lexer {
  readonly tokens: Token[] = [];
  readonly #text: string;
  readonly #postgres: boolean;
  /** True if `$tag$` can begin a string of MySQL. */
  readonly #mayDollarQuote: boolean;
  readonly #isDeclared: (name: string) => boolean;
  /** Open brackets: `(`, `[` of a subscript, `{` for the `[` of an array constructor. */
  readonly #open: string[] = [];
  #at = 0;

  constructor(text: string, dialect: Dialect, isDeclared: (name: string) => boolean) {
    this.#text = text;
    this.#postgres = bySyntax(dialect, { postgres: true, mysql: false });
    this.#mayDollarQuote = dialect === 'mysql';
    this.#isDeclared = isDeclared;
  }

  get at(): number {
    return this.#at;
  }

  next(): boolean {
    this.#skipBlank();
    const character = this.#text[this.#at];
    if (character === undefined) return false;
    if (character === '\0') throw rejectAt(this.#text, this.#at, 'The statement contains a NUL character.');
    if (wordStart.test(this.#codePoint())) this.#word();
    else if (/[0-9]/.test(character) || (character === '.' && /[0-9]/.test(this.#text[this.#at + 1] ?? '')))
      this.#number();
    else if (character === "'" || character === '"' || character === '`') this.#quote(character);
    else if (character === '$' && this.#postgres) this.#dollar();
    else if (character === ':') this.#colon();
    else if (character === '{') this.#brace();
    else this.#symbol(character);
    return true;
  }

  #codePoint(): string {
    return String.fromCodePoint(this.#text.codePointAt(this.#at) as number);
  }

  #push(kind: Token['kind'], end: number, text: string): void {
    this.tokens.push({ kind, start: this.#at, end, text });
    this.#at = end;
  }

  #skipBlank(): void {
    for (;;) {
      const rest = this.#text;
      const character = rest[this.#at] ?? '';
      if (blank.test(character)) this.#at++;
      else if (rest.startsWith('--', this.#at) && this.#isDashComment()) this.#skipLine();
      else if (character === '#' && !this.#postgres) this.#skipLine();
      else if (rest.startsWith('/*', this.#at)) this.#skipBlockComment();
      else return;
    }
  }

  /** MySQL wants a blank or a control character after the dashes. */
  #isDashComment(): boolean {
    const after = this.#text[this.#at + 2];
    return this.#postgres || after === undefined || after <= ' ' || after === '\u007f';
  }

  #skipLine(): void {
    const lineEnd = this.#postgres ? /[\n\r]/g : /\n/g;
    lineEnd.lastIndex = this.#at;
    this.#at = lineEnd.test(this.#text) ? lineEnd.lastIndex : this.#text.length;
  }

  #skipBlockComment(): void {
    const start = this.#at;
    if (!this.#postgres && /^\/\*M?!/.test(this.#text.slice(start, start + 4))) {
      throw rejectAt(
        this.#text,
        start,
        'The database executes comments of the form /*! … */, so the hub rejects them.',
      );
    }
    let depth = 0;
    do {
      if (this.#postgres && this.#text.startsWith('/*', this.#at)) depth++;
      else if (!this.#postgres && depth === 0) depth = 1;
      else if (this.#text.startsWith('*/', this.#at)) depth--;
      else {
        this.#at++;
        continue;
      }
      this.#at += 2;
    } while (depth > 0 && this.#at < this.#text.length);
    if (depth > 0) throw rejectAt(this.#text, start, 'This comment is not closed.');
    if (!this.#postgres && this.#text[start + 2] === '+') this.#requirePlainHint(start);
  }

  /** Hints have a grammar of their own in MySQL, in which the end of a comment can be quoted. */
  #requirePlainHint(start: number): void {
    if (!/['"`]/.test(this.#text.slice(start, this.#at))) return;
    throw rejectAt(this.#text, start, 'A hint must not contain quotes. Write the names in it without them.');
  }

  #word(): void {
    let end = this.#at;
    while (end < this.#text.length) {
      const character = String.fromCodePoint(this.#text.codePointAt(end) as number);
      if (!wordPart.test(character)) break;
      end += character.length;
    }
    const word = this.#text.slice(this.#at, end);
    const next = this.#text[end];
    if (this.#postgres && next === "'" && (word === 'e' || word === 'E')) {
      const start = this.#at;
      this.#at = end;
      this.#quote("'", { backslash: true, start });
    } else this.#push('word', end, word.toUpperCase());
  }

  #number(): void {
    numberText.lastIndex = this.#at;
    const [number = '0'] = numberText.exec(this.#text) ?? [];
    this.#push('number', this.#at + number.length, number);
  }

  /** A doubled quote is part of the string. MySQL's strings and E'…' also have backslash escapes. */
  #quote(quote: string, from: { backslash?: boolean; start?: number } = {}): void {
    const start = from.start ?? this.#at;
    const backslash = from.backslash ?? (!this.#postgres && quote !== '`');
    if (quote === '`' && this.#postgres)
      throw rejectAt(this.#text, start, 'PostgreSQL quotes names with ", not with `.');
    let end = this.#at + 1;
    for (; ; end++) {
      const character = this.#text[end];
      if (character === undefined) throw rejectAt(this.#text, start, `This ${quote} is not closed.`);
      if (character === '\\' && backslash) end++;
      else if (character === quote) {
        if (this.#text[end + 1] === quote) end++;
        else if (!this.#postgres || !backslash) break;
        else {
          // The backslash is an escape in what continues the string as well.
          continuation.lastIndex = end + 1;
          if (!continuation.test(this.#text)) break;
          end = continuation.lastIndex - 1;
        }
      }
    }
    this.#pushQuoted(start, end + 1);
  }

  #pushQuoted(start: number, end: number): void {
    const braced = bracedAnywhere.exec(this.#text.slice(start, end));
    if (braced !== null) {
      throw rejectAt(
        this.#text,
        start + braced.index,
        `${braced[0]} is in quotes, where it is plain text. Remove the quotes: values are bound, never inserted into the text. To build a pattern, concatenate, as in '%' || :name or CONCAT('%', :name).`,
      );
    }
    this.#at = start;
    this.#push('quoted', end, '');
  }

  #dollar(): void {
    dollarTag.lastIndex = this.#at;
    const [tag] = dollarTag.exec(this.#text) ?? [];
    if (tag === undefined) {
      throw rejectAt(
        this.#text,
        this.#at,
        'Numbered parameters such as $1 are reserved for the hub. Name your variables, as in :name.',
      );
    }
    const close = this.#text.indexOf(tag, this.#at + tag.length);
    if (close < 0) throw rejectAt(this.#text, this.#at, `This ${tag} is not closed.`);
    this.#pushQuoted(this.#at, close + tag.length);
  }

  #colon(): void {
    const next = this.#text[this.#at + 1];
    if (next === ':' || next === '=') {
      this.#push('symbol', this.#at + 2, `:${next}`);
      return;
    }
    variableName.lastIndex = this.#at + 1;
    const [name] = variableName.exec(this.#text) ?? [];
    if (name !== undefined && this.#isLabel(name)) {
      this.#push('symbol', this.#at + 1, ':');
      return;
    }
    const end = this.#at + 1 + (name?.length ?? 0);
    const longer = /[A-Za-z0-9_]/.test(this.#text[end] ?? '');
    if (name !== undefined && longer)
      throw rejectAt(this.#text, this.#at, 'The name of a variable has at most 64 characters.');
    // In a subscript a colon separates the bounds of a slice, unless a declared variable follows it.
    const slice = this.#open.at(-1) === '[' && name !== undefined && !this.#isDeclared(name);
    const isCut = this.#open.at(-1) !== '[' && otherLetter.test(this.#text.slice(end, end + 2));
    if (isCut)
      throw rejectAt(this.#text, this.#at, 'The name of a variable has the letters A to Z, digits and _.');
    if (name === undefined || slice) this.#push('symbol', this.#at + 1, ':');
    else this.#push('variable', end, name);
  }

  /** `again:LOOP` in a body. No variable has its colon directly behind a word. */
  #isLabel(name: string): boolean {
    const [first, last] = [this.tokens[0], this.tokens.at(-1)];
    const isBehindWord = last?.end === this.#at && (last.kind === 'word' || last.kind === 'quoted');
    return !this.#postgres && isBehindWord && first?.text === 'CREATE' && labelled.test(name);
  }

  #brace(): void {
    bracedVariable.lastIndex = this.#at;
    const [braced, name] = bracedVariable.exec(this.#text) ?? [];
    if (braced !== undefined && name !== undefined) {
      this.#push('variable', this.#at + braced.length, name);
      return;
    }
    if (this.#text.startsWith('{{', this.#at)) {
      throw rejectAt(
        this.#text,
        this.#at,
        'Write a variable as {{name}}. Its name starts with a letter or underscore, followed by letters, digits or underscores.',
      );
    }
    this.#symbol('{');
  }

  #symbol(character: string): void {
    if (character === '?' && !this.#postgres) {
      throw rejectAt(this.#text, this.#at, 'Placeholders must have names: write :name instead of ?.');
    }
    dollarTag.lastIndex = this.#at;
    if (this.#mayDollarQuote && character === '$' && dollarTag.test(this.#text)) {
      throw rejectAt(
        this.#text,
        this.#at,
        'The hub does not run texts in dollar quotes. Quote names with `.',
      );
    }
    if (character === '(') this.#open.push('(');
    else if (character === '[') this.#open.push(this.#startsArray() ? '{' : '[');
    else if (character === ')' || character === ']') this.#open.pop();
    this.#push('symbol', this.#at + character.length, character);
  }

  /** `ARRAY[…]`, or a bracket inside one. */
  #startsArray(): boolean {
    const last = this.tokens.at(-1);
    if (last?.kind === 'word') return last.text === 'ARRAY';
    return (last?.text === '[' || last?.text === ',') && this.#open.at(-1) === '{';
  }
}
