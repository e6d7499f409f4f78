/**
 * Collects the values of a column in Arrow's memory layout, from the database's bytes. Arrow is little-endian, as are
 * all processors that Node has releases for.
 */

import { type ArrowType, types } from '@datahub/executor-session/arrow-messages';
import type { BinaryKind, ColumnKind } from '../../ports/column-kind.ts';
import { jsonEncoder } from '../values/json-values.ts';
import { bitsEncoder, looseDigits, writeHexAsBytes } from '../values/other-bytes.ts';
import { ByteWriter, type FieldEncoder, type Numbers, writeRaw } from '../values/primitives.ts';
import { putBinaryShort, putBinaryWord, putBinaryWords, writeBinaryUuid } from './binary.ts';
import {
  decimalPut,
  decimalWords,
  type Place,
  type Put,
  putInteger,
  readDouble,
  readShort,
} from './numbers.ts';
import { datePut, putDuration, timePut, timestampPut } from './times.ts';

export abstract class ArrowColumn {
  readonly type: ArrowType;
  nulls = 0;
  /** Bits of the rows that have a value. All are set until the first NULL. */
  #valid: Buffer | undefined;
  #rowsMax = 0;

  constructor(type: ArrowType) {
    this.type = type;
  }

  /** Makes room for `rows` rows. */
  grow(rows: number): void {
    this.#rowsMax = rows;
    if (this.#valid !== undefined) this.#valid = Buffer.concat([this.#valid, allValid(rows)], rows / 8);
  }

  /** Adds a value that is not NULL. Returns false if the type has no such value. */
  abstract append(row: number, source: Buffer, start: number, end: number): boolean;

  appendNull(row: number): void {
    this.#valid ??= allValid(this.#rowsMax);
    (this.#valid[row >> 3] as number) &= ~(1 << (row & 7));
    this.nulls++;
  }

  /** The buffers of a batch with this many rows. They are valid until the next value. */
  buffers(rows: number): Buffer[] {
    const valid = this.nulls === 0 ? nothing : (this.#valid as Buffer).subarray(0, (rows + 7) >> 3);
    return [valid, ...this.values(rows)];
  }

  protected abstract values(rows: number): Buffer[];

  /** Gives up the room for rows. There must be none. */
  abstract release(): void;

  /** Removes all rows. */
  clear(): void {
    this.nulls = 0;
    this.#valid = undefined;
  }
}

const nothing = Buffer.alloc(0);
const allValid = (rows: number): Buffer => Buffer.alloc(rows / 8, 0xff);

interface NumberArray {
  readonly buffer: ArrayBufferLike;
  readonly BYTES_PER_ELEMENT: number;
  set(from: this): void;
  fill(value: number, start: number, end: number): this;
}

interface Fixed<A> {
  create(length: number): A;
  /** The number of elements of a value. */
  width: number;
  put: Put<A>;
}

/** Values of one size. */
class FixedColumn<A extends NumberArray> extends ArrowColumn {
  readonly #create: (length: number) => A;
  /** The number of elements of a value. */
  readonly #width: number;
  readonly #put: Put<A>;
  readonly #to: Place<A>;

  constructor(type: ArrowType, { create, width, put }: Fixed<A>) {
    super(type);
    this.#create = create;
    this.#width = width;
    this.#put = put;
    this.#to = { array: create(0), at: 0 };
  }

  override grow(rows: number): void {
    super.grow(rows);
    const grown = this.#create(rows * this.#width);
    grown.set(this.#to.array);
    this.#to.array = grown;
  }

  append(row: number, source: Buffer, start: number, end: number): boolean {
    this.#to.at = row * this.#width;
    const fits = this.#put(this.#to, source, start, end);
    if (fits === null) this.appendNull(row);
    return fits !== false;
  }

  override appendNull(row: number): void {
    super.appendNull(row);
    this.#to.array.fill(0, row * this.#width, (row + 1) * this.#width);
  }

  release(): void {
    this.#to.array = this.#create(0);
  }

  protected values(rows: number): Buffer[] {
    const { buffer, BYTES_PER_ELEMENT: bytes } = this.#to.array;
    return [Buffer.from(buffer as ArrayBuffer, 0, rows * this.#width * bytes)];
  }
}

class BooleanColumn extends ArrowColumn {
  readonly #isTrue: (source: Buffer, start: number, end: number) => boolean;
  #bits = nothing;

  constructor(isTrue: (source: Buffer, start: number, end: number) => boolean) {
    super(types.bool);
    this.#isTrue = isTrue;
  }

  override grow(rows: number): void {
    super.grow(rows);
    this.#bits = Buffer.concat([this.#bits], rows / 8);
  }

  append(row: number, source: Buffer, start: number, end: number): boolean {
    if (this.#isTrue(source, start, end)) (this.#bits[row >> 3] as number) |= 1 << (row & 7);
    return true;
  }

  release(): void {
    this.#bits = nothing;
  }

  protected values(rows: number): Buffer[] {
    return [this.#bits.subarray(0, (rows + 7) >> 3)];
  }

  override clear(): void {
    super.clear();
    this.#bits.fill(0);
  }
}

/** Of a buffer. The next one begins with as many as the last batch had, up to a limit. */
const bytesAtFirst = 1_024;
const bytesAtOnceMax = 262_144;

/** Texts and bytes. */
class VariableColumn extends ArrowColumn {
  protected readonly out = new ByteWriter(bytesAtFirst);
  readonly #encode: FieldEncoder;
  #offsets = new Int32Array(1);

  constructor(type: ArrowType, encode: FieldEncoder) {
    super(type);
    this.#encode = encode;
  }

  override grow(rows: number): void {
    super.grow(rows);
    const grown = new Int32Array(rows + 1);
    grown.set(this.#offsets);
    this.#offsets = grown;
  }

  append(row: number, source: Buffer, start: number, end: number): boolean {
    this.#encode(this.out, source, start, end);
    this.#offsets[row + 1] = this.out.position;
    return true;
  }

  override appendNull(row: number): void {
    super.appendNull(row);
    this.#offsets[row + 1] = this.out.position;
  }

  release(): void {
    this.#offsets = new Int32Array(1);
  }

  protected values(rows: number): Buffer[] {
    const { out } = this;
    return [Buffer.from(this.#offsets.buffer, 0, 4 * (rows + 1)), out.buffer.subarray(0, out.position)];
  }

  override clear(): void {
    super.clear();
    // A long value keeps no memory: the next rows may wait for a slow reader.
    this.out.take(Math.min(Math.max(this.out.position, bytesAtFirst), bytesAtOnceMax));
  }
}

/** Documents and arrays as JSON. */
class JsonColumn extends VariableColumn {
  readonly #row: Pick<ByteWriter, 'elements'>;

  constructor(encode: FieldEncoder, row: Pick<ByteWriter, 'elements'>) {
    super(types.json, encode);
    this.#row = row;
  }

  override append(row: number, source: Buffer, start: number, end: number): boolean {
    this.out.elements = this.#row.elements;
    const fits = super.append(row, source, start, end);
    this.#row.elements = this.out.elements;
    return fits;
  }
}

/**
 * The column of a kind. A kind that is missing does not compile. Undefined for values without a common type. `row` counts
 * the elements of documents and arrays in all columns of a row.
 */
export function arrowColumn(
  kind: ColumnKind | BinaryKind,
  numbers: Numbers,
  row: Pick<ByteWriter, 'elements'>,
): ArrowColumn | undefined {
  switch (kind.is) {
    case 'boolean':
      return new BooleanColumn(kind.bytes === 'letter' ? isLetter : isBit);
    case 'integer':
      return integerColumn(kind);
    case 'float':
      return floatColumn(kind);
    case 'decimal':
      return decimalColumn(kind);
    case 'date':
      return new FixedColumn(types.date, {
        create: int32s,
        width: 1,
        put: datePut(kind.bytes),
      });
    case 'time':
      return kind.bytes === 'packed'
        ? wordsColumn(types.duration, putDuration)
        : wordsColumn(types.time, timePut(kind.bytes));
    case 'timestamp':
      return wordsColumn(kind.hasZone ? types.instant : types.timestamp, timestampPut(kind));
    case 'bits':
      return new VariableColumn(types.utf8, bitsEncoder(kind));
    case 'binary':
      return new VariableColumn(types.binary, kind.bytes === 'raw' ? writeRaw : writeHexAsBytes);
    case 'text':
    case 'ascii':
      return new VariableColumn(types.utf8, writeRaw);
    case 'uuid':
      return new VariableColumn(types.utf8, writeBinaryUuid);
    case 'json':
    case 'array':
      return new JsonColumn(jsonEncoder(kind, numbers), row);
    case 'bson':
      return undefined;
  }
}

const isLetter = (source: Buffer, start: number) => source[start] === 0x74;
const isBit = (source: Buffer, _start: number, end: number) => ((source[end - 1] as number) & 1) === 1;

type Kind<Is extends ColumnKind['is']> = Extract<ColumnKind | BinaryKind, { is: Is }>;

const int16s = (length: number) => new Int16Array(length);
const int32s = (length: number) => new Int32Array(length);
const wordsColumn = (type: ArrowType, put: Put<Int32Array>) =>
  new FixedColumn(type, { create: int32s, width: 2, put });

function integerColumn({ bits, isUnsigned, bytes }: Kind<'integer'>): ArrowColumn {
  if (bytes === 'big-endian') return bigEndianColumn(types.int(bits, !isUnsigned), bits);
  if (bits === 64)
    return wordsColumn(types.int(64, !isUnsigned), bytes === 'digits' ? putInteger : copyWords);
  const put = bytes === 'digits' ? putShort : littleEndianPut(bits, isUnsigned);
  return numberColumn(types.int(bits, !isUnsigned), integerArray(bits, isUnsigned), put);
}

/** Arrays of words store floats and unsigned numbers, too. */
function bigEndianColumn(type: ArrowType, bits: 16 | 32 | 64): ArrowColumn {
  if (bits === 64) return wordsColumn(type, putBinaryWords);
  return bits === 32
    ? new FixedColumn(type, { create: int32s, width: 1, put: putBinaryWord })
    : new FixedColumn(type, { create: int16s, width: 1, put: putBinaryShort });
}

function integerArray(bits: 8 | 16 | 32, isUnsigned: boolean): (length: number) => FillableArray {
  const arrays = isUnsigned
    ? { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array }
    : { 8: Int8Array, 16: Int16Array, 32: Int32Array };
  const type = arrays[bits];
  return (length) => new type(length);
}

type FillableArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

const numberColumn = (
  type: ArrowType,
  create: (length: number) => FillableArray,
  put: Put<FillableArray>,
): ArrowColumn =>
  new FixedColumn<FillableArray & NumberArray>(type, {
    create: create as (length: number) => FillableArray & NumberArray,
    width: 1,
    put,
  });

function littleEndianPut(bits: 8 | 16 | 32, isUnsigned: boolean): Put<FillableArray> {
  // The array stores the same 32 bits, with a sign or without.
  if (bits === 32)
    return ({ array, at }, source, start) => {
      array[at] = source.readInt32LE(start);
      return true;
    };
  const name = isUnsigned
    ? ({ 8: 'readUInt8', 16: 'readUInt16LE' } as const)[bits]
    : ({ 8: 'readInt8', 16: 'readInt16LE' } as const)[bits];
  return ({ array, at }, source, start) => {
    array[at] = source[name](start);
    return true;
  };
}

function floatColumn({ bits, bytes }: Kind<'float'>): ArrowColumn {
  if (bytes === 'big-endian') return bigEndianColumn(types.float(bits), bits);
  const put = bytes === 'digits' ? putDouble : bits === 32 ? putLittleEndianFloat : putLittleEndianDouble;
  const create = (length: number) => (bits === 32 ? new Float32Array(length) : new Float64Array(length));
  return numberColumn(types.float(bits), create, put);
}

/** Arrow's decimals of 256 bits have more, but neither Polars nor DuckDB reads them. */
const decimalDigitsMax = 38;

/** Decimals without bounds, or with too many digits, are text. */
function decimalColumn({ precision, scale = 0, isLoose }: Kind<'decimal'>): ArrowColumn {
  // With a negative scale, zeros end the number. With a scale above the precision, they follow the point.
  const digits =
    precision === undefined ? Number.POSITIVE_INFINITY : Math.max(precision - Math.min(0, scale), scale);
  if (digits > decimalDigitsMax)
    return new VariableColumn(types.utf8, isLoose ? looseDigits(writeRaw) : writeRaw);
  const places = Math.max(0, scale);
  return new FixedColumn(types.decimal(digits, places), {
    create: int32s,
    width: decimalWords,
    put: decimalPut(digits, places),
  });
}

// The readers of numbers are called here, and not passed to one function, so that V8 can inline them.
const putShort: Put<FillableArray> = ({ array, at }, source, start, end) => {
  array[at] = readShort(source, start, end);
  return true;
};
const putDouble: Put<FillableArray> = ({ array, at }, source, start, end) => {
  array[at] = readDouble(source, start, end);
  return true;
};
const putLittleEndianFloat: Put<FillableArray> = ({ array, at }, source, start) => {
  array[at] = source.readFloatLE(start);
  return true;
};
const putLittleEndianDouble: Put<FillableArray> = ({ array, at }, source, start) => {
  array[at] = source.readDoubleLE(start);
  return true;
};

const copyWords: Put<Int32Array> = ({ array, at }, source, start) => {
  array[at] = source.readInt32LE(start);
  array[at + 1] = source.readInt32LE(start + 4);
  return true;
};
