/** `application/json`: one object with the rows in `data`. */

import type { SinkColumn } from '../../ports/row-sink.ts';
import { uniqueNames } from '../column-names.ts';
import { BsonWriter } from '../values/bson.ts';
import { jsonEncoder } from '../values/json-values.ts';
import {
  type ByteWriter,
  type FieldEncoder,
  type Numbers,
  writeAscii,
  writeNull,
  writeText,
} from '../values/primitives.ts';
import type { DocumentEncoder, FormatOptions, Open, ResponseEnd } from './format.ts';

export function createJson(): Open<DocumentEncoder> {
  const layouts = createLayouts();
  return (out, options) =>
    options.allResults ? new ResultsEncoder(out, options, layouts) : new JsonEncoder(out, options, layouts);
}

class JsonEncoder implements DocumentEncoder {
  readonly #out: ByteWriter;
  readonly #options: FormatOptions;
  readonly #rows: JsonRows;
  #columns: readonly SinkColumn[] = [];
  #isFirst = true;

  constructor(out: ByteWriter, options: FormatOptions, layouts: Layouts) {
    this.#out = out;
    this.#options = options;
    this.#rows = new JsonRows(out, options.numbers, layouts);
  }

  begin(columns: readonly SinkColumn[]): void {
    this.#columns = columns;
    this.#rows.begin(columns);
    writeAscii(this.#out, '{"data":[');
  }

  row(source: Buffer, offsets: Int32Array): void {
    this.#separate();
    this.#rows.row(source, offsets);
  }

  document(source: Buffer, start: number): void {
    this.#separate();
    this.#rows.document(source, start);
  }

  #separate(): void {
    if (this.#isFirst) this.#isFirst = false;
    else {
      const out = this.#out;
      out.reserve(1);
      out.buffer[out.position++] = 0x2c;
    }
  }

  end(end: ResponseEnd): void {
    const out = this.#out;
    writeAscii(out, ']');
    writeMarks(out, end);
    if (this.#options.meta) {
      writeAscii(out, ',"meta":{');
      writeColumns(out, [...this.#rows.namedTypes(this.#columns), ...this.#options.added]);
      writeAscii(out, `,${figuresOf(end)}}`);
    }
    writeAscii(out, '}');
  }
}

/** Writes `{"results":[{"columns":[…],"rows":[…]},…]}`. */
class ResultsEncoder implements DocumentEncoder {
  readonly #out: ByteWriter;
  readonly #hasMeta: boolean;
  readonly #rows: JsonRows;
  #results = 0;
  /** In the present result. */
  #rowCount = 0;

  constructor(out: ByteWriter, options: FormatOptions, layouts: Layouts) {
    this.#out = out;
    this.#hasMeta = options.meta;
    this.#rows = new JsonRows(out, options.numbers, layouts);
  }

  begin(columns: readonly SinkColumn[]): void {
    const out = this.#out;
    writeAscii(out, this.#results === 0 ? '{"results":[{' : ']},{');
    this.#results++;
    this.#rowCount = 0;
    this.#rows.begin(columns);
    writeColumns(out, this.#rows.namedTypes(columns));
    writeAscii(out, ',"rows":[');
  }

  row(source: Buffer, offsets: Int32Array): void {
    if (this.#rowCount++ > 0) writeAscii(this.#out, ',');
    this.#rows.row(source, offsets);
  }

  document(source: Buffer, start: number): void {
    if (this.#rowCount++ > 0) writeAscii(this.#out, ',');
    this.#rows.document(source, start);
  }

  end(end: ResponseEnd): void {
    const out = this.#out;
    writeAscii(out, ']}]');
    writeMarks(out, end);
    writeAscii(out, this.#hasMeta ? `,"meta":{${figuresOf(end)}}}` : '}');
  }
}

function writeMarks(out: ByteWriter, { truncated, moreResults }: ResponseEnd): void {
  if (truncated) writeAscii(out, ',"truncated":true');
  if (moreResults) writeAscii(out, ',"moreResults":true');
}

function writeColumns(out: ByteWriter, columns: readonly { name: string; type: string }[]): void {
  writeAscii(out, '"columns":[');
  for (const [i, { name, type }] of columns.entries()) {
    writeAscii(out, i === 0 ? '{"name":' : ',{"name":');
    writeText(out, name);
    writeAscii(out, ',"type":');
    writeText(out, type);
    writeAscii(out, '}');
  }
  writeAscii(out, ']');
}

function figuresOf({ rowCount, durationMs, queueMs }: ResponseEnd): string {
  const round = (ms: number) => Math.round(ms * 1_000) / 1_000;
  return `"rowCount":${rowCount},"durationMs":${round(durationMs)},"queueMs":${round(queueMs)}`;
}

/** Writes rows as JSON objects. */
export class JsonRows {
  readonly #out: ByteWriter;
  readonly #numbers: Numbers;
  readonly #layouts: Layouts;
  #layout: RowLayout = noLayout;
  #documents: BsonWriter | undefined;

  constructor(out: ByteWriter, numbers: Numbers, layouts: Layouts) {
    this.#out = out;
    this.#numbers = numbers;
    this.#layouts = layouts;
  }

  /** The columns of `begin` by their unique names. */
  namedTypes(columns: readonly SinkColumn[]): { name: string; type: string }[] {
    return columns.map(({ type }, i) => ({ name: this.#layout.names[i] as string, type }));
  }

  begin(columns: readonly SinkColumn[]): void {
    const known = this.#layouts[this.#numbers].get(columns);
    this.#layout = known ?? createLayout(columns, this.#numbers);
    if (known === undefined) this.#layouts[this.#numbers].set(columns, this.#layout);
  }

  row(source: Buffer, offsets: Int32Array): void {
    const out = this.#out;
    const { encoders, prefixes } = this.#layout;
    if (encoders.length === 0) writeAscii(out, '{');
    for (let i = 0; i < encoders.length; i++) {
      writePrefix(out, prefixes[i] as Prefix);
      const start = offsets[2 * i] as number;
      if (start < 0) writeNull(out);
      else (encoders[i] as FieldEncoder)(out, source, start, offsets[2 * i + 1] as number);
    }
    out.reserve(1);
    out.buffer[out.position++] = 0x7d;
  }

  document(source: Buffer, start: number): void {
    this.#documents ??= new BsonWriter(this.#numbers, 'json');
    this.#documents.document(this.#out, source, start);
  }
}

/** UTF-8 bytes in little-endian 32-bit words. The last word is padded with zeros. */
interface Prefix {
  words: Int32Array;
  bytes: number;
}

/** What all rows of a response share. */
interface RowLayout {
  /** The names of the columns, made unique. */
  names: readonly string[];
  encoders: readonly FieldEncoder[];
  /** The bytes before each field of an object: a brace or comma, and the member's name. */
  prefixes: readonly Prefix[];
}

const noLayout: RowLayout = { names: [], encoders: [], prefixes: [] };
/** Layouts by column array. */
export type Layouts = Readonly<Record<Numbers, WeakMap<readonly SinkColumn[], RowLayout>>>;

export const createLayouts = (): Layouts => ({
  auto: new WeakMap(),
  string: new WeakMap(),
  number: new WeakMap(),
});

function createLayout(columns: readonly SinkColumn[], numbers: Numbers): RowLayout {
  const names = uniqueNames(columns.map(({ name }) => name));
  return {
    names,
    encoders: columns.map(({ kind }) => jsonEncoder(kind, numbers)),
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

/** Writes whole words; the next bytes overwrite the padding. */
function writePrefix(out: ByteWriter, { words, bytes }: Prefix): void {
  out.reserve(bytes + 4);
  const { view } = out;
  let at = out.position;
  for (let i = 0; i < words.length; i++, at += 4) view.setInt32(at, words[i] as number, true);
  out.position += bytes;
}
