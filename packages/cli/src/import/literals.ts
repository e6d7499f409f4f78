/** The types that literals have in the text of a product, for the variables that replace them. */

import { type ExactNumber, exactNumber, writeExact } from '../exact-numbers.ts';
import type { Dialect } from './outline.ts';
import { Refusal } from './text-conversion.ts';
import type { Traits } from './variables.ts';

export type NumberType = 'integer' | 'decimal';

/** A literal such as 5 is an integer, and one such as 0.5 a decimal. It keeps its digits. */
export function numberOf(value: unknown): { type: NumberType; value?: number | ExactNumber | null } {
  if (value === undefined || value === null || value === '') return { type: 'integer' };
  const [, sign, whole, rest] =
    /^\s*\+?(-?)0*(\d+|(?=\.\d))((?:\.\d+)?(?:[eE][+-]?\d+)?)\s*$/.exec(String(value)) ?? [];
  const digits = `${sign}${whole || 0}${rest}`;
  if (!Number.isFinite(Number(digits))) throw new Refusal(`The default ${writeExact(value)} is no number.`);
  const isSmall = rest === '' && Math.abs(Number(digits)) < 2 ** 31;
  return { type: isSmall ? 'integer' : 'decimal', value: exactNumber(digits) };
}

/** PostgreSQL divides whole numbers without a remainder: a decimal variable would divide 7 by 2 in another way. */
export function refuseDivision(
  type: string | undefined,
  { words, dialect }: { words: string; dialect: Dialect },
): void {
  if (type === 'decimal' && dialect === 'postgres' && /[/%]|\bmod\b|\bdiv\b/i.test(words))
    throw new Refusal(
      'A number with a fraction stands beside a division, which whole and other numbers do differently. Write a CAST into the text.',
    );
}

/** The traits of a variable with or without a default. */
export const withDefault = (traits: Traits, value: unknown): Traits =>
  value === undefined ? { ...traits, required: true } : { ...traits, value };
