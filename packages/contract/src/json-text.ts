/**
 * Reads valid JSON without parsing it: a megabyte of tiny values takes some milliseconds as text, and becomes many times as
 * large as objects.
 */

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const space = 0x20;

const isOpening = (unit: number): boolean => unit === 0x7b || unit === 0x5b;
const isClosing = (unit: number): boolean => unit === 0x7d || unit === 0x5d;

/** The index of the quote that closes the string which begins at `start`. */
export function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === quote) break;
    if (unit === backslash) i++;
  }
  return i;
}

/** The number of values in a JSON text at all depths: it, its members and elements, and theirs. */
export function countValues(text: string): number {
  let count = 1;
  let isEmpty = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= space) continue;
    if (isEmpty && !isClosing(unit)) count++;
    isEmpty = isOpening(unit);
    if (unit === comma) count++;
    else if (unit === quote) i = endOfString(text, i);
  }
  return count;
}

/** The most of all levels together that is parsed, and written again, in one turn. Names of members cost most. */
const inOneTurn = { levels: 64, containers: 20_000, members: 20_000, values: 100_000 } as const;

/** What a text has too much of to be read in one turn. It need not be valid JSON. */
export function excessOf(text: string): string | undefined {
  const { levels, containers, members, values } = inOneTurn;
  let [level, opened, colons, commas] = [0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === quote) i = endOfString(text, i);
    else if (isOpening(unit)) {
      if (++level > levels) return `is nested deeper than ${levels} levels`;
      if (++opened > containers) return `has more than ${containers} objects and arrays`;
    } else if (isClosing(unit)) level--;
    else if (unit === colon && ++colons > members)
      return `has more than ${members} members in all its objects`;
    else if (unit === comma && ++commas >= values) return `has more than ${values} members and elements`;
  }
  return undefined;
}

/** How many parts are read at most. An object, because `texts.map(membersOf)` would pass an index as a number. */
interface Bound {
  max?: number;
}

/** The elements of an array, as JSON. Reads no further than the first `max`. */
export function elementsOf(array: string, { max = Number.POSITIVE_INFINITY }: Bound = {}): string[] {
  const elements: string[] = [];
  forEachPart(array, (start, end) => elements.push(array.slice(start, end).trim()) < max);
  return elements;
}

/** The members of an object, as JSON. Reads no further than the first `max`. */
export function membersOf(
  object: string,
  { max = Number.POSITIVE_INFINITY }: Bound = {},
): Map<string, string> {
  const members = new Map<string, string>();
  forEachPart(object, (start, end) => {
    const from = object.indexOf('"', start);
    const to = endOfString(object, from);
    members.set(toText(object, from, to), object.slice(object.indexOf(':', to) + 1, end).trim());
    return members.size < max;
  });
  return members;
}

/** A JSON object from members that are JSON already, so that their digits stay. The reverse of `membersOf`. */
export const objectOf = (members: Iterable<readonly [name: string, json: string]>): string =>
  `{${[...members].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;

/** The string between two quotes. */
function toText(text: string, from: number, to: number): string {
  const inner = text.slice(from + 1, to);
  return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner;
}

/** What a parser would change without an error. */
export interface JsonFault {
  /** The names of the members that lead to it, and the indexes of elements. */
  path: string[];
  detail: string;
}

/** A lone surrogate can only come from an escape, because its bytes would not be valid UTF-8. */
export const escapedSurrogate = /\\u[dD][89abAB]|\\u[dD][c-fC-F]/;

/** The first member that repeats another one of its object, or half of a surrogate pair, in valid JSON. */
export function lossyPart(text: string): JsonFault | undefined {
  const hasSurrogates = escapedSurrogate.test(text);
  const levels: { names: Set<string> | undefined; at: string | number }[] = [];
  let level: (typeof levels)[0] | undefined;
  let isName = false;
  const faulty = (detail: string): JsonFault => ({ path: levels.map(({ at }) => String(at)), detail });
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === quote) {
      const end = endOfString(text, i);
      const string = isName || hasSurrogates ? toText(text, i, end) : '';
      i = end;
      if (isName && level?.names !== undefined) {
        level.at = string;
        if (level.names.size === level.names.add(string).size) return faulty('is a duplicate member');
      }
      if (hasSurrogates && !string.isWellFormed())
        return faulty('must be valid Unicode: it holds half of a surrogate pair');
      isName = false;
    } else if (isOpening(unit)) {
      isName = unit === 0x7b;
      level = { names: isName ? new Set() : undefined, at: 0 };
      levels.push(level);
    } else if (isClosing(unit)) {
      levels.pop();
      level = levels.at(-1);
      isName = false;
    } else if (unit === comma && level !== undefined) {
      isName = level.names !== undefined;
      if (typeof level.at === 'number') level.at++;
    }
  }
  return undefined;
}

/** Calls `use` with the range of each element of an array, or member of an object, until it returns false. */
function forEachPart(text: string, use: (start: number, end: number) => boolean): void {
  let depth = 0;
  let start = 0;
  let hasValue = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= space) continue;
    if (isOpening(unit)) {
      if (++depth === 1) start = i + 1;
      else hasValue = true;
    } else if (isClosing(unit)) {
      if (--depth === 0 && hasValue) use(start, i);
    } else if (unit === comma && depth === 1) {
      if (!use(start, i)) return;
      start = i + 1;
    } else {
      hasValue = true;
      if (unit === quote) i = endOfString(text, i);
    }
  }
}

/** The same JSON without white space between its parts. */
export function withoutSpaces(text: string): string {
  let kept = '';
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === quote) i = endOfString(text, i);
    else if (unit <= space) {
      kept += text.slice(start, i);
      start = i + 1;
    }
  }
  return start === 0 ? text : kept + text.slice(start);
}

/** Parses valid JSON. `toNumber` gets the digits of each number. Throws what `JSON.parse` throws. */
export function parseWith(text: string, toNumber: (digits: string) => unknown): unknown {
  JSON.parse(text);
  return new Parser(text, toNumber).read();
}

/** Reads text that is known to be valid. A reviver of `JSON.parse` would take twenty times as long. */
class Parser {
  readonly #text: string;
  readonly #toNumber: (digits: string) => unknown;
  #at = 0;

  constructor(text: string, toNumber: (digits: string) => unknown) {
    this.#text = text;
    this.#toNumber = toNumber;
  }

  read(): unknown {
    switch (this.#next()) {
      case quote:
        return this.#readString();
      case 0x7b:
        return this.#readObject();
      case 0x5b:
        return this.#readArray();
      case 0x74:
        this.#at += 4;
        return true;
      case 0x66:
        this.#at += 5;
        return false;
      case 0x6e:
        this.#at += 4;
        return null;
      default:
        return this.#readNumber();
    }
  }

  /** Skips white space, and returns the next character. */
  #next(): number {
    let unit = this.#text.charCodeAt(this.#at);
    while (unit <= space) unit = this.#text.charCodeAt(++this.#at);
    return unit;
  }

  #readString(): string {
    const start = this.#at;
    const end = endOfString(this.#text, start);
    this.#at = end + 1;
    return toText(this.#text, start, end);
  }

  #readNumber(): unknown {
    const start = this.#at;
    for (;;) {
      const unit = this.#text.charCodeAt(++this.#at);
      // At the end of the text it is NaN.
      if (!(unit > space) || unit === comma || isClosing(unit)) break;
    }
    return this.#toNumber(this.#text.slice(start, this.#at));
  }

  #readArray(): unknown[] {
    const elements: unknown[] = [];
    this.#at++;
    while (!isClosing(this.#next())) {
      elements.push(this.read());
      if (this.#next() === comma) this.#at++;
    }
    this.#at++;
    return elements;
  }

  #readObject(): object {
    const members: Record<string, unknown> = {};
    this.#at++;
    while (!isClosing(this.#next())) {
      const name = this.#readString();
      if (this.#next() === colon) this.#at++;
      const value = this.read();
      // An assignment would set the prototype.
      if (name === '__proto__')
        Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true });
      else members[name] = value;
      if (this.#next() === comma) this.#at++;
    }
    this.#at++;
    return members;
  }
}
