/** Checks JSON (RFC 8259) without building its values: a text of empty arrays would become many times as large. */

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const expected = { value: 0, firstElement: 1, name: 2, firstName: 3, afterValue: 4 } as const;

/** True if the UTF-8 text `source[start, end)` is one JSON value. */
export function isJson(source: Buffer, start: number, end: number): boolean {
  /** The opening bracket or brace of each level. */
  let opened = new Uint8Array(32);
  let depth = 0;
  let next: number = expected.value;
  for (let at = skipSpaces(source, start, end); at < end; at = skipSpaces(source, at, end)) {
    const byte = source[at] as number;
    const isObject = opened[depth - 1] === openBrace;
    if (
      next === expected.afterValue ? depth > 0 : next === expected.firstElement || next === expected.firstName
    ) {
      if (byte === (isObject ? closeBrace : closeBracket)) {
        depth--;
        next = expected.afterValue;
        at++;
        continue;
      }
    }
    if (next === expected.afterValue) {
      if (depth === 0 || byte !== comma) return false;
      next = isObject ? expected.name : expected.value;
      at++;
    } else if (next === expected.name || next === expected.firstName) {
      at = byte === quote ? endOfString(source, at + 1, end) : -1;
      if (at >= 0) at = skipSpaces(source, at, end);
      if (at < 0 || at >= end || source[at] !== colon) return false;
      next = expected.value;
      at++;
    } else if (byte === openBrace || byte === openBracket) {
      if (depth === opened.length) {
        const grown = new Uint8Array(2 * depth);
        grown.set(opened);
        opened = grown;
      }
      opened[depth++] = byte;
      next = byte === openBrace ? expected.firstName : expected.firstElement;
      at++;
    } else {
      at = byte === quote ? endOfString(source, at + 1, end) : endOfScalar(source, at, end);
      if (at < 0) return false;
      next = expected.afterValue;
    }
  }
  return depth === 0 && next === expected.afterValue;
}

function skipSpaces(source: Buffer, start: number, end: number): number {
  let at = start;
  for (; at < end; at++) {
    const byte = source[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** The index behind the closing quote; -1 if the string has none, or a control character or an unknown escape. */
function endOfString(source: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
    if (byte === quote) return at + 1;
    if (byte < 0x20) return -1;
    if (byte !== backslash) continue;
    at++;
    if (at >= end) return -1;
    if (source[at] === 0x75) {
      for (const last = at + 4; at < last; ) if (++at >= end || !isHex(source[at] as number)) return -1;
    } else if (!escapes.includes(source[at] as number)) return -1;
  }
  return -1;
}

const escapes = Buffer.from('"\\/bfnrt');
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

const literals = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];

/** The index behind a literal or a number; -1 if there is none. */
function endOfScalar(source: Buffer, start: number, end: number): number {
  for (const literal of literals) {
    const stop = start + literal.length;
    if (source[start] === literal[0])
      return stop <= end && literal.equals(source.subarray(start, stop)) ? stop : -1;
  }
  let at = source[start] === 0x2d ? start + 1 : start;
  const first = at;
  at = skipDigits(source, at, end);
  if (at === first || (source[first] === 0x30 && at > first + 1)) return -1;
  if (at < end && source[at] === 0x2e) {
    const fraction = ++at;
    at = skipDigits(source, at, end);
    if (at === fraction) return -1;
  }
  if (at < end && ((source[at] as number) | 0x20) === 0x65) {
    at++;
    if (at < end && (source[at] === 0x2b || source[at] === 0x2d)) at++;
    const exponent = at;
    at = skipDigits(source, at, end);
    if (at === exponent) return -1;
  }
  return at;
}

function skipDigits(source: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && isDigit(source[at])) at++;
  return at;
}
