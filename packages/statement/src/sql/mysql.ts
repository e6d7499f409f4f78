/**
 * Text and parameters for MySQL and MariaDB: one `?` for each use. They have no cast that a placeholder could carry, so a
 * value takes its declared type along.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { type BoundValue, type Declaration, toScalar, type Value } from '../values.ts';
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
    const { type, elementType } = declarations[variable] as Declaration;
    if (list === undefined || !Array.isArray(value)) params.push(toTyped(toScalar(value, type), elementType));
    else {
      const elements = value.map((element) => toTyped(toScalar(element, type), elementType));
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
const decimal = /^-?(?:\d+(?:\.(\d*))?|\.(\d+))$/;
/** The most digits of a DECIMAL, in total and after the point. A longer value would be truncated without an error. */
const digitsMax = 65;
const scaleMax = 30;

/** As a string, a number would be compared and added as a double, with 15 significant digits. */
function toTyped(value: BoundValue, type: string | undefined): BoundValue {
  switch (type) {
    case 'bigint':
      return typeof value === 'string' && whole.test(value) ? toInteger(value) : value;
    case 'decimal':
      return typeof value === 'string' || typeof value === 'number' ? toDecimal(value) : value;
    case 'timestamp':
      return typeof value === 'string' ? toUtcText(value) : value;
    default:
      return value;
  }
}

function toInteger(text: string): BoundValue {
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer) ? integer : text;
}

function toDecimal(value: string | number): BoundValue {
  const text = String(value);
  const parts = decimal.exec(text);
  if (parts === null) return value;
  const scale = (parts[1] ?? parts[2] ?? '').length;
  return text.replace(/\D/g, '').length <= digitsMax && scale <= scaleMax ? { decimal: text } : value;
}

const zoned =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(?:Z|([+-])(\d{2}):?(\d{2})?)$/;

/**
 * Converts a declared timestamp with a zone to date and time in UTC, the time zone of every session: MySQL rejects some
 * zones and ignores others. A value without a zone, or with an impossible date, is left for the database to judge.
 */
export function toUtcText(text: string): string {
  const parts = zoned.exec(text);
  if (parts === null) return text;
  const [year, month, day, hour, minute, second = 0] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [, , , , , , , fraction = '', sign, hours = '0', minutes = '0'] = parts;
  // Date.UTC would take the year 26 for 1926.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  if (!toDateTime(date).startsWith(`${text.slice(0, 10)} ${text.slice(11, 16)}`)) return text;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  date.setTime(date.getTime() - offset * 60_000);
  return /^\d{4}-/.test(date.toISOString()) ? toDateTime(date) + fraction : text;
}

const toDateTime = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ');
