/**
 * What a value is compared or merged with, or stored in. PostgreSQL gives a parameter one type, that of its first use, so
 * a variable beside values of two types needs a parameter for each.
 */

import { isAnyWord, isSymbol, isWord, type Token } from './lexer.ts';

/** A longer operand is not read, so that reading all operands takes time in the length of the text. */
const tokensMax = 64;

const comparisons = new Set(['=', '<>', '!=', '<', '>', '<=', '>=']);
const operatorSigns = /^[-+*/<>=~!@#%^&|?]$/;
/** What binds tighter than a comparison, or names an operator. */
const goOn = new Set(['AT', 'COLLATE', 'OPERATOR', 'LIKE', 'ILIKE', 'SIMILAR', 'BETWEEN', 'IN', 'NOT']);
const matching = new Set(['LIKE', 'ILIKE']);
const quantifiers = new Set(['ANY', 'SOME', 'ALL']);
const merging = new Set(['COALESCE', 'NULLIF', 'GREATEST', 'LEAST']);
/** Words in front of a parenthesis that is no call of a function. */
const callless = new Set([
  ...[
    'AND',
    'OR',
    'NOT',
    'WHERE',
    'ON',
    'HAVING',
    'WHEN',
    'THEN',
    'ELSE',
    'CASE',
    'SELECT',
    'BY',
    'DISTINCT',
  ],
  ...['RETURNING', 'USING', ...matching],
]);

/** Built-in types whose names can be written like a function. */
const types = new Set([
  ...[
    'date',
    'time',
    'timetz',
    'timestamp',
    'timestamptz',
    'int2',
    'int4',
    'int8',
    'float4',
    'float8',
    'numeric',
  ],
  ...['bool', 'money', 'text', 'varchar', 'bpchar', 'name', 'json', 'jsonb', 'uuid', 'inet', 'cidr', 'oid'],
]);

const isSign = (token: Token | undefined) => token?.kind === 'symbol' && operatorSigns.test(token.text);
const isName = (token: Token | undefined) =>
  token?.kind === 'word' || token?.kind === 'quoted' || token?.kind === 'number';

/** Names what stands beside the variable, the same for equal texts. */
export class Operands {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #names = new Map<string, string>();

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  /** Undefined if the value at this token is neither compared, merged nor stored as it is, or with too much. */
  of(i: number): string | undefined {
    let [from, to] = [i - 1, i + 1];
    while (isSymbol(this.#tokens[from], '(') && isSymbol(this.#tokens[to], ')') && !this.#isCall(from)) {
      from--;
      to++;
    }
    const inParentheses = this.#merged(i) ?? this.#inList(from, to) ?? this.#element(i) ?? this.#column(i);
    return inParentheses ?? this.#before(from, to) ?? this.#behind(from, to);
  }

  #isCall(open: number): boolean {
    const before = this.#tokens[open - 1];
    return before?.kind === 'quoted' || (before?.kind === 'word' && !callless.has(before.text));
  }

  /** An argument of COALESCE and such, with all others. */
  #merged(i: number): string | undefined {
    if (!this.#isItem(i)) return undefined;
    const open = this.#openBefore(i - 1);
    if (open === undefined || !isAnyWord(this.#tokens[open - 1], merging)) return undefined;
    const close = this.#closeOf(open);
    return close === undefined ? undefined : this.#name(open - 1, close);
  }

  /** An element of `x IN (a, :name)` or `ARRAY[a, :name]`, with all others. */
  #element(i: number): string | undefined {
    if (this.#isItem(i)) {
      const open = this.#openBefore(i - 1);
      if (open === undefined || !isWord(this.#tokens[open - 1], 'IN')) return undefined;
      const operand = this.#operand(this.#skipNot(open - 2));
      const close = this.#closeOf(open);
      const list = close === undefined ? undefined : this.#name(open, close);
      return operand && list && `${operand} in ${list}`;
    }
    const [before, after] = [this.#tokens[i - 1], this.#tokens[i + 1]];
    if (!isSymbol(before, '[') && !isSymbol(before, ',')) return undefined;
    if (!isSymbol(after, ']') && !isSymbol(after, ',')) return undefined;
    const open = this.#openBefore(i - 1, '[', ']');
    if (open === undefined || !isWord(this.#tokens[open - 1], 'ARRAY')) return undefined;
    const close = this.#closeOf(open, '[', ']');
    return close === undefined ? undefined : this.#name(open, close);
  }

  /** A column of VALUES. */
  #column(i: number): string | undefined {
    if (!this.#isItem(i)) return undefined;
    const open = this.#openBefore(i - 1);
    if (open === undefined) return undefined;
    const isRow = isWord(this.#tokens[open - 1], 'VALUES');
    const isFurtherRow = isSymbol(this.#tokens[open - 1], ',') && isSymbol(this.#tokens[open - 2], ')');
    if (!isRow && !isFurtherRow) return undefined;
    let [position, depth] = [0, 0];
    for (const token of this.#tokens.slice(open + 1, i)) {
      if (isSymbol(token, '(')) depth++;
      else if (isSymbol(token, ')')) depth--;
      else if (isSymbol(token, ',') && depth === 0) position++;
    }
    return `column ${position}`;
  }

  /** True if the whole between a parenthesis or comma and the next one is this token. */
  #isItem(i: number): boolean {
    const [before, after] = [this.#tokens[i - 1], this.#tokens[i + 1]];
    const begins = isSymbol(before, '(') || isSymbol(before, ',');
    return begins && (isSymbol(after, ')') || isSymbol(after, ','));
  }

  /** `x IN (:name)` and `x = ANY (:name)`, which has the type of a list. */
  #inList(from: number, to: number): string | undefined {
    const open = isSymbol(this.#tokens[from], '(') && isSymbol(this.#tokens[to], ')') ? from : undefined;
    if (open === undefined) return undefined;
    const word = this.#tokens[open - 1];
    if (isAnyWord(word, quantifiers)) {
      const operator = this.#operatorUpTo(open - 2);
      return operator === undefined ? undefined : this.#operand(operator - 1, 'list');
    }
    return isWord(word, 'IN') ? this.#operand(this.#skipNot(open - 2), 'list') : undefined;
  }

  #before(from: number, to: number): string | undefined {
    const token = this.#tokens[from];
    const operator = this.#operatorUpTo(from);
    if (operator === undefined && token?.kind !== 'word') return undefined;
    if (this.#goesOn(to)) return undefined;
    if (operator !== undefined) return this.#operand(operator - 1);
    if (isAnyWord(token, matching)) return this.#operand(this.#skipNot(from - 1), 'text');
    if (token?.text === 'BETWEEN') return this.#operand(this.#skipNot(from - 1));
    if (token?.text === 'FROM' && this.#tokens[from - 1]?.text === 'DISTINCT') {
      const is = this.#skipNot(from - 2);
      return this.#tokens[is]?.text === 'IS' ? this.#operand(is - 1) : undefined;
    }
    return token?.text === 'AND' ? this.#ofBetween(from) : undefined;
  }

  /** The value behind the AND of a BETWEEN. */
  #ofBetween(and: number): string | undefined {
    let depth = 0;
    for (let i = and - 1; i >= 0 && and - i < tokensMax; i--) {
      const token = this.#tokens[i] as Token;
      if (isSymbol(token, ')')) depth++;
      else if (isSymbol(token, '(') && --depth < 0) return undefined;
      else if (depth > 0 || token.kind !== 'word') continue;
      else if (token.text === 'BETWEEN') return this.#operand(this.#skipNot(i - 1));
      else if (token.text === 'AND' || token.text === 'OR') return undefined;
    }
    return undefined;
  }

  #behind(from: number, to: number): string | undefined {
    const token = this.#tokens[from];
    const begins =
      token === undefined || token.kind === 'word' || isSymbol(token, '(') || isSymbol(token, ',');
    if (!begins || isAnyWord(token, goOn)) return undefined;
    let end = to;
    while (isSign(this.#tokens[end]) && this.#isAdjacent(to, end)) end++;
    const sign = this.#text.slice(this.#tokens[to]?.start, this.#tokens[end - 1]?.end);
    if (end > to && comparisons.has(sign)) return this.#operandFrom(end);
    return undefined;
  }

  /** The first token of a comparison that ends here. */
  #operatorUpTo(end: number): number | undefined {
    let start = end + 1;
    while (isSign(this.#tokens[start - 1]) && this.#isAdjacent(start - 1, end)) start--;
    if (start > end) return undefined;
    const sign = this.#text.slice(this.#tokens[start]?.start, this.#tokens[end]?.end);
    return comparisons.has(sign) ? start : undefined;
  }

  /** True if nothing is between the tokens. */
  #isAdjacent(from: number, to: number): boolean {
    const [first, last] = [this.#tokens[from], this.#tokens[to]];
    return first !== undefined && last !== undefined && last.end - first.start === to - from + 1;
  }

  /** True if the token belongs to the operand in front of it. */
  #goesOn(at: number): boolean {
    const token = this.#tokens[at];
    if (token === undefined || isSymbol(token, ')') || isSymbol(token, ',')) return false;
    return token.kind !== 'word' || goOn.has(token.text);
  }

  #skipNot = (at: number): number => (this.#tokens[at]?.text === 'NOT' ? at - 1 : at);

  /**
   * The cast of `date(:name)`. PostgreSQL takes the name of a type with a literal for a cast, but with a parameter for a
   * function, which reads the value as another type.
   */
  typeCalled(i: number): string | undefined {
    const name = this.#tokens[i - 2];
    if (name === undefined || !isSymbol(this.#tokens[i - 1], '(') || !isSymbol(this.#tokens[i + 1], ')'))
      return undefined;
    const schema = isSymbol(this.#tokens[i - 3], '.') ? this.#tokens[i - 4]?.text : 'PG_CATALOG';
    if (schema !== 'PG_CATALOG') return undefined;
    const type = this.#text.slice(name.start, name.end).replace(/^"(.*)"$/, '$1');
    return types.has(name.kind === 'word' ? type.toLowerCase() : type)
      ? `::${type.toLowerCase()}`
      : undefined;
  }

  /** True for `:name IS NULL` and `IS NOT NULL`, which is so whatever the type. */
  isTested(i: number): boolean {
    const is = isWord(this.#tokens[i + 1], 'IS') ? i + 2 : 0;
    const at = isWord(this.#tokens[is], 'NOT') ? is + 1 : is;
    return is > 0 && isWord(this.#tokens[at], 'NULL');
  }

  /** The operand that ends here: a name, a constant, a call or a cast. */
  #operand(end: number, kind = ''): string | undefined {
    let start: number | undefined = end;
    for (;;) {
      start = this.#startOf(start);
      if (start === undefined || end - start > tokensMax) return undefined;
      const before = this.#tokens[start - 1];
      if (!isSymbol(before, '.') && !isSymbol(before, '::')) break;
      start -= 2;
    }
    const name = this.#name(start, end);
    return name && `${kind} ${name}`;
  }

  /** The start of a name, or of what is in parentheses with the name in front of it. */
  #startOf(end: number): number | undefined {
    const token = this.#tokens[end];
    if (isName(token) || token?.kind === 'variable') return end;
    if (isSymbol(token, ']')) {
      const open = this.#openBefore(end, '[', ']');
      return open === undefined ? undefined : this.#startOf(open - 1);
    }
    if (!isSymbol(token, ')')) return undefined;
    const open = this.#openBefore(end);
    if (open === undefined) return undefined;
    return this.#isCall(open) ? open - 1 : open;
  }

  #operandFrom(start: number): string | undefined {
    let end: number | undefined = start;
    for (;;) {
      if (!isName(this.#tokens[end]) && !isSymbol(this.#tokens[end], '(')) return undefined;
      if (isSymbol(this.#tokens[end + 1], '(')) end++;
      if (isSymbol(this.#tokens[end], '(')) end = this.#closeOf(end);
      if (end === undefined || end - start > tokensMax) return undefined;
      const after = this.#tokens[end + 1];
      if (!isSymbol(after, '.') && !isSymbol(after, '::')) break;
      end += 2;
    }
    const name = this.#name(start, end);
    return name && ` ${name}`;
  }

  /** The parenthesis that is open in front of this token, or that it closes. */
  #openBefore(end: number, open = '(', close = ')'): number | undefined {
    if (isSymbol(this.#tokens[end], open)) return end;
    let depth = isSymbol(this.#tokens[end], close) ? 0 : 1;
    for (let i = end; i >= 0 && end - i <= tokensMax; i--) {
      if (isSymbol(this.#tokens[i], close)) depth++;
      else if (isSymbol(this.#tokens[i], open) && --depth === 0) return i;
    }
    return undefined;
  }

  #closeOf(start: number, open = '(', close = ')'): number | undefined {
    let depth = 0;
    for (let i = start; i - start <= tokensMax && i < this.#tokens.length; i++) {
      if (isSymbol(this.#tokens[i], open)) depth++;
      else if (isSymbol(this.#tokens[i], close) && --depth === 0) return i;
    }
    return undefined;
  }

  #name(from: number, to: number): string | undefined {
    if (to - from >= tokensMax || to < from) return undefined;
    // All elements of a list have the same name.
    const range = `${from} ${to}`;
    const known = this.#names.get(range);
    if (known !== undefined) return known;
    const name = this.#tokens
      .slice(Math.max(0, from), to + 1)
      .map(({ kind, text, start, end }) =>
        kind === 'word' ? text.toLowerCase() : this.#text.slice(start, end),
      )
      .join(' ');
    this.#names.set(range, name);
    return name;
  }
}
