/** JSON whose numbers keep the digits they were written with, where a double would lose some (`1.10`, 20 digits). */

import { endOfString, parseWith } from './json-text.ts';

/** A part of ES2026 that TypeScript's library does not declare: `JSON.stringify` writes the value as this text. */
export const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * Parses `text` such that `JSON.stringify` of the result, or of a part of it, writes every number as it was written. A
 * number whose digits a double would change is no JavaScript number in the result: pass it on, do not calculate with it.
 */
export function parseExact(text: string): unknown {
  if (!mayLoseDigits(text)) return JSON.parse(text);
  return parseWith(text, (digits) => {
    const number = Number(digits);
    return String(number) === digits ? number : rawJSON(digits);
  });
}

const quote = 0x22;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
/** `e` and `E` differ in this bit. */
const lowerCase = 0x20;
/** A number with fewer characters has at most 15 digits. */
const longNumber = 16;

/**
 * False if no number in the JSON text can change its digits when it becomes a double: none has many digits, an exponent
 * or trailing zeros, or is minus zero. A regular expression would take ten times as long.
 */
export function mayLoseDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === quote) i = endOfString(text, i);
    else if (unit <= nine && unit >= zero) {
      const start = i;
      // A loop of its own function would take twice as long for short numbers.
      for (i++; i < text.length; i++) {
        const next = text.charCodeAt(i);
        if (next > nine || (next < zero && next !== dot)) break;
      }
      if (isLossy(text, start, i)) return true;
      i--;
    }
  }
  return false;
}

function isLossy(text: string, start: number, end: number): boolean {
  if (end - start >= longNumber) return true;
  if (end < text.length && (text.charCodeAt(end) | lowerCase) === 0x65) return true;
  if (text.charCodeAt(end - 1) !== zero) return false;
  if (end - start > 1) return text.slice(start, end).includes('.');
  return start > 0 && text.charCodeAt(start - 1) === minus;
}
