/**
 * Constants of a command in Extended JSON. The driver reads what is wrong in them as another value, such as a date that
 * does not exist as 1970, so only what is right is sent, in one form.
 */

import { ExactNumber, type Value } from '../values.ts';
import { type ExtendedType, extendedTypes, typedConstant, ValueFault } from './extended-json.ts';
import { variableIn } from './template.ts';

type Members = Record<string, Value>;
type Read = (inner: Value) => string | ValueFault;

/** A date of JavaScript, in milliseconds. */
const dateMax = 8_640_000_000_000_000n;
const isWhole = (value: Value, max: number) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
const uint32Max = 4_294_967_295;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const textOf = (value: Value): string | undefined => {
  if (value instanceof ExactNumber) return value.text;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

const ofType =
  (type: ExtendedType): Read =>
  (inner) =>
    typedConstant(textOf(inner) ?? '', type);

function readDate(inner: Value): string | ValueFault {
  if (typeof inner === 'string') return typedConstant(inner, '$date');
  const millis = isMembers(inner) && sole(inner, '$numberLong') ? inner.$numberLong : inner;
  const text = textOf(millis as Value) ?? '';
  const isDate = /^-?\d{1,16}$/.test(text) && BigInt(text) <= dateMax && BigInt(text) >= -dateMax;
  if (isDate) return `{"$date":{"$numberLong":"${BigInt(text)}"}}`;
  return new ValueFault(
    'must be a date such as 2026-11-20T13:04:05.123Z, or milliseconds of the years to 275760',
  );
}

function readBinary(inner: Value): string | ValueFault {
  const { base64: bytes, subType, ...others } = isMembers(inner) ? inner : {};
  const isBinary =
    typeof bytes === 'string' &&
    base64.test(bytes) &&
    typeof subType === 'string' &&
    /^[0-9a-f]{1,2}$/i.test(subType);
  if (isBinary && Object.keys(others).length === 0)
    return JSON.stringify({ $binary: { base64: bytes, subType } });
  return new ValueFault('must have base64, and subType of two hexadecimal digits, and nothing else');
}

function readTimestamp(inner: Value): string | ValueFault {
  const { t, i, ...others } = isMembers(inner) ? inner : {};
  const isTimestamp = isWhole(t as Value, uint32Max) && isWhole(i as Value, uint32Max);
  if (isTimestamp && Object.keys(others).length === 0) return JSON.stringify({ $timestamp: { t, i } });
  return new ValueFault('must have t and i, whole numbers of 32 bits, and nothing else');
}

function readRegularExpression(inner: Value): string | ValueFault {
  const { pattern, options, ...others } = isMembers(inner) ? inner : {};
  const isComplete = typeof pattern === 'string' && typeof options === 'string' && !pattern.includes('\0');
  if (isComplete && /^[a-z]*$/.test(options) && Object.keys(others).length === 0)
    return JSON.stringify({ $regularExpression: { pattern, options } });
  return new ValueFault('must have pattern, and options such as "i" or "", and nothing else');
}

const readBound =
  (name: string): Read =>
  (inner) =>
    inner === 1 ? JSON.stringify({ [name]: 1 }) : new ValueFault('must be 1');

const reads: Readonly<Record<string, Read>> = {
  ...Object.fromEntries(extendedTypes.map((type) => [type, ofType(type)])),
  $date: readDate,
  $binary: readBinary,
  $timestamp: readTimestamp,
  $regularExpression: readRegularExpression,
  $minKey: readBound('$minKey'),
  $maxKey: readBound('$maxKey'),
};

const isMembers = (value: Value): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
const sole = (members: Members, name: string) =>
  Object.hasOwn(members, name) && Object.keys(members).length === 1;

/** True for a variable, and for what has one inside. The caller writes it. */
function hasVariable(value: Value): boolean {
  if (isMembers(value)) return Object.values(value).some(hasVariable);
  return variableIn(value) !== undefined;
}

/** Undefined if these members are no constant of Extended JSON. */
export function constantText(members: Members): string | ValueFault | undefined {
  const type = Object.keys(members).find((name) => Object.hasOwn(reads, name));
  if (type === undefined) return undefined;
  if (!sole(members, type)) return new ValueFault(`has other members beside ${type}, which would be lost`);
  const inner = members[type] as Value;
  return hasVariable(inner) ? undefined : (reads[type] as Read)(inner);
}
