/**
 * Compares the value of a column with that of a condition: two numbers with all their digits, two moments and two times
 * of a day by time, and other texts by their characters. A row of NDJSON does not say whether a long number is a number or
 * a text, so two texts that are both numbers are compared as numbers.
 */

import { decimalPattern } from '@datahub/contract/watches';
import { HubError } from '@datahub/service-kit/call/error';
import { instantOf } from '@datahub/statement/timestamps';
import { toText } from '../rows/row-reader.ts';

export interface Condition {
  column: string;
  is: string;
  /** A number or a string as JSON. */
  valueJson: string;
}

const holds: Record<string, (order: number) => boolean> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
};

/**
 * False if the value is NULL, or NaN beside a number. Throws VALIDATION if a number would be compared with a text, or a
 * date or a time ordered with a text that is none.
 */
export function isMet({ column, is, valueJson }: Condition, cellJson: string | undefined): boolean {
  const cell = toText(cellJson);
  if (cell === undefined) return false;
  const isText = valueJson.startsWith('"');
  const value = isText ? (JSON.parse(valueJson) as string) : valueJson;
  if (cell === 'NaN' && parseDecimal(value) !== undefined) return false;
  const order = orderOfNumbers(cell, value) ?? orderOfMoments(cell, value) ?? orderOfTimes(cell, value);
  if (order === undefined && (!isText || /^[-\d]/.test(cellJson ?? '')))
    throw new HubError(
      'VALIDATION',
      `A value of the column ${column} cannot be compared with ${valueJson}, because one of them is no number.`,
    );
  if (order === undefined && isOrder(is) && (isOnlyTime(cell, value) || isOnlyTime(value, cell)))
    throw new HubError(
      'VALIDATION',
      `A value of the column ${column} cannot be compared with ${valueJson}, because only one of them is a date or a time. Write it as 2026-01-31, 2026-01-31T06:30:00Z or 06:30:00.`,
    );
  return holds[is]?.(order ?? orderOf(cell, value)) === true;
}

const isOrder = (is: string) => is.startsWith('>') || is.startsWith('<');
/** Whether the first is a date or a time, and the other is none and does not begin one. */
const isOnlyTime = (one: string, other: string) => isOfTime(one) && !beginningOfDate.test(other);
const isOfTime = (text: string) => instantOf(text) !== undefined || secondsOf(text) !== undefined;
/** A year, perhaps with a month, or a date that does not exist: their characters have the order of time. */
const beginningOfDate = /^\d{4,}(-\d{2}){0,2}$/;

const orderOf = <T>(one: T, other: T): number => (one < other ? -1 : one > other ? 1 : 0);

/** Undefined if one of the texts is no number. */
function orderOfNumbers(one: string, other: string): number | undefined {
  const [a, b] = [parseDecimal(one), parseDecimal(other)];
  if (a === undefined || b === undefined) return undefined;
  if (typeof a === 'number' || typeof b === 'number') return orderOf(signOfInfinity(a), signOfInfinity(b));
  const places = Math.max(a.places, b.places);
  const whole = ({ digits, places: own }: Decimal) => digits * 10n ** BigInt(places - own);
  return orderOf(whole(a), whole(b));
}

/** `digits` divided by 10 to the power of `places`. */
interface Decimal {
  digits: bigint;
  places: number;
}

const infinity = /^(-?)Infinity$/;
const charactersMax = 1_000;

/** An infinity as a number. */
function parseDecimal(text: string): Decimal | number | undefined {
  if (infinity.test(text)) return Number(text);
  if (text.length > charactersMax) return undefined;
  const groups = decimalPattern.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { sign = '', whole = '', fraction = '', exponent = '0' } = groups;
  const places = fraction.length - Number(exponent);
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 };
}

const signOfInfinity = (one: Decimal | number): number => (typeof one === 'number' ? Math.sign(one) : 0);

/** Undefined unless both are moments. */
function orderOfMoments(one: string, other: string): number | undefined {
  const [a, b] = [instantOf(one), instantOf(other)];
  if (a === undefined || b === undefined) return undefined;
  return orderOf(a.seconds, b.seconds) || orderOf(a.fraction, b.fraction);
}

/** MySQL's times have up to 838 hours, and a sign. */
const time = /^(?<sign>-?)(?<hours>\d{2,3}):(?<minutes>[0-5]\d):(?<seconds>[0-5]\d(?:\.\d{1,9})?)$/;

/** Undefined unless both are times without a date. */
function orderOfTimes(one: string, other: string): number | undefined {
  const [a, b] = [secondsOf(one), secondsOf(other)];
  return a === undefined || b === undefined ? undefined : orderOf(a, b);
}

function secondsOf(text: string): number | undefined {
  const groups = time.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const seconds = Number(groups.hours) * 3_600 + Number(groups.minutes) * 60 + Number(groups.seconds);
  return groups.sign === '-' ? -seconds : seconds;
}
