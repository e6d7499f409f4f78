/** What stands around the fields of each row of an answer. */

import type { FieldEncoder, SinkColumn } from '../row-sink.ts';
import type { ByteWriter } from './byte-writer.ts';
import { uniqueNames } from './column-names.ts';

/** UTF-8, four bytes a word with the first in the lowest place; zeros after the end. */
export interface Prefix {
  words: Int32Array;
  bytes: number;
}

export interface RowLayout {
  /** Of the columns in the answer, each once. */
  names: string[];
  encoders: FieldEncoder[];
  /** What stands before each field of an object: brace or comma, and the member's name. */
  prefixes: Prefix[];
}

/** Engines that know a statement's columns give the same ones each time it runs. */
const layouts = new WeakMap<readonly SinkColumn[], RowLayout>();

/** `columns` must not change afterwards. */
export function layoutOf(columns: readonly SinkColumn[]): RowLayout {
  const known = layouts.get(columns);
  if (known !== undefined) return known;
  const layout = createLayout(columns);
  layouts.set(columns, layout);
  return layout;
}

function createLayout(columns: readonly SinkColumn[]): RowLayout {
  const names = uniqueNames(columns.map(({ name }) => name));
  return {
    names,
    encoders: columns.map(({ encode }) => encode),
    prefixes: names.map((name, i) => toPrefix(`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)),
  };
}

function toPrefix(text: string): Prefix {
  const bytes = Buffer.byteLength(text);
  const padded = Buffer.alloc(Math.ceil(bytes / 4) * 4);
  padded.write(text);
  return {
    words: Int32Array.from({ length: padded.length / 4 }, (_, i) => padded.readInt32LE(4 * i)),
    bytes,
  };
}

/** In whole words: what the last one has too much is written over. */
export function writePrefix(out: ByteWriter, { words, bytes }: Prefix): void {
  out.reserve(bytes + 4);
  const { view } = out;
  let at = out.position;
  for (let i = 0; i < words.length; i++, at += 4) view.setInt32(at, words[i] as number, true);
  out.position += bytes;
}
