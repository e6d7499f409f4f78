/** Finds elements in BSON (bsonspec.org) without decoding their values. Inconsistent lengths throw a RangeError. */

import { elementsMax, tooManyElements } from './elements.ts';

export const types = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  pointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  scopedCode: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal: 0x13,
  maxKey: 0x7f,
  minKey: 0xff,
} as const;

/** The names of types that MongoDB's `$type` uses. */
export const typeNames: Record<number, string> = {
  1: 'double',
  2: 'string',
  3: 'object',
  4: 'array',
  5: 'binData',
  6: 'undefined',
  7: 'objectId',
  8: 'bool',
  9: 'date',
  10: 'null',
  11: 'regex',
  12: 'dbPointer',
  13: 'javascript',
  14: 'symbol',
  15: 'javascriptWithScope',
  16: 'int',
  17: 'timestamp',
  18: 'long',
  19: 'decimal',
  127: 'maxKey',
  255: 'minKey',
};

/** The sizes of types whose size does not depend on the value. */
export const fixedSizes: Record<number, number> = {
  [types.double]: 8,
  [types.undefined]: 0,
  [types.objectId]: 12,
  [types.boolean]: 1,
  [types.date]: 8,
  [types.null]: 0,
  [types.int32]: 4,
  [types.timestamp]: 8,
  [types.int64]: 8,
  [types.decimal]: 16,
  [types.maxKey]: 0,
  [types.minKey]: 0,
};

/** The number of bytes that the length of a value does not count. */
export const countedSizes: Record<number, number> = {
  [types.string]: 4,
  [types.document]: 0,
  [types.array]: 0,
  [types.binary]: 5,
  [types.pointer]: 16,
  [types.code]: 4,
  [types.symbol]: 4,
  [types.scopedCode]: 0,
};

/** Returns the end of the document at `start`, exclusive. */
export function documentEnd(source: Buffer, start: number, limit: number): number {
  const end = start + source.readInt32LE(start);
  if (end < start + 5 || end > limit || source[end - 1] !== 0) throw misfit();
  return end;
}

/** Returns the position of the zero byte that ends a C string. */
export function textEnd(source: Buffer, start: number, limit: number): number {
  const end = source.indexOf(0, start);
  if (end < 0 || end >= limit) throw misfit();
  return end;
}

export function valueEnd(type: number, source: Buffer, start: number, limit: number): number {
  const end = start + sizeOf(type, source, start, limit);
  if (end < start || end > limit) throw misfit();
  return end;
}

function sizeOf(type: number, source: Buffer, start: number, limit: number): number {
  const fixed = fixedSizes[type];
  if (fixed !== undefined) return fixed;
  const around = countedSizes[type];
  if (around !== undefined) {
    const counted = source.readInt32LE(start);
    if (counted < 0) throw misfit();
    return counted + around;
  }
  if (type !== types.regex) throw misfit();
  return textEnd(source, textEnd(source, start, limit) + 1, limit) + 1 - start;
}

export interface Element {
  type: number;
  /** The position of the type byte. The name follows it. */
  start: number;
  nameEnd: number;
  /** The position of the value. */
  at: number;
  end: number;
}

/**
 * Calls `onElement` for each element in order until it returns false. The object passed to it is reused. `from` is the
 * position of the first one, if it is not that of the document.
 */
export function eachElement(
  source: Buffer,
  start: number,
  onElement: (element: Element) => boolean,
  from = start + 4,
): void {
  const end = documentEnd(source, start, source.length) - 1;
  const element: Element = { type: 0, start: 0, nameEnd: 0, at: from, end: from };
  while (element.end < end) {
    element.start = element.end;
    element.type = source[element.start] as number;
    element.nameEnd = textEnd(source, element.start + 1, end);
    element.at = element.nameEnd + 1;
    element.end = valueEnd(element.type, source, element.at, end);
    if (!onElement(element)) return;
  }
}

export interface Slicing {
  /** Returns false if it wants no more elements. */
  onElement(element: Element): boolean;
  /** True if a slice ends with this element. */
  endsSlice(element: Element): boolean;
}

/** Calls `onElement` for each element in order, and yields between slices of them. */
export function* inSlices(
  source: Buffer,
  start: number,
  { onElement, endsSlice }: Slicing,
): Generator<void, void, void> {
  for (let from: number | undefined = start + 4; from !== undefined; ) {
    let next: number | undefined;
    const take = (element: Element): boolean => {
      if (!onElement(element)) return false;
      if (endsSlice(element)) next = element.end;
      return next === undefined;
    };
    eachElement(source, start, take, from);
    from = next;
    if (from !== undefined) yield;
  }
}

/** Ends a slice with each element that completes another `count` of them. */
export function everyElements(count: number): () => boolean {
  let seen = 0;
  return () => ++seen % count === 0;
}

/** The replies of servers have some twenty members. Far more would block the process. */
const membersMax = 1_000;

/**
 * Returns a copy of the element with this name in a part of a reply; undefined if there is none. Throws for a part with
 * too many other ones.
 */
export function findElement(source: Buffer, start: number, name: string): Element | undefined {
  let found: Element | undefined;
  let seen = 0;
  eachElement(source, start, (element) => {
    if (++seen > membersMax) throw misfit();
    if (nameOf(source, element) !== name) return true;
    found = { ...element };
    return false;
  });
  return found;
}

/**
 * Returns a function that finds the elements with these names, the last one of a repeated name. Only names that may be
 * among them are decoded, because a document can have a million. Throws RESULT_TOO_LARGE for more than a row may have.
 */
export function createFinder(
  names: readonly string[],
): (source: Buffer, start: number) => Map<string, Element> {
  const wanted = new Set(names);
  const lengths = new Set(names.map((name) => Buffer.byteLength(name)));
  return (source, start) => {
    const found = new Map<string, Element>();
    let seen = 0;
    eachElement(source, start, (element) => {
      if (++seen > elementsMax) throw tooManyElements();
      if (!lengths.has(element.nameEnd - element.start - 1)) return true;
      const name = nameOf(source, element);
      if (wanted.has(name)) found.set(name, { ...element });
      return true;
    });
    return found;
  };
}

/** The same for one that must be there, with this type. Throws if it is not. */
export function requireElement(
  source: Buffer,
  start: number,
  { name, type }: { name: string; type: number },
): Element {
  const found = findElement(source, start, name);
  if (found?.type !== type) throw misfit();
  return found;
}

export const nameOf = (source: Buffer, { start, nameEnd }: Element) =>
  source.toString('utf8', start + 1, nameEnd);

export function misfit(): RangeError {
  return new RangeError('The BSON document has an inconsistent length.');
}
