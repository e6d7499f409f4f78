/**
 * `text/csv` (RFC 4180) with a header. NULL is an empty field, and the empty text is `""`. Readers skip empty lines, so a
 * line without a byte is `""` instead: a NULL in a result of one column, and each row of a result without columns.
 */

import type { CsvDelimiter, CsvOptions } from '@datahub/contract/formats';
import type { ColumnKind } from '../../ports/column-kind.ts';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { uniqueNames } from '../column-names.ts';
import { types } from '../values/bson-reader.ts';
import { plainEncoder } from '../values/plain-values.ts';
import {
  type ByteWriter,
  type FieldEncoder,
  type Numbers,
  writeAscii,
  writeRaw,
} from '../values/primitives.ts';
import type { FormatOptions, Open, RowEncoder } from './format.ts';

export function createCsv(): Open<RowEncoder> {
  const known: Encoders = new Map();
  return (out, options) => new CsvEncoder(out, options, known);
}

/** By the form of numbers, the delimiter and the decimal, the encoders of columns by their array. */
type Encoders = Map<string, WeakMap<readonly SinkColumn[], FieldEncoder[]>>;

const byteOrderMark = Buffer.from('\ufeff');
const emptyField = '""';

class CsvEncoder implements RowEncoder {
  readonly #out: ByteWriter;
  readonly #options: FormatOptions;
  readonly #delimiter: CsvDelimiter;
  readonly #known: WeakMap<readonly SinkColumn[], FieldEncoder[]>;
  #encoders: readonly FieldEncoder[] = [];
  /** True if a row can be a line without a byte. */
  #mayBeEmpty = false;

  constructor(out: ByteWriter, options: FormatOptions, known: Encoders) {
    this.#out = out;
    this.#options = options;
    this.#delimiter = options.csv?.delimiter ?? ',';
    const form = `${options.numbers}${this.#delimiter}${options.csv?.decimal}`;
    this.#known = known.get(form) ?? new WeakMap();
    known.set(form, this.#known);
  }

  begin(columns: readonly SinkColumn[]): void {
    const { numbers, added, csv } = this.#options;
    const out = this.#out;
    const known = this.#known.get(columns);
    const encoders = known ?? columns.map(({ kind }) => csvEncoder(kind, numbers, csv));
    if (known === undefined) this.#known.set(columns, encoders);
    this.#encoders = encoders;
    if (csv?.bom) writeRaw(out, byteOrderMark, 0, byteOrderMark.length);
    const names = [...uniqueNames(columns.map(({ name }) => name)), ...added.map(({ name }) => name)];
    this.#mayBeEmpty = names.length <= 1;
    const writeName = fieldEncoder(this.#delimiter);
    for (const [i, name] of names.entries()) {
      if (i > 0) writeAscii(out, this.#delimiter);
      const bytes = Buffer.from(name);
      writeName(out, bytes, 0, bytes.length);
    }
    if (names.length === 0) writeAscii(out, emptyField);
    writeAscii(out, '\r\n');
  }

  row(source: Buffer, offsets: Int32Array): void {
    const out = this.#out;
    const encoders = this.#encoders;
    const from = out.position;
    for (let i = 0; i < encoders.length; i++) {
      if (i > 0) writeAscii(out, this.#delimiter);
      const start = offsets[2 * i] as number;
      if (start >= 0) (encoders[i] as FieldEncoder)(out, source, start, offsets[2 * i + 1] as number);
    }
    if (this.#mayBeEmpty && out.position === from) writeAscii(out, emptyField);
    writeAscii(out, '\r\n');
  }

  end(): void {}
}

/** The encoder of a kind's values as CSV fields. */
export function csvEncoder(kind: ColumnKind, numbers: Numbers, csv: CsvOptions = {}): FieldEncoder {
  const { delimiter = ',', decimal } = csv;
  if (kind.is === 'text') return fieldEncoder(delimiter);
  const plain = plainEncoder(kind, numbers);
  const encode = needQuotes.has(kind.is) ? encodedField(plain, delimiter) : plain;
  if (decimal !== ',' || !mayHaveDecimals.has(kind.is)) return encode;
  const isBson = kind.is === 'bson';
  return delimiter === ',' ? encodedField(withComma(plain, isBson), delimiter) : withComma(encode, isBson);
}

const mayHaveDecimals = new Set<ColumnKind['is']>(['float', 'decimal', 'bson']);

/** Writes a comma in place of the point of a number. */
function withComma(encode: FieldEncoder, isBson: boolean): FieldEncoder {
  return (out, source, start, end) => {
    const from = out.position;
    encode(out, source, start, end);
    if (isBson && source[start] !== types.double && source[start] !== types.decimal) return;
    const at = out.buffer.subarray(from, out.position).indexOf(point);
    if (at !== -1) out.buffer[from + at] = comma;
  };
}

/** The kinds whose texts can have any characters. */
const needQuotes = new Set<ColumnKind['is']>(['binary', 'json', 'array', 'bson']);

const quote = 0x22;
const comma = 0x2c;
const point = 0x2e;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The encoder of a field with the text that `encode` writes. */
function encodedField(encode: FieldEncoder, delimiter: CsvDelimiter): FieldEncoder {
  const mustQuote = quoting[delimiter];
  return (out, source, start, end) => {
    const from = out.position;
    encode(out, source, start, end);
    if (!mustQuote(out.buffer, from, out.position)) return;
    const text = Buffer.from(out.buffer.subarray(from, out.position));
    out.position = from;
    writeQuotedField(out, text, 0, text.length);
  };
}

/** The encoder of a text as a field. */
export function fieldEncoder(delimiter: CsvDelimiter): FieldEncoder {
  const mustQuote = quoting[delimiter];
  return (out, source, start, end) => {
    if (mustQuote(source, start, end)) writeQuotedField(out, source, start, end);
    else writeRaw(out, source, start, end);
  };
}

type MustQuote = (source: Buffer, start: number, end: number) => boolean;

const delimits =
  (delimiter: number): MustQuote =>
  (source, start, end) => {
    for (let i = start; i < end; i++) if (source[i] === delimiter) return true;
    return needsQuotes(source, start, end);
  };

const quoting: Record<CsvDelimiter, MustQuote> = {
  ',': needsQuotes,
  ';': delimits(0x3b),
  '\t': delimits(0x09),
};

function needsQuotes(source: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = source[i] as number;
    if (byte <= comma && (byte === comma || byte === quote || byte === lineFeed || byte === carriageReturn))
      return true;
  }
  return start === end;
}

function writeQuotedField(out: ByteWriter, source: Buffer, start: number, end: number): void {
  let quotes = 2;
  for (let i = start; i < end; i++) if (source[i] === quote) quotes++;
  out.reserve(end - start + quotes);
  const target = out.buffer;
  let at = out.position;
  target[at++] = quote;
  for (let i = start; i < end; i++) {
    const byte = source[i] as number;
    if (byte === quote) target[at++] = quote;
    target[at++] = byte;
  }
  target[at++] = quote;
  out.position = at;
}
