/**
 * Text and parameters for MySQL and MariaDB: one `?` for each use. They have no cast that a placeholder could carry, so a
 * value takes its declared type along.
 */

import type { FieldFault } from '@datahub/contract/validation-error';
import { HubError } from '@datahub/service-kit/call/error';
import { isDouble, type Scaled, scaledOf, toInt64, toPlainDigits } from '../exact-number.ts';
import { toUtcText } from '../timestamps.ts';
import {
  type BoundValue,
  contextInvalid,
  type Declaration,
  ExactNumber,
  toScalar,
  UsedCharacters,
  type Value,
} from '../values.ts';
import { type Placeholder, placeholdersMax, type Source } from './source.ts';
import type { UntypedValue } from './untyped.ts';

/** Stands for an empty list: a subquery without rows, for which even `NULL NOT IN (…)` is true. */
export const noElement = 'SELECT NULL FROM DUAL WHERE FALSE';

/** Tells the places where a value that is declared as JSON is compared. */
export const comparesJson =
  ({ declarations }: Source) =>
  ({ variable, list, isCompared }: Placeholder): boolean =>
    declarations[variable]?.elementType === 'json' && (list !== undefined || isCompared);

/** A parameter that is JSON: MySQL has a type for it, and MariaDB takes what its own functions return for JSON. */
const json = { cast: 'CAST(? AS JSON)', text: 'JSON_COMPACT(?)' };
/** A parameter that is true or false, and not the number 1 or 0, which JSON tells apart. */
const truth = '(? = TRUE)';
/** The same for MySQL, which makes `(? = TRUE)` a number where it folds conditions. */
export const jsonTruth = "CAST(ELT(2 - ?, 'true', 'false') AS JSON)";
/** For MariaDB, which takes a parameter of TIME and TIMESTAMP for a value without a fraction of a second. */
const timeText = 'CONCAT(?)';
/** All that a statement is first written with, longer ones before what they begin with. */
export const placeholderMarks = [json.cast, json.text, truth, jsonTruth, timeText, '?'];

/** What a statement must say of a value: that it is a boolean (`b`), a list of booleans (`l`) or JSON (`j`). */
export function kindOf({ type, elementType, isList }: Declaration, value: Value | undefined): string {
  if (isList) return elementType === 'boolean' ? 'l' : 'j';
  if (type !== undefined) return type === 'json' ? 'j' : type === 'boolean' ? 'b' : '-';
  if (typeof value === 'boolean') return 'b';
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return '-';
  return Array.isArray(value) && value.every(isTruth) && value.some((one) => one !== null) ? 'l' : 'j';
}

const isTruth = (value: Value) => value === null || typeof value === 'boolean';

/** `marks`: what stands for some of the parameters in place of `?`, by their places. */
export function writeMysql(source: Source, values: Value[], marks?: ReadonlyMap<number, string>): string {
  const { text, placeholders, declarations, castsJson } = source;
  const isJson = comparesJson(source);
  const markOf = (placeholder: Placeholder) => {
    if (castsJson && isJson(placeholder)) return json.cast;
    if (!placeholder.isJsonPart) return placeholder.isTime && !castsJson ? timeText : '?';
    const { variable, list } = placeholder;
    const kind = kindOf(declarations[variable] as Declaration, values[variable]);
    if (kind === '-') return '?';
    if (kind === 'b' || (kind === 'l' && list !== undefined)) return castsJson ? jsonTruth : truth;
    return castsJson ? json.cast : json.text;
  };
  const emptyIn = countEmpty(source, values);
  /** The empty lists so far, by their parentheses. */
  const seenIn = new Map<number, number>();
  let result = '';
  let at = 0;
  let index = 0;
  for (const placeholder of placeholders) {
    const { variable, start, end, list } = placeholder;
    const value = values[variable];
    if (list === undefined || !Array.isArray(value) || value.length > 0) {
      const length = countOf(placeholder, value);
      const mark = markOf(placeholder);
      const ofIt = Array.from({ length }, (_, i) => mark.replace('?', () => marks?.get(index + i) ?? '?'));
      index += length;
      result += `${text.slice(at, start)}${ofIt.join(',')}`;
      at = end;
      continue;
    }
    const { group, size, position, commaBefore, commaAfter } = list;
    const seen = seenIn.get(group) ?? 0;
    seenIn.set(group, seen + 1);
    const isNone = emptyIn.get(group) === size;
    // One of the commas beside it goes with it: the one in front, if an element is left there.
    const comma = isNone || position > seen ? commaBefore : commaAfter;
    const [cut, resumed] = comma !== undefined && comma < start ? [comma, comma + 1] : [start, start];
    result += text.slice(at, cut) + text.slice(resumed, start);
    if (isNone && position === 0) result += noElement;
    at = end;
    if (comma === undefined || comma < start) continue;
    result += text.slice(end, comma);
    at = comma + 1;
  }
  return result + text.slice(at);
}

/** The number of empty lists in each pair of parentheses. */
function countEmpty({ placeholders }: Source, values: Value[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { variable, list } of placeholders) {
    const value = values[variable];
    if (list !== undefined && Array.isArray(value) && value.length === 0)
      counts.set(list.group, (counts.get(list.group) ?? 0) + 1);
  }
  return counts;
}

/** Throws CONTEXT_INVALID for a list where the database would compare its JSON text. */
function refuseComparedLists({ placeholders, declarations }: Source, values: Value[]): void {
  const faults = new Map<number, FieldFault>();
  for (const { variable, list, isCompared } of placeholders) {
    const value = values[variable];
    const { name, type } = declarations[variable] as Declaration;
    if (!Array.isArray(value) || type === 'json') continue;
    const path = ['context', name];
    if (isCompared) {
      const detail = `must not be a list here, because it is compared with one value. Write IN (:${name})`;
      faults.set(variable, { path, detail });
    } else if (list !== undefined && type === undefined && value.some(Array.isArray))
      faults.set(variable, { path, detail: 'must be a list of values, because it is used in IN' });
  }
  if (faults.size > 0) throw contextInvalid([...faults.values()]);
}

const wholeFromZero = /^\d{1,19}$/;

/** Throws CONTEXT_INVALID for what is no number of rows: the servers take a text for 0, and MariaDB -1 for no limit. */
export function requireLimits({ placeholders, declarations }: Source, values: Value[]): void {
  const faults: FieldFault[] = [];
  for (const { variable, isLimit } of placeholders) {
    if (!isLimit) continue;
    const value = values[variable];
    const text = value instanceof ExactNumber ? value.text : typeof value === 'boolean' ? '' : String(value);
    if (wholeFromZero.test(text)) continue;
    const { name } = declarations[variable] as Declaration;
    const detail = 'must be a whole number from 0, because it is in LIMIT or OFFSET';
    faults.push({ path: ['context', name], detail });
  }
  if (faults.length > 0) throw contextInvalid(faults);
}

export function mysqlParams(source: Source, values: Value[]): BoundValue[] {
  if (values.some(Array.isArray)) refuseComparedLists(source, values);
  const { placeholders, declarations } = source;
  const params: BoundValue[] = [];
  const used = new UsedCharacters();
  /** Of each variable, as one value and then as a list: it is written once for all its places. */
  const written: Written[] = [];
  for (const { variable, list } of placeholders) {
    const value = values[variable] ?? null;
    const isList = list !== undefined && Array.isArray(value);
    const at = 2 * variable + (isList ? 1 : 0);
    const bound = written[at] ?? toParams(isList ? value : [value], declarations[variable] as Declaration);
    written[at] = bound;
    used.add(bound.characters);
    params.push(...bound.params);
  }
  return params;
}

/** For each parameter, the first letter of its role. MariaDB: `m` for one that it matches with, `h` for one in TIME. */
export function mysqlRoles({ placeholders, castsJson }: Source, values: Value[]): string {
  const roles = placeholders.map((placeholder) => {
    const letter = placeholder.role.charAt(0);
    const own = castsJson ? letter : mariadbLetter(placeholder, letter);
    return own.repeat(countOf(placeholder, values[placeholder.variable]));
  });
  return roles.join('');
}

/** In a list with other elements, a number is one of a function's arguments. */
function mariadbLetter({ isPattern, isInTime, list }: Placeholder, letter: string): string {
  if (isPattern) return 'm';
  if (list !== undefined) return list.size > 1 ? 'o' : letter;
  return isInTime && /[^wclsb]/.test(letter) ? 'h' : letter;
}

/** Texts: MySQL gives them the type of what is beside them, such as a column. With their places among the parameters. */
export function mysqlUntyped(
  { placeholders, declarations, castsJson }: Source,
  values: Value[],
  params: readonly BoundValue[],
): UntypedValue[] | undefined {
  if (!castsJson) return undefined;
  const untyped: UntypedValue[] = [];
  let index = 0;
  for (const { variable, list, isMerged } of placeholders) {
    const value = values[variable];
    const bound = params[index];
    const { name, elementType } = declarations[variable] as Declaration;
    const elements = list !== undefined && Array.isArray(value) ? value : [value];
    const isJson = elementType === 'json' || typeof elements[0] !== 'string';
    if (typeof bound === 'string') untyped.push({ index, name, value: bound, isMerged, isJson });
    index += paddedLength(elements.length);
  }
  return untyped.length === 0 ? undefined : untyped;
}

interface Written {
  params: BoundValue[];
  characters: number;
}

/** A list is padded with its last element. */
function toParams(elements: Value[], declaration: Declaration): Written {
  const params = elements.map((element) => toTyped(element, declaration));
  const last = params.at(-1) ?? null;
  for (let i = elements.length; i < paddedLength(elements.length); i++) params.push(last);
  const characters = params.reduce(
    (sum: number, param) => sum + (typeof param === 'string' ? param.length : 0),
    0,
  );
  return { params, characters };
}

/** The number of parameters in a place. */
const countOf = ({ list }: Placeholder, value: Value | undefined): number =>
  list !== undefined && Array.isArray(value) ? paddedLength(value.length) : 1;

/** The next power of two, so that lists of any lengths need few prepared statements. */
export function paddedLength(length: number): number {
  return length === 0 ? 0 : 2 ** Math.ceil(Math.log2(length));
}

/** A list can be used in many places: this is checked before the text is written. */
export function requireFewPlaceholders({ placeholders }: Source, values: Value[]): void {
  let count = 0;
  for (const placeholder of placeholders) count += countOf(placeholder, values[placeholder.variable]);
  if (count <= placeholdersMax) return;
  throw new HubError(
    'CONTEXT_INVALID',
    `With lists of these lengths the statement has more than ${placeholdersMax} placeholders.`,
    { stage: 'prepare', retryable: false },
  );
}

const whole = /^-?\d{1,20}$/;
/** True for a BIGINT, with a sign or UNSIGNED. */
const is64Bits = (integer: bigint) =>
  integer === BigInt.asIntN(64, integer) || integer === BigInt.asUintN(64, integer);
/** The most digits of a DECIMAL, in total and after the point. A longer value would be truncated without an error. */
const decimalBounds = { digitsMax: 65, scaleMax: 30 };

/** As a string, a number would be compared with others as text, and added as a double, with 15 significant digits. */
function toTyped(value: Value, { name, type, elementType }: Declaration): BoundValue {
  const isTyped = elementType !== undefined && typesWithDigits.has(elementType);
  if (value instanceof ExactNumber && !isTyped) return toNumber(value.text, name, elementType);
  const scalar = toScalar(value, type);
  switch (elementType) {
    case 'bigint':
      return typeof scalar === 'string' && whole.test(scalar) ? toInteger(scalar) : scalar;
    case 'decimal':
      return typeof scalar === 'string' || typeof scalar === 'number' ? toDecimal(String(scalar)) : scalar;
    case 'timestamp':
      return typeof scalar === 'string' ? (toUtcText(scalar) ?? scalar) : scalar;
    case undefined:
      return typeof scalar === 'number' ? toLiteral(scalar) : scalar;
    default:
      return scalar;
  }
}

/** As in the text of a statement, a fraction is a DECIMAL, and a number with an exponent a double. */
function toLiteral(number: number): BoundValue {
  const text = String(number);
  return Number.isInteger(number) || text.includes('e') ? number : (decimalOf(text) ?? number);
}

/** The types whose own rules keep the digits of a number. */
const typesWithDigits: ReadonlySet<string> = new Set(['integer', 'bigint', 'decimal', 'json']);

function toInteger(text: string): BoundValue {
  const integer = BigInt(text);
  return is64Bits(integer) ? integer : { decimal: text };
}

/** A whole number of a BIGINT, or one of a BIGINT UNSIGNED. */
function toInteger64(scaled: Scaled): number | bigint | undefined {
  const integer = toInt64(scaled);
  const digits = integer ?? toPlainDigits(scaled, { digitsMax: 20, scaleMax: 0 });
  return typeof digits !== 'string' ? digits : is64Bits(BigInt(digits)) ? BigInt(digits) : undefined;
}

/** Without a DECIMAL that can hold it, a value is a double if no digit is lost, else text, for the database to judge. */
function toDecimal(text: string): BoundValue {
  return decimalOf(text) ?? (isDouble(text) ? Number(text) : text);
}

const plain = /^-?(?:\d+(?:\.(\d*))?|\.(\d+))$/;

function decimalOf(text: string): BoundValue | undefined {
  const parts = plain.exec(text);
  const scale = (parts?.[1] ?? parts?.[2] ?? '').length;
  const { digitsMax, scaleMax } = decimalBounds;
  const fits = parts !== null && text.replace(/\D/g, '').length <= digitsMax && scale <= scaleMax;
  if (fits) return { decimal: text };
  const scaled = scaledOf(text);
  const decimal = scaled && toPlainDigits(scaled, decimalBounds);
  return decimal === undefined ? undefined : { decimal };
}

/**
 * A number that is no JavaScript number. A whole one is bound as an integer, because MariaDB finds no DECIMAL of a list
 * in the index of an integer column. `number` and numbers with an exponent are doubles where no digit is lost.
 */
function toNumber(text: string, name: string, type: string | undefined): BoundValue {
  const scaled = scaledOf(text);
  const integer = scaled && toInteger64(scaled);
  if (integer !== undefined) return integer;
  if ((type === 'number' || /e/i.test(text)) && isDouble(text)) return Number(text);
  const decimal = decimalOf(text);
  if (decimal !== undefined) return decimal;
  const double = Number(text);
  if (double !== 0 && Number.isFinite(double)) return double;
  const detail = 'must be 0, a number from 5e-324 to 1.7e308, or the negative of one';
  throw contextInvalid([{ path: ['context', name], detail }]);
}
