/** Compares the value of a column with that of a condition. Numbers are compared with all their digits. */

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

/** False if the value is NULL, or a number is compared with what is none. */
export function isMet({ is, valueJson }: Condition, cellJson: string | undefined): boolean {
  const cell = toText(cellJson);
  if (cell === undefined) return false;
  const order = valueJson.startsWith('"')
    ? orderOf(cell, JSON.parse(valueJson) as string)
    : orderOfNumbers(cell, valueJson);
  return order !== undefined && holds[is]?.(order) === true;
}

const orderOf = <T>(one: T, other: T): number => (one < other ? -1 : one > other ? 1 : 0);

/** Undefined if one of the texts is no number. */
function orderOfNumbers(one: string, other: string): number | undefined {
  const [a, b] = [parseDecimal(one), parseDecimal(other)];
  if (a === undefined || b === undefined) return undefined;
  const places = Math.max(a.places, b.places);
  const whole = ({ digits, places: own }: Decimal) => digits * 10n ** BigInt(places - own);
  return orderOf(whole(a), whole(b));
}

/** `digits` divided by 10 to the power of `places`. */
interface Decimal {
  digits: bigint;
  places: number;
}

const decimal = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d{1,3}))?$/;
const charactersMax = 1_000;

function parseDecimal(text: string): Decimal | undefined {
  if (text.length > charactersMax) return undefined;
  const groups = decimal.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { sign = '', whole = '', fraction = '', exponent = '0' } = groups;
  const places = fraction.length - Number(exponent);
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 };
}
