/**
 * JSON whose numbers keep all their digits, on Node 20 too, which has no `JSON.rawJSON`. A number that a double would
 * change becomes an `ExactNumber`, and is written as it was read.
 */

import { randomUUID } from 'node:crypto';

/** No text of a result can be one, because nobody knows it before. */
const mark = `exact ${randomUUID()}:`;
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const marked = new RegExp(String.raw`"${mark}([-+.\deE]+)"`, 'g');

export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  /** A text that `restoreDigits` replaces. */
  toJSON(): string {
    return mark + this.digits;
  }
}

const isPlain = (token: string) => token.startsWith('"') || String(Number(token)) === token;

export function parseExact(text: string): unknown {
  const prepared = text.replace(tokens, (token) => (isPlain(token) ? token : `"${mark}${token}"`));
  if (prepared === text) return JSON.parse(text);
  return JSON.parse(prepared, (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
  );
}

/** Writes the digits of exact numbers in a text that `JSON.stringify` made. */
export const restoreDigits = (json: string): string => json.replace(marked, '$1');

export const writeExact = (value: unknown, indent?: number): string =>
  restoreDigits(JSON.stringify(value, undefined, indent));
