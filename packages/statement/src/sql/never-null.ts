/**
 * Proves that an expression is never NULL, from its text alone. The rules cover the part of SQL whose results they are
 * sure of; whatever else an expression contains, it is not proven.
 */

import type { Token } from './lexer.ts';
import { nesting } from './select-list.ts';

export interface ProofOptions {
  isMysql: boolean;
  /** Receives the functions that proofs rely on, in lower case. They are proven only if nobody redefined them. */
  functions: Set<string>;
  /** The number of expressions around this one. */
  depth?: number;
}

/** Deeper nesting is not proven. */
const depthMax = 50;

/** `tokens` are those of one expression, without an alias. */
export function isNeverNull(text: string, tokens: readonly Token[], options: ProofOptions): boolean {
  const { depth = 0 } = options;
  const proof = new Proof(text, tokens, { ...options, depth });
  return depth <= depthMax && proof.expression() && proof.isComplete;
}

/** True for a call of `count`, which has a value even if there are no rows. */
export const isCount = (tokens: readonly Token[], { isMysql }: Pick<ProofOptions, 'isMysql'>): boolean =>
  isCountCall(tokens, 0, !isMysql) && skipBrackets(tokens, 1) === tokens.length;

const comparisons = new Set(['=', '<>', '!=', '<', '>', '<=', '>=']);
const additions = new Set(['+', '-']);
/** On MySQL, `||` is OR, which has a lower precedence. */
const concatenations = new Set(['||']);
/** On MySQL, a division by zero is NULL; on PostgreSQL it is an error. */
const multiplications = { mysql: new Set(['*']), postgres: new Set(['*', '/', '%']) };
const truths = new Set(['NULL', 'TRUE', 'FALSE', 'UNKNOWN']);

/**
 * Functions of PostgreSQL that return a value if all their arguments are values. Not `substring`, `to_char` and `extract`,
 * which can return NULL then.
 */
export const strictFunctions = new Set([
  ...['ABS', 'BTRIM', 'CEIL', 'CEILING', 'CHAR_LENGTH', 'CONCAT', 'CURRENT_DATABASE', 'DENSE_RANK', 'FLOOR'],
  ...['GEN_RANDOM_UUID', 'INITCAP', 'LEFT', 'LENGTH', 'LOWER', 'LPAD', 'LTRIM', 'MD5', 'MOD', 'OCTET_LENGTH'],
  ...['PG_BACKEND_PID', 'RANDOM', 'RANK', 'REPEAT', 'REPLACE', 'REVERSE', 'RIGHT', 'ROUND', 'ROW_NUMBER'],
  ...['RPAD', 'RTRIM', 'SIGN', 'SPLIT_PART', 'STRPOS', 'SUBSTR', 'TRUNC', 'UPPER'],
]);

/** Types of PostgreSQL to which a cast makes no value NULL. */
const castTypes = new Set([
  ...['INT', 'INT2', 'INT4', 'INT8', 'INTEGER', 'SMALLINT', 'BIGINT', 'NUMERIC', 'DECIMAL', 'REAL', 'FLOAT4'],
  ...['FLOAT8', 'TEXT', 'VARCHAR', 'BOOL', 'BOOLEAN', 'UUID'],
]);

/** Words after which a SELECT can have no row, although it is an aggregate. */
const rowLimits = new Set([
  ...['GROUP', 'HAVING', 'LIMIT', 'OFFSET', 'FETCH', 'UNION', 'INTERSECT', 'EXCEPT'],
]);

/**
 * Reads an expression from its lowest precedence to its highest. Each method reads its part and returns true if that is
 * never NULL. What cannot be read stays unread, so that the expression is not complete.
 */
class Proof {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #options: ProofOptions & { depth: number };
  #at = 0;

  constructor(text: string, tokens: readonly Token[], options: ProofOptions & { depth: number }) {
    this.#text = text;
    this.#tokens = tokens;
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#tokens.length > 0 && this.#at === this.#tokens.length;
  }

  expression(): boolean {
    let isProven = this.#negation();
    while (this.#takeWord('OR') || this.#takeWord('AND')) isProven = this.#negation() && isProven;
    return isProven;
  }

  #negation(): boolean {
    while (this.#takeWord('NOT'));
    return this.#test();
  }

  /** `x IS NULL` has a value whatever `x` is. */
  #test(): boolean {
    let isProven = this.#chain(comparisons, () => this.#concatenation());
    while (this.#takeWord('IS')) {
      this.#takeWord('NOT');
      const word = this.#peek();
      if (word?.kind !== 'word' || !truths.has(word.text)) return false;
      this.#at++;
      isProven = true;
    }
    return isProven;
  }

  #concatenation(): boolean {
    if (this.#options.isMysql) return this.#sum();
    return this.#chain(concatenations, () => this.#sum());
  }

  #sum(): boolean {
    return this.#chain(additions, () => this.#product());
  }

  #product(): boolean {
    const { isMysql } = this.#options;
    return this.#chain(multiplications[isMysql ? 'mysql' : 'postgres'], () => this.#unary());
  }

  #chain(operators: ReadonlySet<string>, operand: () => boolean): boolean {
    let isProven = operand();
    for (let end = this.#operator(operators); end !== undefined; end = this.#operator(operators)) {
      this.#at = end;
      isProven = operand() && isProven;
    }
    return isProven;
  }

  /** Returns the place after the operator, if it is one of these. The characters of an operator touch each other. */
  #operator(operators: ReadonlySet<string>): number | undefined {
    let end = this.#at;
    let operator = '';
    for (; isOperatorPart(this.#tokens[end]); end++) {
      if (end > this.#at && this.#tokens[end]?.start !== this.#tokens[end - 1]?.end) break;
      operator += this.#tokens[end]?.text;
    }
    return operators.has(operator) ? end : undefined;
  }

  #unary(): boolean {
    const sign = this.#operator(additions);
    if (sign !== undefined) this.#at = sign;
    return this.#cast(this.#value());
  }

  #cast(isValueProven: boolean): boolean {
    let isProven = isValueProven;
    while (this.#peek()?.text === '::' && !this.#options.isMysql) {
      this.#at++;
      isProven = this.#type() && isProven;
    }
    return isProven;
  }

  #type(): boolean {
    const type = this.#peek();
    if (type?.kind !== 'word' || !castTypes.has(type.text)) return false;
    this.#at++;
    if (this.#peek()?.text === '(') this.#at = skipBrackets(this.#tokens, this.#at);
    return true;
  }

  #value(): boolean {
    const token = this.#peek();
    if (token === undefined) return false;
    if (token.kind === 'symbol') return token.text === '(' && this.#inBrackets();
    if (token.kind === 'word' && token.text === 'CASE') return this.#case();
    if (token.kind === 'word' && this.#tokens[this.#at + 1]?.text === '(') return this.#call(token);
    this.#at++;
    if (token.kind === 'number') return true;
    // In each dialect, names have other quotes than strings.
    if (token.kind === 'quoted' && /^[eE]?'/.test(this.#text.slice(token.start, token.start + 2)))
      return true;
    if (token.kind === 'word' && (token.text === 'TRUE' || token.text === 'FALSE')) return true;
    while (this.#peek()?.text === '.') this.#at += 2;
    if (this.#peek()?.text === '(') this.#at = skipBrackets(this.#tokens, this.#at);
    return false;
  }

  #inBrackets(): boolean {
    const inner = this.#takeBrackets();
    const [first] = inner;
    if (first?.kind !== 'word' || first.text !== 'SELECT') return this.#proves(inner);
    this.#options.functions.add('count');
    return isCountOfAll(inner);
  }

  #call({ text: name }: Token): boolean {
    const isCounting = isCountCall(this.#tokens, this.#at, !this.#options.isMysql);
    this.#at++;
    const inner = this.#takeBrackets();
    this.#skipWindow();
    const list = split(inner);
    const all = () => list.every((item) => this.#proves(item));
    const any = () => list.some((item) => this.#proves(item));
    const { isMysql, functions } = this.#options;
    if (name === 'EXISTS') return true;
    if (name === 'COALESCE' || (isMysql && name === 'IFNULL')) return list.length > 1 && any();
    if (name === 'GREATEST' || name === 'LEAST') return isMysql ? all() : any();
    if (isMysql && !isCounting) return false;
    if (name === 'CAST') return this.#castCall(inner);
    if (!isCounting && !strictFunctions.has(name)) return false;
    functions.add(name.toLowerCase());
    return isCounting || inner.length === 0 || all();
  }

  #castCall(inner: readonly Token[]): boolean {
    const at = inner.findLastIndex(({ kind, text }) => kind === 'word' && text === 'AS');
    if (at < 0) return false;
    const type = new Proof(this.#text, inner.slice(at + 1), this.#options);
    return type.#type() && type.isComplete && this.#proves(inner.slice(0, at));
  }

  #skipWindow(): void {
    for (const word of ['FILTER', 'OVER']) {
      if (!this.#takeWord(word)) continue;
      if (this.#peek()?.text === '(') this.#at = skipBrackets(this.#tokens, this.#at);
      else this.#at++;
    }
  }

  /** Has a value if each of its results has one, and there is an ELSE. */
  #case(): boolean {
    const parts: { word: string; tokens: Token[] }[] = [];
    let depth = 0;
    for (; this.#at < this.#tokens.length; this.#at++) {
      const token = this.#tokens[this.#at] as Token;
      const isKeyword = token.kind === 'word' && this.#tokens[this.#at - 1]?.text !== '.';
      if (isKeyword && token.text === 'CASE') depth++;
      if (isKeyword && token.text === 'END') depth--;
      if (depth === 0) break;
      if (depth === 1 && isKeyword && caseWords.has(token.text)) parts.push({ word: token.text, tokens: [] });
      else parts.at(-1)?.tokens.push(token);
      depth += nesting(token);
    }
    this.#at++;
    const results = parts.filter(({ word }) => word === 'THEN' || word === 'ELSE');
    return (
      depth === 0 && parts.at(-1)?.word === 'ELSE' && results.every(({ tokens }) => this.#proves(tokens))
    );
  }

  #proves(tokens: readonly Token[]): boolean {
    const { depth } = this.#options;
    return isNeverNull(this.#text, tokens, { ...this.#options, depth: depth + 1 });
  }

  /** Returns what is between the brackets, and continues after them. */
  #takeBrackets(): readonly Token[] {
    const from = this.#at;
    this.#at = skipBrackets(this.#tokens, from);
    return this.#tokens.slice(from + 1, this.#at - 1);
  }

  #takeWord(word: string): boolean {
    const token = this.#peek();
    if (token?.kind !== 'word' || token.text !== word) return false;
    this.#at++;
    return true;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }
}

const caseWords = new Set(['CASE', 'WHEN', 'THEN', 'ELSE']);

const isOperatorPart = (token: Token | undefined): boolean =>
  token?.kind === 'symbol' && /^[-+*/<>=~!@#%^&|`?]$/.test(token.text);

/** Returns the place after the brackets that open at `from`; beyond the end if they do not close. */
function skipBrackets(tokens: readonly Token[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    depth += nesting(tokens[at] as Token);
    if (depth === 0) return at + 1;
  }
  return tokens.length + 1;
}

/** Splits the arguments of a call. */
function split(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += nesting(token);
    if (depth === 0 && token.kind === 'symbol' && token.text === ',') parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

/** On MySQL, a blank before the bracket would make it a call of a stored function. */
function isCountCall(tokens: readonly Token[], at: number, allowsBlank: boolean): boolean {
  const [name, bracket] = [tokens[at], tokens[at + 1]];
  if (name?.kind !== 'word' || name.text !== 'COUNT' || bracket?.text !== '(') return false;
  return allowsBlank || bracket.start === name.end;
}

/** True for `SELECT count(*) FROM …` that always has one row. An aggregate of outer columns would belong outside. */
function isCountOfAll(tokens: readonly Token[]): boolean {
  const words = tokens.slice(1, 5).map(({ text }) => text);
  const next = tokens[5];
  if (words.join(' ') !== 'COUNT ( * )' || (next !== undefined && next.text !== 'FROM')) return false;
  let depth = 0;
  return tokens.every((token) => {
    depth += nesting(token);
    return depth > 0 || token.kind !== 'word' || !rowLimits.has(token.text);
  });
}
