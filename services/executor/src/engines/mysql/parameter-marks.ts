/** What must stand for a parameter, because a server would read its value as another one than in the text of a statement. */

import { createHash } from 'node:crypto';
import { jsonTruth } from '@datahub/statement/sql/mysql';
import type { UntypedValue } from '@datahub/statement/sql/untyped';
import type { Param } from '../../ports/engine.ts';

/** What MySQL takes a parameter for. */
export type Expected =
  | 'text'
  | 'integer'
  | 'year'
  | 'decimal'
  | 'double'
  | 'date'
  | 'time'
  | 'json'
  | 'binary';

export const numbers: ReadonlySet<Expected> = new Set(['integer', 'year', 'decimal', 'double']);
export const times: ReadonlySet<Expected> = new Set(['date', 'time']);

export const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const whole = /^\s*[+-]?\d{1,18}\s*$/;
const plainWhole = /^(0|-?[1-9]\d{0,17})$/;
const fourDigits = /^\s*\d{4}\s*$/;
/** What MySQL reads as in the text of a statement wherever it takes a parameter for a date, or for a time of day. */
const plainDate =
  /^\d{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])([T ]([01]?\d|2[0-3]):[0-5]?\d(:[0-5]?\d(\.\d+)?)?([+-]\d\d:\d\d)?)?$/;
const plainTime = /^-?\d{1,3}:[0-5]?\d(:[0-5]?\d(\.\d+)?)?$/;
/** A number that is a date, perhaps with a time of day. */
const numberOfDate =
  /^(\d\d){1,2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])[0-5]\d[0-5]\d(\.\d+)?)?$/;

/** Makes a value of a parameter what it is in the text of a statement, whatever is beside it. */
const marks = { text: 'CONCAT(?)', integer: '(? + 0)', double: '(? + 0e0)' };
const none = 'NULL';

/** Of a DECIMAL, all and after the point. */
const [digitsMax, placesMax] = [65, 30];
/** As many digits in front of the point as nearly all values have. With more, sums in Arrow could not be decimals. */
const fewDigits = 18;
const decimalMark = (places: number, hasMany: boolean) =>
  `CAST(? AS DECIMAL(${hasMany ? digitsMax : fewDigits + places},${places}))`;
const decimalMarks = Array.from({ length: placesMax + 1 }, (_, places) => [
  decimalMark(places, false),
  decimalMark(places, true),
]);
/** A DECIMAL as in the text of a statement. */
const plainNumber = /^-?(?:\d+(?:\.\d*)?|\.\d+)$/;
const plainDecimal = /^\s*[+-]?0*(\d*)(?:\.(\d*))?\s*$/;
/** The range of YEAR. */
const [yearMin, yearMax] = [1901, 2155];
/** Of a TIME. */
const timeMax = 838_59_59;
export const int64Max = 2n ** 63n - 1n;
/**
 * A longer text is written into the statement wherever it is neither stored as it is nor compared: in a temporary table,
 * MySQL cuts a parameter to 65,535 bytes, and MariaDB to the rest of its length by 65,536, or finds other rows by it.
 */
const longCharacters = 10_000;

export interface MarkPlace {
  expected: Expected;
  /** The first letter of its role. */
  role: string;
  isWrite: boolean;
}

type Decimal = Extract<Param, object>;

const isLong = (param: Param, role: string): boolean =>
  typeof param === 'string' && param.length > longCharacters && !/[wclsb]/.test(role);

/** Undefined if MySQL reads the parameter as it is. `untyped`: of a text. */
export function markOf(
  param: Param,
  place: MarkPlace,
  untyped: UntypedValue | undefined,
): string | undefined {
  if (param === null) return markOfNull(place);
  if (isLong(param, place.role)) return literalOf(param);
  return place.role === 'b'
    ? markOfValue(param, { ...place, role: 'c' }, untyped)
    : markOfValue(param, place, untyped);
}

function markOfValue(
  param: Exclude<Param, null>,
  place: MarkPlace,
  untyped: UntypedValue | undefined,
): string | undefined {
  if (typeof param === 'string') return markOfText(param, place, untyped);
  if (typeof param === 'object') return markOfDecimal(param, place);
  if (typeof param === 'boolean' && place.expected === 'json') return jsonTruth;
  return markOfNumber(param, place);
}

/** The roles in which a parameter can have the type of another one. */
export const typing = /[aptirs]/;

/** The mark of a parameter beside others with marks, whose types would become its own. */
export function markBeside(param: Param, { role, expected }: MarkPlace): string | undefined {
  if (!typing.test(role)) return undefined;
  if (param === null) return none;
  if (typeof param === 'object') return decimalOf(param.decimal);
  if (typeof param === 'string') return (numbers.has(expected) ? decimalOf(param) : undefined) ?? marks.text;
  return typeof param === 'boolean' || isInteger(param) ? marks.integer : marks.double;
}

/**
 * The mark of a parameter of MariaDB, which cuts the values of parameters in rows of VALUES, takes a pattern that is NULL
 * for one that matches, leaves out the fraction of a second in TIME, and makes the digits of a number the bytes of a text
 * beside it in UTF-16.
 */
export function markOfMariadb(param: Param, role: string): string | undefined {
  const isFraction = typeof param === 'string' || (typeof param === 'object' && param !== null);
  if (role === 'r' || (role === 'h' && isFraction) || isLong(param, role)) return literalOf(param);
  if (param === null) return role === 'm' ? none : undefined;
  if (typeof param === 'string' || typeof param === 'object' || /[walcsb]/.test(role)) return undefined;
  return typeof param === 'boolean' || isInteger(param) ? marks.integer : marks.double;
}

/** Beside others, a NULL has their type, and gives them the one of a parameter. A bound that is NULL would be ''. */
function markOfNull({ expected, role }: MarkPlace): string | undefined {
  if (/[birf]/.test(role)) return none;
  return /[wcl]/.test(role) || expected === 'text' || expected === 'binary' ? undefined : none;
}

/**
 * A text beside a number keeps its digits. A function that takes an integer rounds a number, and cuts a text. What is no
 * number must be a text, or an INSERT with a UNION stores 0 for it.
 */
function markOfText(
  value: string,
  place: MarkPlace,
  { isJson }: Partial<UntypedValue> = {},
): string | undefined {
  const { expected, role } = place;
  if (role === 'f') return literalOf(value);
  if (isJson && (expected === 'json' || (expected === 'text' && !/[pts]/.test(role)))) return undefined;
  if (/[wcl]/.test(role) && expected !== 'json' && expected !== 'binary') return markOfCompared(value, place);
  const { text } = marks;
  switch (expected) {
    case 'date':
    case 'time': {
      if (role === 'o') return literalOf(value);
      const plain = expected === 'date' ? plainDate : plainTime;
      return role !== 'a' && plain.test(value) ? undefined : text;
    }
    case 'double':
      return (role === 'o' ? whole : number).test(value) ? undefined : text;
    case 'decimal':
    case 'integer':
    case 'year':
      return markOfDigits(value, place);
    default:
      return expected === 'text' && !/[pts]/.test(role) ? undefined : text;
  }
}

/** A text that is compared with a number or time, or stored as one, gets the type of the other. */
function markOfCompared(value: string, { expected, role }: MarkPlace): string | undefined {
  if (role === 'w' || (expected !== 'integer' && expected !== 'year')) return undefined;
  return (expected === 'year' ? fourDigits : whole).test(value) ? undefined : marks.text;
}

/** Beside a number, a text is computed with. For a function such as STRCMP it is a text, for LAG and LEFT a number. */
function markOfDigits(value: string, { expected, role }: MarkPlace): string | undefined {
  if (/[apt]/.test(role)) return decimalOf(value) ?? marks.text;
  return expected !== 'decimal' && plainWhole.test(value) ? undefined : marks.text;
}

/**
 * A column of a subquery, or the result of COALESCE, gets 30 places, and so only 35 digits in front of the point. In a
 * write, a DECIMAL that is compared with '' is an error, and a literal is none.
 */
function markOfDecimal({ decimal }: Decimal, place: MarkPlace): string | undefined {
  const { expected, role, isWrite } = place;
  if (role === 'w') return undefined;
  if (isWritten({ expected, role })) return literalOf({ decimal });
  const isBesideText = expected === 'text' || expected === 'binary';
  if (isBesideText && isWrite && /[ct]/.test(role)) return literalOf({ decimal });
  if (/[cl]/.test(role)) return isLikeOther(decimal, place) ? undefined : decimalOf(decimal);
  return isBesideText && role === 'o' ? undefined : decimalOf(decimal);
}

/** Doubles, integers and booleans. A text beside them can be in UTF-16, which MySQL would make of their digits as bytes. */
function markOfNumber(param: Exclude<Param, Decimal | string | null>, place: MarkPlace): string | undefined {
  const { expected, role } = place;
  const isWhole = typeof param === 'boolean' || isInteger(param);
  const mark = isWhole ? marks.integer : marks.double;
  if (role === 'w') return undefined;
  if (/[cl]/.test(role)) return isLikeOther(String(Number(param)), place) ? undefined : mark;
  if (isWritten({ expected, role }) || (typeof param === 'bigint' && param > int64Max))
    return literalOf(param);
  if (role === 't' && times.has(expected) && isLikeOther(String(param), place)) return undefined;
  return expected === (isWhole ? 'integer' : 'double') ? undefined : mark;
}

/**
 * True for digits that are a value of the type that they are compared with. Others are compared as numbers, but a write
 * finds no row by what is no date, because MySQL refuses it in the text of a write.
 */
function isLikeOther(digits: string, { expected, isWrite }: MarkPlace): boolean {
  if (expected === 'year')
    return Number(digits) >= yearMin && Number(digits) <= yearMax && whole.test(digits);
  if (!times.has(expected) || isWrite) return true;
  return expected === 'date' ? numberOfDate.test(digits) : isTimeOfDay(Math.abs(Number(digits)));
}

/** The digits HHMMSS. */
const isTimeOfDay = (number: number): boolean =>
  number <= timeMax && number % 100 < 60 && Math.floor(number / 100) % 100 < 60;

/** True for a number that must be in the text: in a column of bytes, what is computed is longer than the number. */
const isWritten = ({ expected, role }: Pick<MarkPlace, 'expected' | 'role'>) =>
  role === 'f' || (/[ir]/.test(role) && expected === 'binary');

/** Undefined for what is no DECIMAL. */
function decimalOf(text: string): string | undefined {
  const [all, digits = '', { length: places } = ''] = plainDecimal.exec(text) ?? [];
  if (all === undefined || !/\d/.test(all) || places > placesMax || digits.length + places > digitsMax)
    return undefined;
  return decimalMarks[places]?.[digits.length > fewDigits ? 1 : 0];
}

/**
 * A literal of the same value: it has no other characters than digits, or has only hexadecimal digits between its quotes.
 * MySQL converts a literal to the character set of a column beside it, which it does with no parameter and no function of
 * one. Undefined for a DECIMAL that is none.
 */
function literalOf(param: Param): string | undefined {
  if (param === null) return none;
  if (typeof param === 'object') return plainNumber.test(param.decimal) ? `(${param.decimal})` : undefined;
  if (typeof param !== 'string') return `(${numberLiteral(param)})`;
  return `_utf8mb4 X'${Buffer.from(param).toString('hex')}'`;
}

/** Without an exponent, a fraction would be a DECIMAL. */
function numberLiteral(param: number | bigint | boolean): string {
  if (typeof param === 'boolean') return String(Number(param));
  return isInteger(param) || /e/.test(String(param)) ? String(param) : `${param}e0`;
}

const letters = new Map(
  [marks.text, marks.integer, marks.double, jsonTruth, none, ...decimalMarks.flat()].map((mark, i) => [
    mark,
    String.fromCharCode(0x41 + i),
  ]),
);

/**
 * Tells the marks of one statement apart, with a letter for each parameter: a list can have thousands. Of a literal, which
 * can be long, it has the hash.
 */
export function lettersOf(found: ReadonlyMap<number, string>, count: number): string {
  const others = [...found].filter(([, mark]) => !letters.has(mark));
  const all = Array.from({ length: count }, (_, i) => letters.get(found.get(i) ?? '') ?? '-').join('');
  return others.length === 0 ? all : `${all} ${createHash('sha256').update(others.join()).digest('base64')}`;
}

export const isInteger = (param: number | bigint) => typeof param === 'bigint' || Number.isSafeInteger(param);
