/** What stands around the fields of each row of an answer. */

import { uniqueNames } from './column-names.ts';
import type { FieldEncoder, RowFormat, SinkColumn } from './row-sink.ts';

export interface RowLayout {
  /** Of the columns in the answer, each once. */
  names: string[];
  encoders: FieldEncoder[];
  /** What stands before each field: brace or comma, and the member's name. */
  prefixes: Buffer[];
}

/** Engines that know a statement's columns give the same ones each time it runs. */
const objects = new WeakMap<readonly SinkColumn[], RowLayout>();
const lines = new WeakMap<readonly SinkColumn[], RowLayout>();

/** `columns` must not change afterwards. */
export function layoutOf(columns: readonly SinkColumn[], format: RowFormat): RowLayout {
  const layouts = format === 'csv' ? lines : objects;
  const known = layouts.get(columns);
  if (known !== undefined) return known;
  const layout = createLayout(columns, format);
  layouts.set(columns, layout);
  return layout;
}

function createLayout(columns: readonly SinkColumn[], format: RowFormat): RowLayout {
  const names = uniqueNames(columns.map(({ name }) => name));
  const prefixOf = (name: string, i: number): string => {
    if (format === 'csv') return i === 0 ? '' : ',';
    return `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`;
  };
  return {
    names,
    encoders: columns.map(({ encode }) => encode),
    prefixes: names.map((name, i) => Buffer.from(prefixOf(name, i))),
  };
}
