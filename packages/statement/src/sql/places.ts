/** Where the variables of a statement stand: in the parentheses of an IN, or beside a comparison. */

import { isAnyWord, isSymbol, isWord, type Token } from './lexer.ts';

export interface ListPlace {
  not: boolean;
  /** The start of `[NOT] IN`. */
  from: number;
  /** Identifies the parentheses. */
  group: number;
  /** The number of elements in the parentheses, and the position of this one. */
  size: number;
  position: number;
  /** The offsets of the commas beside it. */
  commaBefore: number | undefined;
  commaAfter: number | undefined;
}

export interface Place {
  /** Set for an element of `[NOT] IN (…)`. */
  list: ListPlace | undefined;
  /** True for an operand of a comparison, alone or in a row. */
  isCompared: boolean;
  /** True if the result can be this value or one beside it, as in `COALESCE(:name, id)` and `CASE … ELSE :name END`. */
  isMerged: boolean;
  /**
   * True for a value of the JSON that a function of MySQL or MariaDB makes, as in `JSON_SET(doc, '$.a', :name)`, and for
   * one that `MEMBER OF` looks for in JSON.
   */
  isJsonPart: boolean;
  /** True for the first argument of TIME or TIMESTAMP, and anywhere in them. */
  isTime: boolean;
  isInTime: boolean;
  /** True for the whole number of a LIMIT or OFFSET. */
  isLimit: boolean;
  /** True for what REGEXP compares with, and for the argument of a function such as REGEXP_REPLACE. */
  isPattern: boolean;
  role: Role;
}

/**
 * What becomes of a value: it is stored or given to a procedure as it is, is compared, with several others that can have
 * different types, as in `:name IN (id, label)`, or with one; is a bound of BETWEEN; is listed in IN; is computed with by
 * `added` operators; is a part of a result, as of COALESCE; is an argument of NULLIF; is a column of a subquery or UNION, or
 * of a row of VALUES that is not inserted; is `found` anywhere in FIND_IN_SET, COUNT and such, or says how many places ROUND
 * leaves; or is anything else, such as the argument of a function.
 */
type Computed = 'added' | 'part' | 'tested' | 'item' | 'row' | 'found';
export type Role = 'whole' | 'compared' | 'several' | 'bound' | 'listed' | Computed | 'other';

const queryWords = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);
const comparing = new Set(['LIKE', 'REGEXP', 'RLIKE', 'BETWEEN', 'SOUNDS']);
/** What stands in front of a result of a CASE, and what behind it. */
const beforeResult = new Set(['THEN', 'ELSE']);
const behindResult = new Set(['WHEN', 'ELSE', 'END']);
/** The functions whose result is one of their arguments, and the first of these. */
const merging = new Map([
  ...['COALESCE', 'IFNULL', 'NULLIF', 'GREATEST', 'LEAST'].map((name) => [name, 0] as const),
  ['IF', 1],
]);
const comparingAfter = new Set([...comparing, 'IN']);
/** Words in front of a parenthesis that is no call of a function. */
const callless = new Set([
  ...['AND', 'OR', 'XOR', 'NOT', 'WHERE', 'ON', 'HAVING', 'WHEN', 'THEN', 'ELSE', 'CASE', 'SELECT', 'BY'],
  ...['IN', 'IS', 'DIV', 'MOD', 'BINARY', 'DISTINCT', 'RETURNING'],
  ...comparing,
]);
/** Other functions whose result is a value of an argument. */
const passing = new Set([
  ...['MIN', 'MAX', 'ANY_VALUE', 'FIRST_VALUE', 'LAST_VALUE', 'NTH_VALUE', 'LAG', 'LEAD'],
]);
const computing: ReadonlySet<Role> = new Set(['added', 'part']);
const operators = new Set(['+', '-', '*', '/', '%']);
const operatorWords = new Set(['DIV', 'MOD']);
const numeric = new Set([
  ...['ABS', 'ROUND', 'TRUNCATE', 'FLOOR', 'CEIL', 'CEILING', 'MOD', 'SUM', 'AVG', 'MIN', 'MAX'],
]);
/**
 * The functions that read the bytes of a parameter in the character set of what is beside it, and those that take one that
 * is NULL for a value.
 */
const misreading = new Set(['FIND_IN_SET', 'GROUP_CONCAT', 'COUNT', 'BIT_AND', 'BIT_OR', 'BIT_XOR']);
/** The functions whose second argument says how many places the type of the result has. */
const rounding = new Set(['ROUND', 'TRUNCATE']);
const regexps = new Set(['REGEXP', 'RLIKE', 'REGEXP_REPLACE', 'REGEXP_SUBSTR', 'REGEXP_INSTR']);
const timeFunctions = new Set(['TIME', 'TIMESTAMP']);
const beforeColumn = new Set(['SELECT', 'DISTINCT', 'ALL']);
const combining = new Set(['UNION', 'INTERSECT', 'EXCEPT']);
const rowWords = new Set(['VALUES', 'VALUE', 'ROW']);
const storing = new Set(['INSERT', 'REPLACE']);
/** Behind a bound of a window. */
const frameWords = new Set(['PRECEDING', 'FOLLOWING']);
const endsAssignments = new Set(['WHERE', 'ORDER', 'LIMIT', 'FROM', 'SELECT', 'RETURNING', 'HAVING']);
/** The functions that make JSON, the first of their arguments that is a value, and how many further on the next is. */
const building = new Map<string, readonly [first: number, step: number]>([
  ...['JSON_ARRAY', 'JSON_ARRAYAGG'].map((name) => [name, [0, 1]] as const),
  ...['JSON_OBJECT', 'JSON_OBJECTAGG'].map((name) => [name, [1, 2]] as const),
  ...['JSON_SET', 'JSON_INSERT', 'JSON_REPLACE', 'JSON_ARRAY_APPEND', 'JSON_ARRAY_INSERT'].map(
    (name) => [name, [2, 2]] as const,
  ),
]);

/** The parentheses around a token. */
interface Level {
  /** -1 outside of all parentheses. */
  open: number;
  close: number | undefined;
  commas: number;
  /** In a SET clause, where `=` assigns. */
  assigns: boolean;
  /** The number of BETWEEN whose AND is still to come. */
  betweens: number;
  /** True anywhere in FIND_IN_SET, COUNT and such, and in TIME or TIMESTAMP. */
  isMisread: boolean;
  isInTime: boolean;
  /** Whether the whole is compared, and whether a call of a function is a part of JSON. Undefined until asked for. */
  isCompared: boolean | undefined;
  isJsonPart: boolean | undefined;
}

/** Reads the tokens once. Its methods take time that does not depend on the depth of the parentheses. */
export class Places {
  readonly #tokens: readonly Token[];
  readonly #mergesJson: boolean;
  readonly #combines: boolean;
  readonly #levels: Level[] = [];
  /** For each token, the number of commas in front of it in its parentheses. */
  readonly #positions: number[] = [];
  /** Each `=` that assigns, and each AND of a BETWEEN. */
  readonly #assignments = new Set<number>();
  readonly #betweenAnds = new Set<number>();

  /** `mergesJson`: true if COALESCE and such functions keep JSON and booleans for the JSON that they are a part of. */
  constructor(tokens: readonly Token[], mergesJson: boolean) {
    this.#tokens = tokens;
    this.#mergesJson = mergesJson;
    this.#combines = tokens.some((token) => isAnyWord(token, combining));
    const open: Level[] = [newLevel(-1, undefined, undefined)];
    for (const [i, token] of tokens.entries()) {
      if (isSymbol(token, ')') && open.length > 1) (open.pop() as Level).close = i;
      const level = open.at(-1) as Level;
      this.#levels.push(level);
      this.#positions.push(level.commas);
      if (isSymbol(token, ',')) level.commas++;
      else if (isSymbol(token, '(')) open.push(newLevel(i, tokens[i - 1], level));
      else if (isSymbol(token, '=') && level.assigns && this.#isTarget(i)) this.#assignments.add(i);
      else if (token.kind === 'word') this.#readWord(i, level);
    }
  }

  #readWord(i: number, level: Level): void {
    const token = this.#tokens[i] as Token;
    if (token.text === 'SET' || (token.text === 'UPDATE' && isWord(this.#tokens[i - 1], 'KEY')))
      level.assigns = true;
    else if (endsAssignments.has(token.text)) level.assigns = false;
    else if (token.text === 'BETWEEN') level.betweens++;
    else if (token.text === 'AND' && level.betweens > 0) {
      level.betweens--;
      this.#betweenAnds.add(i);
    }
  }

  /** True if only the name of a column is between the `=` and what is in front of an assignment. */
  #isTarget(equals: number): boolean {
    let at = equals - 1;
    while (isSymbol(this.#tokens[at - 1], '.') && at > 2) at -= 2;
    const before = this.#tokens[at - 1];
    return isSymbol(before, ',') || isWord(before, 'SET') || isWord(before, 'UPDATE');
  }

  of(i: number): Place {
    const list = this.#listOf(i);
    const isCompared = list === undefined && this.#isCompared(i);
    const isMerged = this.#isMerged(i);
    const isLimit = this.#isLimit(i);
    const isTime = timeFunctions.has(this.#callOf(i)) && this.#positions[i] === 0;
    const isKnown = list !== undefined || isCompared || isLimit;
    const known = isCompared ? this.#comparedRole(i) : list === undefined ? 'whole' : 'listed';
    const role = isKnown ? known : this.#roleOf(i, isMerged);
    const isPattern = isAnyWord(this.#tokens[i - 1], regexps) || regexps.has(this.#callOf(i));
    const isInTime = this.#levels[i]?.isInTime === true;
    const isJsonPart = this.#isJsonPart(i);
    return { list, isCompared, isMerged, isJsonPart, isTime, isInTime, isLimit, isPattern, role };
  }

  #comparedRole(i: number): Role {
    const [before, after] = [this.#tokens[i - 1], this.#tokens[i + 1]];
    if (isWord(before, 'BETWEEN') || this.#betweenAnds.has(i - 1)) return 'bound';
    const at = isWord(after, 'NOT') ? i + 2 : i + 1;
    const isOfList = isWord(this.#tokens[at], 'IN') && (this.#levels[at + 2]?.commas ?? 0) > 0;
    const hasSeveral = isOfList || isWord(before, 'CASE') || isWord(this.#tokens[at], 'BETWEEN');
    return hasSeveral ? 'several' : 'compared';
  }

  #roleOf(i: number, isMerged: boolean): Role {
    const call = this.#callOf(i);
    if (this.#isStored(i) || isAnyWord(this.#tokens[i + 1], frameWords)) return 'whole';
    if (this.#levels[i]?.isMisread || (rounding.has(call) && this.#positions[i] === 1)) return 'found';
    if (call === 'NULLIF') return 'tested';
    if (isMerged || passing.has(call)) return 'part';
    if (this.#isAdded(i) || operatorWords.has(call)) return 'added';
    if (this.#isOfRow(i)) return 'row';
    const isDistinct = isWord(this.#tokens[i - 1], 'DISTINCT') && isSymbol(this.#tokens[i - 2], '(');
    return this.#isColumn(i) || isDistinct ? 'item' : 'other';
  }

  /** True for a value that decides by its type whether an expression is a number. */
  isComputed = (i: number): boolean =>
    computing.has(this.of(i).role) || this.#callOf(i) === 'NULLIF' || numeric.has(this.#callOf(i));

  /** The whole value of `SET column = :name`, of a column in `VALUES (…)`, or of an argument of CALL. */
  #isStored(i: number): boolean {
    if (this.#assignments.has(i - 1)) return !this.#isOperator(i + 1);
    const { open } = this.#levels[i] as Level;
    if (open < 0 || !this.#isElement(i, i)) return false;
    const isOutermost = this.#levels[open]?.open === -1;
    const [first] = this.#tokens;
    return isOutermost && (isWord(first, 'CALL') || (isAnyWord(first, storing) && this.#isOfRow(i)));
  }

  /** A column in `VALUES (…)`. */
  #isOfRow(i: number): boolean {
    const { open } = this.#levels[i] as Level;
    const [before, row] = [this.#tokens[open - 1], this.#tokens[open - 2]];
    return isAnyWord(before, rowWords) || (isSymbol(before, ',') && isSymbol(row, ')'));
  }

  /** An operand, but of no INTERVAL. */
  #isAdded(i: number): boolean {
    const isOfInterval = isWord(this.#tokens[i - 4], 'INTERVAL') || isWord(this.#tokens[i + 2], 'INTERVAL');
    return !isOfInterval && (this.#isOperator(i - 1) || this.#isOperator(i + 1));
  }

  #isColumn(i: number): boolean {
    const { open } = this.#levels[i] as Level;
    const before = this.#tokens[i - 1];
    const isItem = isSymbol(before, ',') || isAnyWord(before, beforeColumn);
    return isItem && (open < 0 ? this.#combines : isAnyWord(this.#tokens[open + 1], queryWords));
  }

  #isOperator(at: number): boolean {
    const token = this.#tokens[at];
    return (token?.kind === 'symbol' && operators.has(token.text)) || isAnyWord(token, operatorWords);
  }

  #isMerged(i: number): boolean {
    const [before, after] = [this.#tokens[i - 1], this.#tokens[i + 1]];
    if (isAnyWord(before, beforeResult) && isAnyWord(after, behindResult)) return true;
    const first = merging.get(this.#callOf(i));
    return first !== undefined && (this.#positions[i] as number) >= first;
  }

  /** `LIMIT :name`, `LIMIT 1, :name`, `OFFSET :name` and `FETCH FIRST :name`. */
  #isLimit(i: number): boolean {
    const [before, second, third] = [this.#tokens[i - 1], this.#tokens[i - 2], this.#tokens[i - 3]];
    const isSecond = (isSymbol(before, ',') && isWord(third, 'LIMIT')) || isWord(second, 'FETCH');
    return isSecond || isWord(before, 'LIMIT') || isWord(before, 'OFFSET');
  }

  #isJsonPart(i: number): boolean {
    let [from, to] = [i, i];
    const inside: Level[] = [];
    let isPart: boolean | undefined;
    do {
      // A subquery that is nothing but the value.
      if (isWord(this.#tokens[from - 1], 'SELECT') && isSymbol(this.#tokens[to + 1], ')')) from--;
      const level = this.#levels[from] as Level;
      const { open, close, commas } = level;
      const call = this.#tokens[open - 1];
      const position = this.#positions[from] as number;
      if (isWord(this.#tokens[to + 1], 'MEMBER')) isPart = true;
      else if (open < 0 || close === undefined || !this.#isElement(from, to)) isPart = false;
      else if (!isCall(call)) {
        if (commas > 0) isPart = false;
        else [from, to] = [open, close];
      } else if (buildsOf(call, position)) isPart = true;
      else if (!this.#mergesJson || position < (merging.get(nameOf(call)) ?? Infinity)) isPart = false;
      else {
        isPart = level.isJsonPart;
        inside.push(level);
        [from, to] = [open - 1, close];
      }
    } while (isPart === undefined);
    for (const level of inside) level.isJsonPart = isPart;
    return isPart;
  }

  /** The function of which the token is a whole argument; empty if there is none. */
  #callOf(i: number): string {
    const call = this.#tokens[(this.#levels[i] as Level).open - 1];
    return this.#isElement(i, i) ? nameOf(call) : '';
  }

  #listOf(i: number): ListPlace | undefined {
    const { open, close, commas } = this.#levels[i] as Level;
    const word = this.#tokens[open - 1];
    if (close === undefined || !isWord(word, 'IN') || !this.#isElement(i, i)) return undefined;
    if (isAnyWord(this.#tokens[open + 1], queryWords)) return undefined;
    const [before, after, negation] = [this.#tokens[i - 1], this.#tokens[i + 1], this.#tokens[open - 2]];
    const not = isWord(negation, 'NOT');
    return {
      not,
      from: ((not ? negation : word) as Token).start,
      group: open,
      size: commas + 1,
      position: this.#positions[i] as number,
      commaBefore: isSymbol(before, ',') ? before?.start : undefined,
      commaAfter: isSymbol(after, ',') ? after?.start : undefined,
    };
  }

  /** True if nothing but these tokens is between a parenthesis or comma and the next one. */
  #isElement(from: number, to: number): boolean {
    const { open, close } = this.#levels[from] as Level;
    const isFirst = from - 1 === open || isSymbol(this.#tokens[from - 1], ',');
    return isFirst && (to + 1 === close || isSymbol(this.#tokens[to + 1], ','));
  }

  #isCompared(i: number): boolean {
    let [from, to] = [i, i];
    const inside: Level[] = [];
    let isCompared: boolean | undefined;
    do {
      if (isWord(this.#tokens[from - 1], 'BINARY')) from--;
      if (isWord(this.#tokens[to + 1], 'COLLATE')) to += 2;
      const level = this.#levels[from] as Level;
      const { open, close } = level;
      if (this.#isOfCase(from - 1, to + 1) || this.#comparesBefore(from - 1) || this.#comparesAfter(to + 1))
        isCompared = true;
      else if (open < 0 || close === undefined || !this.#isElement(from, to)) isCompared = false;
      else if (isAnyWord(this.#tokens[open + 1], queryWords)) isCompared = false;
      else if (isWord(this.#tokens[open - 1], 'IN')) isCompared = true;
      else if (isCall(this.#tokens[open - 1])) isCompared = false;
      else {
        isCompared = level.isCompared;
        inside.push(level);
        [from, to] = [open, close];
      }
    } while (isCompared === undefined);
    for (const level of inside) level.isCompared = isCompared;
    return isCompared;
  }

  /** `CASE :name WHEN` and `WHEN :name THEN`. */
  #isOfCase(before: number, after: number): boolean {
    const [one, other] = [this.#tokens[before], this.#tokens[after]];
    return isWord(one, 'CASE') ? isWord(other, 'WHEN') : isWord(one, 'WHEN') && isWord(other, 'THEN');
  }

  #comparesBefore(at: number): boolean {
    const token = this.#tokens[at];
    if (isSymbol(token, '=')) return !this.#assignments.has(at);
    if (isSymbol(token, '<') || isSymbol(token, '>')) return true;
    return isAnyWord(token, comparing) || this.#betweenAnds.has(at);
  }

  #comparesAfter(at: number): boolean {
    const [token, next] = [this.#tokens[at], this.#tokens[at + 1]];
    if (isSymbol(token, '!')) return isSymbol(next, '=');
    if (isWord(token, 'NOT')) return isAnyWord(next, comparingAfter);
    return ['=', '<', '>'].some((symbol) => isSymbol(token, symbol)) || isAnyWord(token, comparingAfter);
  }
}

const newLevel = (open: number, call: Token | undefined, around: Level | undefined): Level => ({
  open,
  isMisread: around?.isMisread === true || isAnyWord(call, misreading),
  isInTime: around?.isInTime === true || isAnyWord(call, timeFunctions),
  close: undefined,
  commas: 0,
  assigns: false,
  betweens: 0,
  isCompared: undefined,
  isJsonPart: undefined,
});

const nameOf = (call: Token | undefined): string => (call?.kind === 'word' ? call.text : '');

/** True if the function makes JSON of the argument at that position. */
function buildsOf(call: Token | undefined, position: number): boolean {
  const [first, step] = building.get(nameOf(call)) ?? [Infinity, 1];
  return position >= first && (position - first) % step === 0;
}

const isCall = (before: Token | undefined): boolean =>
  before?.kind === 'quoted' || (before?.kind === 'word' && !callless.has(before.text));
