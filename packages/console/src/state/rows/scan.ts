/** Splits a row of NDJSON into its members without parsing the values, so that their texts stay exact. */

export interface Members {
  names: string[];
  /** The values as JSON texts. */
  values: string[];
}

const quote = 0x22;
const backslash = 0x5c;
const openingBrace = 0x7b;

/** Returns the index after the string that begins with the quote at `start`. */
function endOfText(line: string, start: number): number {
  for (let at = line.indexOf('"', start + 1); at >= 0; at = line.indexOf('"', at + 1)) {
    let slashes = 0;
    while (line.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return line.length;
}

/** Returns the index after the object or array that begins at `start`. */
function endOfNested(line: string, start: number): number {
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === quote) at = endOfText(line, at) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return line.length;
}

function endOfValue(line: string, start: number): number {
  const code = line.charCodeAt(start);
  if (code === quote) return endOfText(line, start);
  if (code === 0x7b || code === 0x5b) return endOfNested(line, start);
  for (let at = start; at < line.length; at++) {
    const next = line.charCodeAt(at);
    if (next === 0x2c || next === 0x7d) return at;
  }
  return line.length;
}

/** `line` must be a JSON object without spaces between its tokens, as the hub writes it. */
export function membersOf(line: string): Members {
  const names: string[] = [];
  const values: string[] = [];
  let at = 1;
  while (line.charCodeAt(at) === quote) {
    const endOfName = endOfText(line, at);
    names.push(textOf(line.slice(at, endOfName)));
    const end = endOfValue(line, endOfName + 1);
    values.push(line.slice(endOfName + 1, end));
    at = end + 1;
  }
  return { names, values };
}

/** The objects of the array that begins at `start` of such a text. */
export function objectsOf(text: string, start: number): string[] {
  const objects: string[] = [];
  let at = start + 1;
  while (text.charCodeAt(at) === openingBrace) {
    const end = endOfNested(text, at);
    objects.push(text.slice(at, end));
    at = end + 1;
  }
  return objects;
}

export type Values = (string | undefined)[];

interface Layout {
  /** `"name":` of each column. Rows usually have the columns in this order. */
  prefixes: readonly string[];
  placeOf(name: string): number | undefined;
}

/**
 * Writes the JSON texts of a row into `into` by column, undefined for a missing member. Only the values are allocated.
 */
export function readValues(line: string, { prefixes, placeOf }: Layout, into: Values): void {
  into.length = prefixes.length;
  into.fill(undefined);
  let at = 1;
  for (let i = 0; line.charCodeAt(at) === quote; i++) {
    const prefix = prefixes[i];
    let place: number | undefined = i;
    let start = at;
    if (prefix !== undefined && line.startsWith(prefix, at)) start += prefix.length;
    else {
      const endOfName = endOfText(line, at);
      place = placeOf(textOf(line.slice(at, endOfName)));
      start = endOfName + 1;
    }
    const end = endOfValue(line, start);
    if (place !== undefined) into[place] = line.slice(start, end);
    at = end + 1;
  }
}

/** True if a row has a member that no column has. */
export function hasOthers(line: string, { prefixes, placeOf }: Layout): boolean {
  let at = 1;
  for (let i = 0; line.charCodeAt(at) === quote; i++) {
    const prefix = prefixes[i];
    let start = at;
    if (prefix !== undefined && line.startsWith(prefix, at)) start += prefix.length;
    else {
      const endOfName = endOfText(line, at);
      if (placeOf(textOf(line.slice(at, endOfName))) === undefined) return true;
      start = endOfName + 1;
    }
    at = endOfValue(line, start) + 1;
  }
  return false;
}

/** Returns a JSON string without its quotes and escapes, and any other JSON unchanged. */
export function textOf(json: string): string {
  if (json.charCodeAt(0) !== quote) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** Returns the beginning of a JSON string as one, without a part of an escape at its end. */
export function beginningOf(json: string, characters: number): string {
  const whole = /^"(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(json.slice(0, characters));
  return `${whole?.[0] ?? '"'}"`;
}

const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
export const isNumberText = (text: string): boolean => number.test(text);

/** More digits do not fit into a double, so they come in quotes. */
const digitsMax = 15;
export function isLongNumber(json: string): boolean {
  if (json.length <= digitsMax || json.charCodeAt(0) !== quote) return false;
  const text = json.slice(1, -1);
  return isNumberText(text) && text.replaceAll(/\D/g, '').length > digitsMax;
}

/** Adds separators between thousands, for display only. */
export function grouped(text: string): string {
  const first = text.charCodeAt(0) === 0x2d ? 1 : 0;
  let end = first;
  while (isDigit(text.charCodeAt(end))) end++;
  if (end - first < 4) return text;
  for (let at = end + 1; at < text.length; at++) if (!isDigit(text.charCodeAt(at))) return text;
  if (end < text.length && (text.charCodeAt(end) !== 0x2e || end + 1 === text.length)) return text;
  let at = first + ((end - first) % 3 || 3);
  let drawn = text.slice(0, at);
  for (; at < end; at += 3) drawn += `,${text.slice(at, at + 3)}`;
  return drawn + text.slice(end);
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
