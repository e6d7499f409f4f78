/** Writes values as MongoDB Extended JSON: every digit is kept, and no member can act as an operator. */

import { int64Of } from '../exact-number.ts';
import { ExactNumber, toJsonText, type Value } from '../values.ts';

export const extendedTypes = [
  '$oid',
  '$date',
  '$uuid',
  '$numberInt',
  '$numberLong',
  '$numberDouble',
  '$numberDecimal',
] as const;
export type ExtendedType = (typeof extendedTypes)[number];

/**
 * How a value replaces its variable. `plain`: unchanged. `element`: unchanged, but never an object, because MongoDB would
 * read it as a condition. `operand`: unchanged, but without texts that some versions of MongoDB would read as a field path.
 * `literal`: inside `$literal`, because MongoDB would read a string as a field path, an object as an expression, and in a
 * projection a number as what to include.
 */
export type Form = 'plain' | 'element' | 'operand' | 'literal';

/** One use of a variable. */
export interface Placeholder {
  variable: string;
  form: Form;
  /** Set in `{"$oid": ":id"}`. */
  type?: ExtendedType | undefined;
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const doubleDigitsMax = 15;
const decimalDigitsMax = 34;
/** Nearly all numbers with a fraction: at most 15 digits. */
const shortDecimal = /^-?\d{1,7}\.\d{1,8}$/;

/** Undefined if no number type of MongoDB can hold the number. */
export function numberText({ text }: ExactNumber): string | undefined {
  if (shortDecimal.test(text)) return `{"$numberDouble":"${text}"}`;
  if (within(text, int64.min, int64.max)) return extended('$numberLong', text);
  if (isDouble(text)) return extended('$numberDouble', text);
  return isDecimal(text) ? extended('$numberDecimal', text) : undefined;
}

/**
 * True if a double is read back with these digits. Programs write doubles with up to 17, and MongoDB finds no double by a
 * Decimal128 of the same digits.
 */
function isDouble(text: string): boolean {
  const double = Number(text);
  if (!Number.isFinite(double)) return false;
  return sizeOf(text).digits <= doubleDigitsMax || (/[.e]/.test(text) && String(double) === text);
}

/** The number of significant digits, and the powers of ten of the first and the last digit. */
function sizeOf(text: string): { digits: number; first: number; last: number } {
  const [mantissa = '', exponent = 0] = text.toLowerCase().split('e');
  const [, fraction = ''] = mantissa.split('.');
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '').length;
  const last = Number(exponent) - fraction.length;
  return { digits, first: last + digits - 1, last };
}

/** The BSON parser accepts a long in its shortest form only. */
function extended(type: ExtendedType, text: string): string {
  return `{"${type}":${JSON.stringify(type === '$numberLong' ? String(BigInt(text)) : text)}}`;
}

/** Why a value does not fit. It never contains the value. */
export class ValueFault {
  readonly detail: string;
  constructor(detail: string) {
    this.detail = detail;
  }
}

/** A type of the command decides the BSON type, then the declared type; without both, the JSON type does. */
export function valueText(
  value: Value,
  { form, type }: Pick<Placeholder, 'form' | 'type'>,
  declared: string | undefined,
): string | ValueFault {
  if (form === 'element' && isObject(value))
    return new ValueFault('must not be an object, which MongoDB would read as a condition here');
  if (form === 'operand' && hasPath(value))
    return new ValueFault('must not contain a text that begins with $, which MongoDB would evaluate here');
  const text = type === undefined ? typedText(value, declared) : extendedText(value, type);
  return form === 'literal' && typeof text === 'string' ? `{"$literal":${text}}` : text;
}

function hasPath(value: Value): boolean {
  if (typeof value === 'string') return value.startsWith('$');
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return false;
  return Object.values(value).some(hasPath);
}

export const isObject = (value: Value): value is Record<string, Value> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

const extendedOf: Record<string, ExtendedType> = {
  bigint: '$numberLong',
  decimal: '$numberDecimal',
  number: '$numberDouble',
  integer: '$numberInt',
  date: '$date',
  timestamp: '$date',
  uuid: '$uuid',
};

function typedText(value: Value, type = 'json'): string | ValueFault {
  const bson = extendedOf[type.replace('[]', '')];
  return bson === undefined ? jsonText(value) : extendedText(value, bson);
}

const wholeTypes: ReadonlySet<ExtendedType> = new Set(['$numberInt', '$numberLong']);

/** Each element of an array gets the type. */
function extendedText(value: Value, type: ExtendedType): string | ValueFault {
  if (Array.isArray(value)) return listText(value, (member) => extendedText(member, type));
  if (value === null) return 'null';
  // 1.0 and 1e3 are whole numbers in JSON.
  const whole = wholeTypes.has(type) && value instanceof ExactNumber ? int64Of(value.text) : undefined;
  const own = value instanceof ExactNumber ? value.text : typeof value === 'object' ? '' : String(value);
  const text = whole === undefined ? own : String(whole);
  const rule = rules[type];
  if (!rule.fits(text)) return new ValueFault(rule.must);
  return type === '$date' ? `{"$date":{"$numberLong":"${toInstant(text)}"}}` : extended(type, text);
}

/** What canonical Extended JSON has beside numbers. */
const noNumbers = new Set(['NaN', 'Infinity', '-Infinity']);

/** A constant of this type. */
export function typedConstant(text: string, type: ExtendedType): string | ValueFault {
  const isFloat = type === '$numberDouble' || type === '$numberDecimal';
  return isFloat && noNumbers.has(text) ? JSON.stringify({ [type]: text }) : extendedText(text, type);
}

/**
 * Milliseconds since 1970, or NaN. A date means midnight in UTC, and a time without a zone is in UTC, as on every other
 * engine. The day is checked separately because JavaScript takes 30 February for 2 March.
 */
function toInstant(text: string): number {
  const [, date = '', time = '00:00', zone = 'Z'] = instant.exec(text) ?? [];
  const isDay = new Date(`${date}T00:00Z`).getUTCDate() === Number(date.slice(8));
  return isDay ? Date.parse(`${date}T${time}${zoneOf(zone)}`) : Number.NaN;
}

const instant =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

function zoneOf(zone: string): string {
  if (zone === 'Z') return zone;
  const minutes = zone.slice(3).replace(':', '');
  return `${zone.slice(0, 3)}:${minutes === '' ? '00' : minutes}`;
}

const isNumber = /^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?$/;
const within = (text: string, min: bigint, max: bigint) =>
  /^-?\d{1,19}$/.test(text) && BigInt(text) >= min && BigInt(text) <= max;

/** True if Decimal128 holds the number without rounding. */
function isDecimal(text: string): boolean {
  const { digits, first, last } = sizeOf(text);
  return isNumber.test(text) && digits <= decimalDigitsMax && first <= 6144 && last >= -6176;
}

const rules: Record<ExtendedType, { fits: (text: string) => boolean; must: string }> = {
  $oid: { fits: (text) => /^[0-9a-f]{24}$/i.test(text), must: 'must be an ObjectId: 24 hexadecimal digits' },
  $date: {
    fits: (text) => !Number.isNaN(toInstant(text)),
    must: 'must be a date or a timestamp such as 2026-11-20T13:04:05.123Z',
  },
  $uuid: {
    fits: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
    must: 'must be a UUID',
  },
  $numberInt: {
    fits: (text) => within(text, -(2n ** 31n), 2n ** 31n - 1n),
    must: 'must be a whole number from -2147483648 to 2147483647',
  },
  $numberLong: {
    fits: (text) => within(text, int64.min, int64.max),
    must: 'must be a whole number of 64 bits',
  },
  $numberDouble: {
    fits: (text) => isNumber.test(text) && Number.isFinite(Number(text)),
    must: 'must be a number',
  },
  $numberDecimal: {
    fits: isDecimal,
    must: `must be a decimal number of at most ${decimalDigitsMax} digits, from 1e-6176 to below 1e6145`,
  },
};

/** A member by which the driver knows its own types. It closes the connection if it finds another value there. */
export const unsendable = '_bsontype';

/** Rejects names that begin with a dollar sign at any depth, because MongoDB reads them as operators. */
function jsonText(value: Value): string | ValueFault {
  if (value instanceof ExactNumber) {
    return numberText(value) ?? new ValueFault('has more digits than any number type of MongoDB');
  }
  if (typeof value !== 'object' || value === null) return toJsonText(value);
  if (Array.isArray(value)) return listText(value, jsonText);
  const texts: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (key.startsWith('$')) return new ValueFault('must not contain a name that begins with $');
    if (key.includes('\0')) return new ValueFault('must not contain a name with a NUL character');
    if (key === unsendable) return new ValueFault(`must not contain a member ${unsendable}`);
    const text = jsonText(member);
    if (text instanceof ValueFault) return text;
    texts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${texts.join(',')}}`;
}

function listText(members: Value[], toText: (member: Value) => string | ValueFault): string | ValueFault {
  const texts: string[] = [];
  for (const member of members) {
    const text = toText(member);
    if (text instanceof ValueFault) return text;
    texts.push(text);
  }
  return `[${texts.join(',')}]`;
}
