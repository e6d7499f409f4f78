/** Values → MongoDB Extended JSON, with every digit kept and no member that MongoDB would obey. */

import { ExactNumber, toJsonText, type Value } from '../values.ts';
import type { ExtendedType, Form } from './template.ts';

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const doubleDigitsMax = 15;
const decimalDigitsMax = 34;

/** Undefined for a number that MongoDB has no type for. */
export function numberText({ text }: ExactNumber): string | undefined {
  if (within(text, int64.min, int64.max)) return extended('$numberLong', text);
  if (sizeOf(text).digits <= doubleDigitsMax && Number.isFinite(Number(text)))
    return extended('$numberDouble', text);
  return isDecimal(text) ? extended('$numberDecimal', text) : undefined;
}

/** How many digits count, and which power of ten the first and the last of them stand for. */
function sizeOf(text: string): { digits: number; first: number; last: number } {
  const [mantissa = '', exponent = 0] = text.toLowerCase().split('e');
  const [, fraction = ''] = mantissa.split('.');
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '').length;
  const last = Number(exponent) - fraction.length;
  return { digits, first: last + digits - 1, last };
}

/** BSON's reader takes a long in its shortest form alone. */
function extended(type: ExtendedType, text: string): string {
  return `{"${type}":${JSON.stringify(type === '$numberLong' ? String(BigInt(text)) : text)}}`;
}

/** What is wrong with a value in its place; never the value itself. */
export class Misfit {
  readonly detail: string;
  constructor(detail: string) {
    this.detail = detail;
  }
}

/** The text of a value in its place. A declared type is the BSON type; without one, JSON's own. */
export function valueText(value: Value, form: Form, type: string | undefined): string | Misfit {
  if (form !== 'plain' && form !== 'literal') return extendedText(value, form);
  const text = typedText(value, type);
  return form === 'literal' && typeof text === 'string' ? `{"$literal":${text}}` : text;
}

const extendedOf: Record<string, ExtendedType> = {
  bigint: '$numberLong',
  decimal: '$numberDecimal',
  number: '$numberDouble',
  integer: '$numberInt',
  date: '$date',
  timestamp: '$date',
  uuid: '$uuid',
};

function typedText(value: Value, type = 'json'): string | Misfit {
  const bson = extendedOf[type.replace('[]', '')];
  return bson === undefined ? jsonText(value) : extendedText(value, bson);
}

/** Arrays may be given where one value of a type stands: each of them is of the type. */
function extendedText(value: Value, type: ExtendedType): string | Misfit {
  if (Array.isArray(value)) {
    const texts = value.map((member) => extendedText(member, type));
    return texts.find((text) => text instanceof Misfit) ?? `[${texts.join(',')}]`;
  }
  if (value === null) return 'null';
  const text = value instanceof ExactNumber ? value.text : typeof value === 'object' ? '' : String(value);
  const rule = rules[type];
  if (!rule.fits(text)) return new Misfit(rule.must);
  return type === '$date' ? `{"$date":{"$numberLong":"${toInstant(text)}"}}` : extended(type, text);
}

/**
 * NaN for what is none. A date is its midnight in UTC, and a time without a zone is in UTC, as on every other engine.
 * JavaScript takes the 30th of February for the 2nd of March, so the day is looked at by itself.
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

/** What Decimal128 holds without rounding. */
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

/** JSON as it is. What MongoDB would obey begins with a dollar sign: such names are refused at any depth. */
function jsonText(value: Value): string | Misfit {
  if (value instanceof ExactNumber) {
    return numberText(value) ?? new Misfit('has more digits than any number of MongoDB');
  }
  if (typeof value !== 'object' || value === null) return toJsonText(value);
  const members = Array.isArray(value) ? value.map((member) => ['', member] as const) : Object.entries(value);
  const texts: string[] = [];
  for (const [key, member] of members) {
    if (key.startsWith('$')) return new Misfit('must not hold a name that begins with $');
    if (key.includes('\0')) return new Misfit('must not hold a name with a NUL character');
    const text = jsonText(member);
    if (text instanceof Misfit) return text;
    texts.push(Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`);
  }
  return Array.isArray(value) ? `[${texts.join(',')}]` : `{${texts.join(',')}}`;
}
