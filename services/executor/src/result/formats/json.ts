/** `application/json`: one object with the rows in `data`. */

import { anyJson, type JsonType } from '@datahub/contract/json-types';
import type { ColumnKind } from '../../ports/column-kind.ts';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { uniqueNames } from '../column-names.ts';
import { arrayEncoder } from '../values/arrays.ts';
import { BsonWriter } from '../values/bson.ts';
import type { ByteWriter } from '../values/byte-writer.ts';
import { isoTimestampEncoder } from '../values/iso-times.ts';
import { bigintEncoder, integerEncoder, writeDouble, writeFloat } from '../values/little-endian.ts';
import { bitsEncoder, withoutLeadingZeros, writeHexAsBase64 } from '../values/other-bytes.ts';
import { packedDateEncoder, packedTimeEncoder } from '../values/packed-times.ts';
import {
  type FieldEncoder,
  inQuotes,
  type Numbers,
  writeAscii,
  writeBase64,
  writeBit,
  writeDigits,
  writeJson,
  writeLetter,
  writeNull,
  writeQuoted,
  writeRaw,
  writeString,
  writeText,
} from '../values/primitives.ts';
import type { DocumentEncoder, FormatOptions, Open, ResponseEnd } from './format.ts';

export function createJson(): Open<DocumentEncoder> {
  const layouts = createLayouts();
  return (out, options) => new JsonEncoder(out, options, layouts);
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
    if (end.truncated) writeAscii(out, ',"truncated":true');
    if (this.#options.meta) this.#writeMeta(end);
    writeAscii(out, '}');
  }

  #writeMeta({ rowCount, queueMs, durationMs }: ResponseEnd): void {
    const out = this.#out;
    writeAscii(out, ',"meta":{"columns":[');
    const columns = this.#columns.map(({ type }, i) => ({ name: this.#rows.names[i] as string, type }));
    for (const [i, { name, type }] of [...columns, ...this.#options.added].entries()) {
      writeAscii(out, i === 0 ? '{"name":' : ',{"name":');
      writeText(out, name);
      writeAscii(out, ',"type":');
      writeText(out, type);
      writeAscii(out, '}');
    }
    const round = (ms: number) => Math.round(ms * 1_000) / 1_000;
    writeAscii(
      out,
      `],"rowCount":${rowCount},"durationMs":${round(durationMs)},"queueMs":${round(queueMs)}}`,
    );
  }
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

  get names(): readonly string[] {
    return this.#layout.names;
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

const quotedBigints = { auto: 'long', string: 'all', number: 'none' } as const satisfies Record<
  Numbers,
  string
>;

/** The encoder of a kind's values as JSON. A kind that is missing does not compile. */
export function jsonEncoder(kind: ColumnKind, numbers: Numbers): FieldEncoder {
  switch (kind.is) {
    case 'boolean':
      return kind.bytes === 'letter' ? writeLetter : writeBit;
    case 'integer':
      if (kind.bits === 53) return writeRaw;
      if (kind.bits !== 64)
        return kind.bytes === 'digits' ? writeRaw : integerEncoder(kind.bits, kind.isUnsigned);
      if (kind.bytes === 'digits') return writeDigits[numbers];
      return bigintEncoder(kind.isUnsigned, quotedBigints[numbers]);
    case 'float':
      if (kind.bytes === 'digits') return writeFloatDigits;
      return kind.bits === 32 ? writeFloat : writeDouble;
    case 'decimal': {
      const write = writeDigits[numbers];
      return kind.isPadded ? withoutLeadingZeros(write) : write;
    }
    case 'date':
      return kind.bytes === 'iso' ? writeQuoted : packedDateEncoder(undefined, 'json');
    case 'time':
      return kind.bytes === 'iso' ? writeQuoted : packedTimeEncoder('json');
    case 'timestamp':
      if (kind.bytes === 'iso') return isoTimestampEncoder(kind.hasZone, 'json');
      return packedDateEncoder(kind.hasZone ? 'Z' : '', 'json');
    case 'bits':
      return inQuotes(bitsEncoder(kind.width));
    case 'binary':
      return inQuotes(kind.bytes === 'raw' ? writeBase64 : writeHexAsBase64);
    case 'text':
      return writeString;
    case 'ascii':
      return writeQuoted;
    case 'json':
      return kind.mayBeInvalid ? writeCheckedJson : writeJson;
    case 'array':
      return arrayEncoder(jsonEncoder(kind.element, numbers));
    case 'bson':
      return new BsonWriter(numbers, 'json').element;
  }
}

/** The JSON types of a kind's values, apart from null. */
export function jsonTypeOf(kind: ColumnKind): JsonType {
  switch (kind.is) {
    case 'boolean':
    case 'array':
      return kind.is;
    case 'integer':
      return kind.bits === 64 ? 'number|string' : 'number';
    case 'float':
      return kind.bytes === 'digits' ? 'number|string' : 'number';
    case 'decimal':
      return 'number|string';
    case 'json':
    case 'bson':
      return anyJson;
    default:
      return 'string';
  }
}

/**
 * The server sends the shortest digits that round-trip. NaN and the infinities become strings, because JSON has no such
 * numbers.
 */
const writeFloatDigits: FieldEncoder = (out, source, start, end) => {
  const last = source[end - 1] as number;
  const isNumber = last >= 0x30 && last <= 0x39;
  if (isNumber) writeRaw(out, source, start, end);
  else writeQuoted(out, source, start, end);
};

/**
 * Writes invalid JSON as a string, because MariaDB's JSON columns may contain it (`1.`, its own escapes, unchecked
 * text).
 */
const writeCheckedJson: FieldEncoder = (out, source, start, end) => {
  try {
    JSON.parse(source.toString('utf8', start, end));
  } catch {
    writeString(out, source, start, end);
    return;
  }
  writeJson(out, source, start, end);
};

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
