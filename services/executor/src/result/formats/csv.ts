/** `text/csv` (RFC 4180) with a header. NULL is an empty field, and the empty text is `""`. */

import type { ColumnKind } from '../../ports/column-kind.ts';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { uniqueNames } from '../column-names.ts';
import { BsonWriter } from '../values/bson.ts';
import { isoTimestampEncoder } from '../values/iso-times.ts';
import { jsonEncoder } from '../values/json-values.ts';
import { bigintEncoder, integerEncoder, writeDouble, writeFloat } from '../values/little-endian.ts';
import { bitsEncoder, withoutLeadingZeros, writeHexAsBase64 } from '../values/other-bytes.ts';
import { packedDateEncoder, packedTimeEncoder } from '../values/packed-times.ts';
import {
  type ByteWriter,
  type FieldEncoder,
  type Numbers,
  writeAscii,
  writeBase64,
  writeBit,
  writeLetter,
  writeRaw,
} from '../values/primitives.ts';
import type { FormatOptions, Open, RowEncoder } from './format.ts';

export function createCsv(): Open<RowEncoder> {
  const known: Encoders = { auto: new WeakMap(), string: new WeakMap(), number: new WeakMap() };
  return (out, options) => new CsvEncoder(out, options, known);
}

/** The encoders of columns by their array. */
type Encoders = Readonly<Record<Numbers, WeakMap<readonly SinkColumn[], FieldEncoder[]>>>;

class CsvEncoder implements RowEncoder {
  readonly #out: ByteWriter;
  readonly #options: FormatOptions;
  readonly #known: Encoders;
  #encoders: readonly FieldEncoder[] = [];

  constructor(out: ByteWriter, options: FormatOptions, known: Encoders) {
    this.#out = out;
    this.#options = options;
    this.#known = known;
  }

  begin(columns: readonly SinkColumn[]): void {
    const { numbers, added } = this.#options;
    const known = this.#known[numbers].get(columns);
    const encoders = known ?? columns.map(({ kind }) => csvEncoder(kind, numbers));
    if (known === undefined) this.#known[numbers].set(columns, encoders);
    this.#encoders = encoders;
    const names = uniqueNames(columns.map(({ name }) => name));
    for (const [i, name] of [...names, ...added.map((column) => column.name)].entries()) {
      if (i > 0) writeAscii(this.#out, ',');
      const bytes = Buffer.from(name);
      writeField(this.#out, bytes, 0, bytes.length);
    }
    writeAscii(this.#out, '\r\n');
  }

  row(source: Buffer, offsets: Int32Array): void {
    const out = this.#out;
    const encoders = this.#encoders;
    for (let i = 0; i < encoders.length; i++) {
      if (i > 0) writeAscii(out, ',');
      const start = offsets[2 * i] as number;
      if (start >= 0) (encoders[i] as FieldEncoder)(out, source, start, offsets[2 * i + 1] as number);
    }
    writeAscii(out, '\r\n');
  }

  end(): void {}
}

/** The encoder of a kind's values as CSV fields. A kind that is missing does not compile. */
export function csvEncoder(kind: ColumnKind, numbers: Numbers): FieldEncoder {
  switch (kind.is) {
    case 'boolean':
      return kind.bytes === 'letter' ? writeLetter : writeBit;
    case 'integer':
      if (kind.bytes === 'digits') return writeRaw;
      if (kind.bits === 64) return bigintEncoder(kind.isUnsigned, 'none');
      return integerEncoder(kind.bits, kind.isUnsigned);
    case 'float':
      if (kind.bytes === 'digits') return writeRaw;
      return kind.bits === 32 ? writeFloat : writeDouble;
    case 'decimal':
      return kind.isPadded ? withoutLeadingZeros(writeRaw) : writeRaw;
    case 'date':
      return kind.bytes === 'iso' ? writeRaw : packedDateEncoder(undefined, 'plain');
    case 'time':
      return kind.bytes === 'iso' ? writeRaw : packedTimeEncoder('plain');
    case 'timestamp':
      if (kind.bytes === 'iso') return isoTimestampEncoder(kind.hasZone, 'plain');
      return packedDateEncoder(kind.hasZone ? 'Z' : '', 'plain');
    case 'bits':
      return bitsEncoder(kind.width);
    case 'binary':
      return asField(kind.bytes === 'raw' ? writeBase64 : writeHexAsBase64);
    case 'text':
      return writeField;
    case 'ascii':
      return writeRaw;
    case 'json':
    case 'array':
      return asField(jsonEncoder(kind, numbers));
    case 'bson':
      return asField(new BsonWriter(numbers, 'plain').element);
  }
}

const quote = 0x22;
const comma = 0x2c;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The encoder of a field with the text that `encode` writes. */
function asField(encode: FieldEncoder): FieldEncoder {
  return (out, source, start, end) => {
    const from = out.position;
    encode(out, source, start, end);
    if (!needsQuotes(out.buffer, from, out.position)) return;
    const text = Buffer.from(out.buffer.subarray(from, out.position));
    out.position = from;
    writeQuotedField(out, text, 0, text.length);
  };
}

/** Writes a text as a field. */
export function writeField(out: ByteWriter, source: Buffer, start: number, end: number): void {
  if (needsQuotes(source, start, end)) writeQuotedField(out, source, start, end);
  else writeRaw(out, source, start, end);
}

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
