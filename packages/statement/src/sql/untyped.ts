/**
 * Values whose form depends on the type that the database expects: on PostgreSQL those of variables without a type, on
 * MySQL texts.
 */

import type { FieldFault } from '@datahub/contract/validation-error';
import { wholeDigits } from '../exact-number.ts';
import { ExactNumber, toJsonText, type Value } from '../values.ts';

export interface UntypedValue {
  /** The place among the parameters. */
  index: number;
  name: string;
  value: string | ExactNumber | Value[] | { [key: string]: Value };
  /** MySQL: the result can be this value or one beside it. */
  isMerged?: boolean;
  /** MySQL: a text that is JSON, and was not a string. */
  isJson?: boolean;
}

/** What the database expects in a place, as far as values differ by it. */
export type Expected = 'json' | 'integer' | 'text' | 'other' | { readonly elements: Expected };

/** Undefined for a scalar, which has the same form for each type. */
export const untypedValue = (index: number, name: string, value: Value): UntypedValue | undefined =>
  typeof value === 'object' && value !== null ? { index, name, value } : undefined;

/** Returns the text to bind; undefined if the value has no form of this type. */
export function untypedText(value: Value, expected: Expected): string | undefined {
  if (expected === 'json') return typeof value === 'string' ? value : toJsonText(value);
  if (value instanceof ExactNumber) return expected === 'integer' ? wholeDigits(value.text) : value.text;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    if (typeof expected === 'string') return undefined;
    const texts = value.map((element) => elementText(element, expected));
    return texts.includes(undefined) ? undefined : `{${texts.join(',')}}`;
  }
  return expected === 'text' ? toJsonText(value) : undefined;
}

/** `type` is the name of the type that the database expects. */
export function untypedFault({ name, value }: UntypedValue, type: string): FieldFault {
  const rest = `because the database expects ${type}.`;
  const detail =
    Array.isArray(value) && !type.endsWith('[]')
      ? `must not be a list here, ${rest} Compare with its elements as in = ANY(:${name}) or IN (:${name}), or name the type in the text, as in :${name}::text[] or :${name}::jsonb`
      : `must not hold an object here, ${rest} For its JSON, write :${name}::jsonb`;
  return { path: ['context', name], detail };
}

/** A list in a list is one more dimension of the array, unless the elements are JSON. */
function elementText(value: Value, array: { readonly elements: Expected }): string | undefined {
  if (value === null) return 'NULL';
  if (Array.isArray(value) && array.elements !== 'json') return untypedText(value, array);
  const text = untypedText(value, array.elements);
  return text === undefined ? undefined : quoteElement(text);
}

/** An element of an array in PostgreSQL's notation. */
export const quoteElement = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
