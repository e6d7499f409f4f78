/** Reads tokens one after the other, for statements whose parts follow each other as in the engine's grammar. */

import type { Token } from './lexer.ts';

export class TokenReader {
  at = 0;
  readonly #tokens: readonly Token[];

  constructor(tokens: readonly Token[], at = 0) {
    this.#tokens = tokens;
    this.at = at;
  }

  get isOver(): boolean {
    return this.at >= this.#tokens.length;
  }

  /** True if this word or symbol is next, or follows that many tokens later. */
  is(text: string, later = 0): boolean {
    const token = this.#tokens[this.at + later];
    if (token?.text !== text) return false;
    return token.kind === 'symbol' || (token.kind === 'word' && !this.#endsName(this.at + later));
  }

  /** True for a word directly behind a number or a dollar sign: in MySQL, `1begin` is a name. */
  #endsName(at: number): boolean {
    const [before, word] = [this.#tokens[at - 1], this.#tokens[at]];
    return (
      before !== undefined && before.end === word?.start && (before.kind === 'number' || before.text === '$')
    );
  }

  isAny(words: ReadonlySet<string>): boolean {
    const { next } = this;
    return next?.kind === 'word' && words.has(next.text) && !this.#endsName(this.at);
  }

  /** True if a name, in quotes or without, or a number or string is next. */
  isValue(): boolean {
    return this.next !== undefined && this.next.kind !== 'symbol';
  }

  /** The next token; undefined at the end. */
  get next(): Token | undefined {
    return this.#tokens[this.at];
  }

  /** Goes past these words and symbols if they are next. */
  takes(...texts: string[]): boolean {
    const areNext = texts.every((text, later) => this.is(text, later));
    if (areNext) this.at += texts.length;
    return areNext;
  }

  takesAny(words: ReadonlySet<string>): boolean {
    const isNext = this.isAny(words);
    if (isNext) this.at++;
    return isNext;
  }

  /**
   * Goes past the group in parentheses that is next. Returns false if it is not closed, or has a semicolon where none is
   * allowed.
   */
  takesGroup({ semicolons = false } = {}): boolean {
    let depth = 0;
    do {
      if (this.is('(')) depth++;
      else if (this.is(')')) depth--;
      else if (this.isOver || (this.is(';') && !(semicolons && depth === 1))) return false;
      this.at++;
    } while (depth > 0);
    return true;
  }

  /**
   * Goes to these words or symbols, outside of parentheses. A word behind a point is a name. Returns false if the end, a
   * semicolon or a CASE comes first, in which the words can mean something else.
   */
  finds(...texts: string[]): boolean {
    while (!this.isOver && !this.is(';')) {
      const isName = this.is('.', -1);
      if (!isName && texts.every((text, later) => this.is(text, later))) return true;
      if (!isName && this.is('CASE')) return false;
      if (!this.is('(')) this.at++;
      else if (!this.takesGroup()) return false;
    }
    return false;
  }
}
