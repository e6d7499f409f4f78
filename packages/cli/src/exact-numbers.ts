/**
 * JSON whose numbers keep all their digits, on Node 20 too, which has no `JSON.rawJSON`. A number that a double would
 * change becomes an `ExactNumber`, and is written as it was read.
 */

import { randomUUID } from 'node:crypto';
import { endOfString } from '@datahub/contract/json-text';

/** No text of a result can be one, because nobody knows it before. */
const mark = `exact ${randomUUID()}:`;
/** The beginning of a text, or a number. */
const tokens = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const marked = new RegExp(String.raw`"${mark}([-+.\deE]+)"`, 'g');

export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toString(): string {
    return this.digits;
  }

  /** A text that `restoreDigits` replaces. */
  toJSON(): string {
    return mark + this.digits;
  }
}

/** A number as JSON writes it. */
export const exactNumber = (digits: string): number | ExactNumber =>
  String(Number(digits)) === digits ? Number(digits) : new ExactNumber(digits);

export function parseExact(text: string): unknown {
  const pieces: string[] = [];
  let from = 0;
  const next = new RegExp(tokens);
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [token] = found;
    // No regular expression matches a text of 16 MB character by character.
    if (token === '"') next.lastIndex = endOfString(text, found.index) + 1;
    else if (String(Number(token)) !== token) {
      pieces.push(text.slice(from, found.index), `"${mark}${token}"`);
      from = next.lastIndex;
    }
  }
  if (pieces.length === 0) return JSON.parse(text);
  return JSON.parse(pieces.join('') + text.slice(from), (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
  );
}

/** Writes the digits of exact numbers in a text that `JSON.stringify` made. */
export const restoreDigits = (json: string): string => json.replace(marked, '$1');

export const writeExact = (value: unknown, indent?: number): string =>
  restoreDigits(JSON.stringify(value, undefined, indent));
