/** Arithmetic on the texts of numbers, because doubles would change their digits. */

import { grouped } from './scan.ts';

/** `units` / 10^`scale`. */
interface Decimal {
  units: bigint;
  scale: number;
}

export const aggregates = [
  ['none', 'row by row'],
  ['sum', 'sum'],
  ['mean', 'mean'],
  ['min', 'minimum'],
  ['max', 'maximum'],
  ['count', 'count'],
  ['last', 'last row'],
] as const;
export type Aggregate = (typeof aggregates)[number][0];

const written = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,5}))?$/;
/** The digits that a mean has beyond those of its values, if it does not end before. */
const meanDigits = 6;

function decimalOf(text: string): Decimal | undefined {
  const [, sign = '', whole, part = '', power = '0'] = written.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const units = BigInt(whole + part);
  const scale = part.length - Number(power);
  const signed = sign === '-' ? -units : units;
  return scale < 0 ? { units: signed * 10n ** BigInt(-scale), scale: 0 } : { units: signed, scale };
}

function textOf({ units, scale }: Decimal): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const unitsAt = ({ units, scale }: Decimal, wanted: number): bigint => units * 10n ** BigInt(wanted - scale);

function added(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

/** The exact sum; `NaN` or an infinity if a value is one. A value that is no number is taken for NaN. */
function sumOf(texts: readonly string[]): Decimal | string {
  let sum: Decimal = { units: 0n, scale: 0 };
  const others = new Set<string>();
  for (const text of texts) {
    const decimal = decimalOf(text);
    if (decimal === undefined) others.add(/^-?Infinity$/.test(text) ? text : 'NaN');
    else sum = added(sum, decimal);
  }
  const [other] = others;
  if (other === undefined) return sum;
  return others.size === 1 ? other : 'NaN';
}

/** The mean, exact if it ends within some digits more than its values have; else it is rounded, and begins with ≈. */
function meanOf(texts: readonly string[]): string {
  const sum = sumOf(texts);
  if (typeof sum === 'string') return sum;
  const scale = sum.scale + meanDigits;
  const [units, count] = [unitsAt(sum, scale), BigInt(texts.length)];
  const half = units < 0n ? -count : count;
  const quotient = (2n * units + half) / (2n * count);
  if (quotient * count !== units) return `≈ ${textOf({ units: quotient, scale })}`;
  const text = textOf({ units: quotient, scale });
  // Zeros that no value has.
  const least = text.length - meanDigits;
  const end = Math.max(least, text.replace(/0+$/, '').length);
  return text.slice(0, end).replace(/\.$/, '');
}

/** Orders NaN, and what is no number, last. */
export function compareNumbers(a: string, b: string): number {
  const [x, y] = [Number(a), Number(b)];
  // Rounding to doubles keeps the order.
  if (x < y) return -1;
  if (x > y) return 1;
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  const [left, right] = [decimalOf(a), decimalOf(b)];
  if (left === undefined || right === undefined) return 0;
  const scale = Math.max(left.scale, right.scale);
  const difference = unitsAt(left, scale) - unitsAt(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The exact text of several values, in the order of their rows, as one. A single value keeps its text. */
export function combined(texts: readonly string[], aggregate: Aggregate): string {
  if (aggregate === 'count') return String(texts.length);
  const [first = '', ...rest] = texts;
  if (rest.length === 0) return first;
  if (aggregate === 'min')
    return rest.reduce((least, text) => (compareNumbers(text, least) < 0 ? text : least), first);
  if (aggregate === 'max')
    return rest.reduce((most, text) => (compareNumbers(text, most) > 0 ? text : most), first);
  if (aggregate === 'mean') return meanOf(texts);
  if (aggregate === 'sum') {
    const sum = sumOf(texts);
    return typeof sum === 'string' ? sum : textOf(sum);
  }
  return texts.at(-1) as string;
}

/** The place of a value on a scale; null for a text that has none. */
export function toPixelValue(text: string): number | null {
  const value = Number(text.replace(/^≈ /, ''));
  return Number.isFinite(value) ? value : null;
}

/** A share of a sum in tenths of a percent, rounded, as `27.4 %`. Undefined without a positive sum. */
export function shareOf(text: string, sum: string): string | undefined {
  const [part, all] = [decimalOf(text), decimalOf(sum)];
  if (part === undefined || all === undefined || all.units <= 0n) return undefined;
  const scale = Math.max(part.scale, all.scale);
  const [units, whole] = [unitsAt(part, scale) * 1_000n, unitsAt(all, scale)];
  return `${textOf({ units: (2n * units + whole) / (2n * whole), scale: 1 })} %`;
}

/** The number of a scale in all its digits, in thousands or millions if all of them stay short. */
export function tickTexts(values: readonly number[]): string[] {
  const most = Math.max(...values.map(Math.abs));
  if (most >= 1e21) return values.map(String);
  const decimals = values.map((value) => decimalOf(String(value)));
  for (const [name, power] of largeUnits) {
    const moved = decimals.map((one) => one && trimmed({ units: one.units, scale: one.scale + power }));
    const isShort = moved.every((one) => one !== undefined && one.scale <= 3);
    if (most >= 10 ** (power + 1) && most >= 1e7 && isShort)
      return moved.map((one) => (one?.units === 0n ? '0' : `${grouped(textOf(one as Decimal))}${name}`));
  }
  return decimals.map((one, i) => (one === undefined ? String(values[i]) : grouped(textOf(one))));
}

const largeUnits = [
  ['T', 12],
  ['B', 9],
  ['M', 6],
] as const;

/** Without zeros at the end of the part behind the point. */
function trimmed(decimal: Decimal): Decimal {
  let { units, scale } = decimal;
  while (scale > 0 && units % 10n === 0n) {
    units /= 10n;
    scale--;
  }
  return { units, scale };
}
