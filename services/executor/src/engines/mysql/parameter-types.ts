/** The types that MySQL gives to the parameters of a statement, and how it is kept from misreading their values. */

import type { FieldFault } from '@datahub/contract/validation-error';
import { jsonTruth } from '@datahub/statement/sql/mysql';
import type { UntypedValue } from '@datahub/statement/sql/untyped';
import { contextInvalid } from '@datahub/statement/values';
import type { Param, Statement } from '../../ports/engine.ts';

type Untyped = Statement['untyped'];

/** In the definition of a parameter, the bytes from its character set, and from its type, to its end. */
const [charsetBytes, typeBytes] = [12, 6];
const binaryCharset = 0x3f;

// biome-ignore format: one line.
const expectations = ['text', 'integer', 'year', 'decimal', 'double', 'date', 'time', 'json', 'binary'] as const;
type Expected = (typeof expectations)[number];

const types: readonly (readonly [Expected, number[]])[] = [
  ['integer', [0x01, 0x02, 0x03, 0x08, 0x09, 0x10]],
  ['year', [0x0d]],
  ['decimal', [0x00, 0xf6]],
  ['double', [0x04, 0x05]],
  ['date', [0x07, 0x0a, 0x0c]],
  ['time', [0x0b]],
  ['json', [0xf5]],
];
const expectedByType = new Map(types.flatMap(([expected, codes]) => codes.map((code) => [code, expected])));
const stringTypes = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);
const numbers: ReadonlySet<Expected> = new Set(['integer', 'year', 'decimal', 'double']);
const times: ReadonlySet<Expected> = new Set(['date', 'time']);
const converted: ReadonlySet<Expected> = new Set([...numbers, ...times]);

const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const whole = /^\s*[+-]?\d{1,18}\s*$/;
const beginOfTime = /^\s*-?\d/;
/** What MySQL reads as in the text of a statement wherever it takes a parameter for a date, or for a time of day. */
const plainDate =
  /^\d{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])([T ]([01]?\d|2[0-3]):[0-5]?\d(:[0-5]?\d(\.\d+)?)?([+-]\d\d:\d\d)?)?$/;
const plainTime = /^-?\d{1,3}:[0-5]?\d(:[0-5]?\d(\.\d+)?)?$/;

/** Makes a value of a parameter what it is in the text of a statement, whatever is beside it. */
const marks = { text: 'CONCAT(?)', integer: '(? + 0)', double: '(? + 0e0)' };

/** Of a DECIMAL, all and after the point. */
const [digitsMax, placesMax] = [65, 30];
/** The digits that a double keeps. */
const doubleDigits = 15;
/** As many digits in front of the point as nearly all values have. With more, sums in Arrow could not be decimals. */
const fewDigits = 18;
const decimalMark = (places: number, hasMany: boolean) =>
  `CAST(? AS DECIMAL(${hasMany ? digitsMax : fewDigits + places},${places}))`;
const decimalMarks = Array.from({ length: placesMax + 1 }, (_, places) => [
  decimalMark(places, false),
  decimalMark(places, true),
]);
const plainDecimal = /^\s*[+-]?0*(\d*)(?:\.(\d*))?\s*$/;

/**
 * The types that MySQL gives to parameters, by what is beside them or by the function that they are for. It would read
 * "abc" as the number 0 in `COALESCE(:name, id)`, "10:11" as a date in `HOUR(:time)`, and a text beside NULL as bytes, all
 * with no more than a warning. Beside a DECIMAL, each number would get 30 places.
 */
export class ExpectedTypes {
  /** By parameter, the index in `expectations`. */
  #kinds = new Uint8Array(0);

  /** MariaDB has no types in the definitions of parameters. */
  begin(count: number, isMariadb: boolean): void {
    this.#kinds = new Uint8Array(isMariadb ? 0 : count);
  }

  /** Reads the definition of a parameter, which ends there. */
  read(index: number, source: Buffer, end: number): void {
    if (index >= this.#kinds.length) return;
    const type = source[end - typeBytes] as number;
    const isBinary = stringTypes.has(type) && source.readUInt16LE(end - charsetBytes) === binaryCharset;
    const expected = expectedByType.get(type) ?? (isBinary ? 'binary' : 'text');
    this.#kinds[index] = expectations.indexOf(expected);
  }

  #of(index: number): Expected {
    return expectations[this.#kinds[index] ?? 0] as Expected;
  }

  /** Throws CONTEXT_INVALID for texts beside other values that have no value of their type. */
  require(untyped: Untyped = []): void {
    const faults = untyped.flatMap((value): FieldFault[] => {
      const must = value.isMerged ? mustBe(value, this.#of(value.index)) : undefined;
      return must === undefined
        ? []
        : [{ path: ['context', value.name], detail: detailOf(value.name, must) }];
    });
    if (faults.length > 0) throw contextInvalid(faults);
  }

  /** What must stand for a parameter, because MySQL would read its value as another one. By index. */
  marks({
    params,
    untyped = [],
    roles,
    kind,
  }: Pick<Statement, 'params' | 'untyped' | 'roles' | 'kind'>): Map<number, string> {
    const found = new Map<number, string>();
    let known: string | undefined;
    const roleOf = (index: number) => {
      known ??= roles?.() ?? '';
      return known[index] ?? 'o';
    };
    const add = (index: number, mark: string | undefined) => {
      // A value that is compared with a number or time, or stored as one, as it is, gets the type of the other.
      const isFine = mark === undefined || (converted.has(this.#of(index)) && /[wc]/.test(roleOf(index)));
      if (!isFine) found.set(index, mark);
    };
    for (const value of untyped) add(value.index, markOfText(value, this.#of(value.index), roleOf));
    for (const [index, param] of params.entries()) {
      const expected = this.#of(index);
      const place = { expected, role: () => roleOf(index), isWrite: kind !== 'read' };
      add(index, isDecimal(param) ? markOfNumber(param, place) : markOf(param, expected));
    }
    return found;
  }
}

function mustBe({ value, isJson }: UntypedValue, expected: Expected): string | undefined {
  if (expected === 'json' && !isJson) return 'a value of the type json';
  if (typeof value !== 'string') return undefined;
  if (numbers.has(expected) && !number.test(value)) return 'a number';
  return times.has(expected) && !beginOfTime.test(value) ? 'a date or a time' : undefined;
}

/**
 * A text beside a number keeps its digits. A function that takes an integer rounds a number, and cuts a text. What is no
 * number must be a text, or an INSERT with a UNION stores 0 for it.
 */
function markOfText(
  { index, value, isJson }: UntypedValue,
  expected: Expected,
  roleOf: (index: number) => string,
): string | undefined {
  if (typeof value !== 'string' || (isJson && !numbers.has(expected))) return undefined;
  const { text } = marks;
  switch (expected) {
    case 'date':
      return plainDate.test(value) ? undefined : text;
    case 'time':
      return plainTime.test(value) ? undefined : text;
    case 'double':
      return number.test(value) ? undefined : text;
    case 'decimal':
      return markOfDecimal(value) ?? (number.test(value) ? undefined : text);
    case 'integer':
    case 'year':
      if (whole.test(value)) return undefined;
      return (/[pt]/.test(roleOf(index)) ? markOfDecimal(value) : undefined) ?? text;
    default:
      return expected === 'json' || expected === 'binary' ? text : undefined;
  }
}

type Decimal = Extract<Param, object>;

const isDecimal = (param: Param): param is Decimal => typeof param === 'object' && param !== null;

/**
 * A column of a subquery, or the result of COALESCE, gets 30 places, and so only 35 digits in front of the point. In a
 * write, a DECIMAL that is compared with '' is an error, and a double is none.
 */
function markOfNumber(
  { decimal }: Decimal,
  { expected, role, isWrite }: { expected: Expected; role: () => string; isWrite: boolean },
): string | undefined {
  if (expected === 'json' || expected === 'double') return undefined;
  if (expected !== 'text' && expected !== 'binary') return markOfDecimal(decimal);
  const isShort = decimal.replace(/\D/g, '').length <= doubleDigits;
  if (isWrite && isShort && /[ct]/.test(role())) return marks.double;
  return /[pti]/.test(role()) ? markOfDecimal(decimal) : undefined;
}

function markOf(param: Exclude<Param, Decimal>, expected: Expected): string | undefined {
  if (expected === 'json') return typeof param === 'boolean' ? jsonTruth : undefined;
  if (param === null || typeof param === 'string') return undefined;
  if (!times.has(expected) && expected !== 'decimal' && expected !== 'year') return undefined;
  const isWhole = typeof param === 'boolean' || isInteger(param);
  if (isWhole) return marks.integer;
  return times.has(expected) ? marks.double : undefined;
}

/** Undefined for what is no DECIMAL. */
function markOfDecimal(text: string): string | undefined {
  const [all, digits = '', { length: places } = ''] = plainDecimal.exec(text) ?? [];
  if (all === undefined || places > placesMax || digits.length + places > digitsMax) return undefined;
  return decimalMarks[places]?.[digits.length > fewDigits ? 1 : 0];
}

const letters = new Map(
  [marks.text, marks.integer, marks.double, jsonTruth, ...decimalMarks.flat()].map((mark, i) => [
    mark,
    String.fromCharCode(0x41 + i),
  ]),
);

/** Tells the marks of one statement apart, with a letter for each parameter: a list can have thousands. */
export const lettersOf = (found: ReadonlyMap<number, string>, count: number): string =>
  Array.from({ length: count }, (_, i) => letters.get(found.get(i) ?? '') ?? '-').join('');

const detailOf = (name: string, must: string) =>
  `must be ${must} here, because MySQL takes it for a value like the one beside it. If the result may be a text, write CAST(:${name} AS CHAR)`;

/**
 * Identifies the prepared statement on a connection. If the statement does not imply the type of a parameter, MySQL
 * uses the type of its first value: it then converts a later text to the number 0, after a double the digits of later
 * integers and decimals are lost, and after a decimal later integers are decimals with 30 places. MariaDB keeps the places
 * of a decimal for `-:name`. So texts, doubles, decimals and other values need separate statements, or what a caller sends
 * would change what others read.
 */
export function keyOf({ key, params }: Pick<Statement, 'key' | 'params'>): string {
  if (params.every((param) => formOf(param) === 'o')) return key;
  return `${key} ${params.map(formOf).join('')}`;
}

function formOf(param: Param): string {
  if (typeof param === 'string') return 't';
  if (typeof param === 'object' && param !== null) return 'e';
  return typeof param === 'number' && !isInteger(param) ? 'd' : 'o';
}

export const isInteger = (param: number | bigint) => typeof param === 'bigint' || Number.isSafeInteger(param);
