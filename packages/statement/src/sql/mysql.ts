/**
 * Text and parameters for MySQL and MariaDB: one `?` for each use. They have no cast that a placeholder could carry, so a
 * value takes its declared type along.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { isDouble, scaledOf, toInt64, toPlainDigits } from '../exact-number.ts';
import { toUtcText } from '../timestamps.ts';
import {
  type BoundValue,
  contextInvalid,
  type Declaration,
  ExactNumber,
  toScalar,
  type Value,
} from '../values.ts';
import { placeholdersMax, type Source } from './source.ts';

/** Stands for an empty list: a subquery without rows, for which even `NULL NOT IN (…)` is true. */
const noElement = 'SELECT NULL FROM DUAL WHERE FALSE';

export function writeMysql({ text, placeholders }: Source, values: Value[]): string {
  let written = '';
  let at = 0;
  for (const { variable, start, end, list } of placeholders) {
    const value = values[variable];
    written += text.slice(at, start);
    if (list === undefined || !Array.isArray(value)) written += '?';
    else
      written += value.length === 0 ? noElement : new Array(paddedLength(value.length)).fill('?').join(',');
    at = end;
  }
  return written + text.slice(at);
}

export function mysqlParams({ placeholders, declarations }: Source, values: Value[]): BoundValue[] {
  const params: BoundValue[] = [];
  for (const { variable, list } of placeholders) {
    const value = values[variable] ?? null;
    const declaration = declarations[variable] as Declaration;
    if (list === undefined || !Array.isArray(value)) params.push(toTyped(value, declaration));
    else {
      const elements = value.map((element) => toTyped(element, declaration));
      params.push(...elements);
      const last = elements.at(-1) ?? null;
      for (let i = value.length; i < paddedLength(value.length); i++) params.push(last);
    }
  }
  return params;
}

/** The next power of two, so that lists of any lengths need few prepared statements. */
export function paddedLength(length: number): number {
  return length === 0 ? 0 : 2 ** Math.ceil(Math.log2(length));
}

/** A list can be used in many places: this is checked before the text is written. */
export function requireFewPlaceholders({ placeholders }: Source, values: Value[]): void {
  let count = 0;
  for (const { variable, list } of placeholders) {
    const value = values[variable];
    count += list !== undefined && Array.isArray(value) ? paddedLength(value.length) : 1;
  }
  if (count <= placeholdersMax) return;
  throw new HubError(
    'CONTEXT_INVALID',
    `With lists of these lengths the statement has more than ${placeholdersMax} placeholders.`,
    { stage: 'prepare', retryable: false },
  );
}

const whole = /^-?\d{1,19}$/;
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
      return typeof scalar === 'string' ? toUtcText(scalar) : scalar;
    default:
      return scalar;
  }
}

/** The types whose own rules keep the digits of a number. */
const typesWithDigits: ReadonlySet<string> = new Set(['integer', 'bigint', 'decimal', 'json']);

function toInteger(text: string): BoundValue {
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer) ? integer : { decimal: text };
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
  const integer = scaled && toInt64(scaled);
  if (integer !== undefined) return integer;
  if ((type === 'number' || /e/i.test(text)) && isDouble(text)) return Number(text);
  const decimal = decimalOf(text);
  if (decimal !== undefined) return decimal;
  const double = Number(text);
  if (double !== 0 && Number.isFinite(double)) return double;
  const detail = 'must be 0, a number from 5e-324 to 1.7e308, or the negative of one';
  throw contextInvalid([{ path: ['context', name], detail }]);
}
