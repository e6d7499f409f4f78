/**
 * Collects the values of a column in Arrow's memory layout, from the database's bytes. Arrow is little-endian, as are
 * all processors that Node has releases for.
 */

import type { ColumnKind } from '../../ports/column-kind.ts';
import { jsonEncoder } from '../formats/json.ts';
import { ByteWriter } from '../values/byte-writer.ts';
import { bitsEncoder, withoutLeadingZeros, writeHexAsBytes } from '../values/other-bytes.ts';
import { isZeroDate } from '../values/packed-times.ts';
import { type FieldEncoder, type Numbers, writeRaw } from '../values/primitives.ts';
import { type ArrowType, types } from './messages.ts';
import { putDecimal, putExact, putInteger, putMicros, readDouble, readShort } from './numbers.ts';
import {
  type Clock,
  isoDays,
  packedDays,
  packedDuration,
  readIsoClock,
  readIsoTimestamp,
  readPackedTimestamp,
} from './times.ts';

export abstract class ArrowColumn {
  readonly type: ArrowType;
  nulls = 0;
  /** Bits of the rows that have a value. All are set until the first NULL. */
  #valid: Buffer | undefined;
  #rowsMax = 0;

  constructor(type: ArrowType) {
    this.type = type;
  }

  /** The size of the values, if each has the same. */
  abstract readonly rowBytes: number;
  /** The size of the values of other columns. */
  get bytes(): number {
    return 0;
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

  /** Removes all rows. */
  clear(): void {
    this.nulls = 0;
    this.#valid = undefined;
  }
}

const nothing = Buffer.alloc(0);
const allValid = (rows: number): Buffer => Buffer.alloc(rows / 8, 0xff);

/** Writes a value at an index of the array. Returns false if the type has no such value; null stands for NULL. */
type Put<A> = (array: A, at: number, field: [source: Buffer, start: number, end: number]) => boolean | null;

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
  readonly #fixed: Fixed<A>;
  #array: A;

  constructor(type: ArrowType, fixed: Fixed<A>) {
    super(type);
    this.#fixed = fixed;
    this.#array = fixed.create(0);
  }

  get rowBytes(): number {
    return this.#fixed.width * this.#array.BYTES_PER_ELEMENT;
  }

  override grow(rows: number): void {
    super.grow(rows);
    const grown = this.#fixed.create(rows * this.#fixed.width);
    grown.set(this.#array);
    this.#array = grown;
  }

  append(row: number, source: Buffer, start: number, end: number): boolean {
    const { put, width } = this.#fixed;
    const fits = put(this.#array, row * width, [source, start, end]);
    if (fits === null) this.appendNull(row);
    return fits !== false;
  }

  override appendNull(row: number): void {
    super.appendNull(row);
    const { width } = this.#fixed;
    this.#array.fill(0, row * width, (row + 1) * width);
  }

  protected values(rows: number): Buffer[] {
    return [Buffer.from(this.#array.buffer as ArrayBuffer, 0, rows * this.rowBytes)];
  }
}

class BooleanColumn extends ArrowColumn {
  readonly rowBytes = 0.125;
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

  protected values(rows: number): Buffer[] {
    return [this.#bits.subarray(0, (rows + 7) >> 3)];
  }

  override clear(): void {
    super.clear();
    this.#bits.fill(0);
  }
}

/** Texts and bytes. */
class VariableColumn extends ArrowColumn {
  readonly rowBytes = 4;
  readonly #encode: FieldEncoder;
  readonly #out = new ByteWriter(1_024);
  #offsets = new Int32Array(1);

  constructor(type: ArrowType, encode: FieldEncoder) {
    super(type);
    this.#encode = encode;
  }

  override get bytes(): number {
    return this.#out.position;
  }

  override grow(rows: number): void {
    super.grow(rows);
    const grown = new Int32Array(rows + 1);
    grown.set(this.#offsets);
    this.#offsets = grown;
  }

  append(row: number, source: Buffer, start: number, end: number): boolean {
    this.#encode(this.#out, source, start, end);
    this.#offsets[row + 1] = this.#out.position;
    return true;
  }

  override appendNull(row: number): void {
    super.appendNull(row);
    this.#offsets[row + 1] = this.#out.position;
  }

  protected values(rows: number): Buffer[] {
    const out = this.#out;
    return [Buffer.from(this.#offsets.buffer, 0, 4 * (rows + 1)), out.buffer.subarray(0, out.position)];
  }

  override clear(): void {
    super.clear();
    this.#out.position = 0;
  }
}

/** The column of a kind. A kind that is missing does not compile. Undefined for values without a common type. */
export function arrowColumn(kind: ColumnKind, numbers: Numbers): ArrowColumn | undefined {
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
        put: kind.bytes === 'iso' ? putIsoDate : putPackedDate,
      });
    case 'time':
      return kind.bytes === 'iso'
        ? wordsColumn(types.time, putIsoTime())
        : wordsColumn(types.duration, putDuration);
    case 'timestamp':
      return wordsColumn(
        kind.hasZone ? types.instant : types.timestamp,
        kind.bytes === 'iso' ? putIsoTimestamp(kind.hasZone) : putPackedTimestamp(),
      );
    case 'bits':
      return new VariableColumn(types.utf8, bitsEncoder(kind.width));
    case 'binary':
      return new VariableColumn(types.binary, kind.bytes === 'raw' ? writeRaw : writeHexAsBytes);
    case 'text':
    case 'ascii':
      return new VariableColumn(types.utf8, writeRaw);
    case 'json':
    case 'array':
      return new VariableColumn(types.json, jsonEncoder(kind, numbers));
    case 'bson':
      return undefined;
  }
}

const isLetter = (source: Buffer, start: number) => source[start] === 0x74;
const isBit = (source: Buffer, _start: number, end: number) => ((source[end - 1] as number) & 1) === 1;

type Kind<Is extends ColumnKind['is']> = Extract<ColumnKind, { is: Is }>;

const int32s = (length: number) => new Int32Array(length);
const wordsColumn = (type: ArrowType, put: Put<Int32Array>) =>
  new FixedColumn(type, { create: int32s, width: 2, put });

function integerColumn({ bits, isUnsigned, bytes }: Kind<'integer'>): ArrowColumn {
  if (bits === 53) return wordsColumn(types.int(64, true), putDigits);
  if (bits === 64) return wordsColumn(types.int(64, !isUnsigned), bytes === 'digits' ? putDigits : copyWords);
  const type = types.int(bits, !isUnsigned);
  const read = bytes === 'digits' ? readShort : littleEndianReader(bits, isUnsigned);
  return numberColumn(type, integerArray(bits, isUnsigned), read);
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

type Read = (source: Buffer, start: number, end: number) => number;

const numberColumn = (type: ArrowType, create: (length: number) => FillableArray, read: Read): ArrowColumn =>
  new FixedColumn<FillableArray & NumberArray>(type, {
    create: create as (length: number) => FillableArray & NumberArray,
    width: 1,
    put: (array, at, [source, start, end]) => {
      array[at] = read(source, start, end);
      return true;
    },
  });

function littleEndianReader(bits: 8 | 16 | 32, isUnsigned: boolean): Read {
  const name = isUnsigned
    ? ({ 8: 'readUInt8', 16: 'readUInt16LE', 32: 'readUInt32LE' } as const)[bits]
    : ({ 8: 'readInt8', 16: 'readInt16LE', 32: 'readInt32LE' } as const)[bits];
  return (source, start) => source[name](start);
}

function floatColumn({ bits, bytes }: Kind<'float'>): ArrowColumn {
  const read: Read =
    bytes === 'digits'
      ? readDouble
      : bits === 32
        ? (source, start) => source.readFloatLE(start)
        : (source, start) => source.readDoubleLE(start);
  const create = (length: number) => (bits === 32 ? new Float32Array(length) : new Float64Array(length));
  return numberColumn(types.float(bits), create, read);
}

/** Arrow's decimals of 256 bits have more, but neither Polars nor DuckDB reads them. */
const decimalDigitsMax = 38;
const decimalWords = 4;

/** Decimals without bounds, or with too many digits, are text. */
function decimalColumn({ precision, scale = 0, isPadded }: Kind<'decimal'>): ArrowColumn {
  // With a negative scale, zeros end the number. With a scale above the precision, they follow the point.
  const digits =
    precision === undefined ? Number.POSITIVE_INFINITY : Math.max(precision - Math.min(0, scale), scale);
  if (digits > decimalDigitsMax)
    return new VariableColumn(types.utf8, isPadded ? withoutLeadingZeros(writeRaw) : writeRaw);
  const bounds = { precision: digits, scale: Math.max(0, scale), words: decimalWords };
  return new FixedColumn(types.decimal(digits, bounds.scale), {
    create: int32s,
    width: decimalWords,
    put: (words, at, [source, start, end]) => putDecimal(words, at, { ...bounds, source, start, end }),
  });
}

const putDigits: Put<Int32Array> = (words, at, [source, start, end]) =>
  putInteger(words, at, { source, start, end });

const copyWords: Put<Int32Array> = (words, at, [source, start]) => {
  words[at] = source.readInt32LE(start);
  words[at + 1] = source.readInt32LE(start + 4);
  return true;
};

const putDays = (days: Int32Array, at: number, value: number): boolean => {
  days[at] = value;
  return !Number.isNaN(value);
};

const putIsoDate: Put<Int32Array> = (days, at, [source, start, end]) =>
  putDays(days, at, isoDays(source, start, end));

const putPackedDate: Put<Int32Array> = (days, at, [source, start, end]) =>
  isZeroDate(source, start, end) ? null : putDays(days, at, packedDays(source, start));

const putDuration: Put<Int32Array> = (words, at, [source, start, end]) => {
  putExact(words, at, packedDuration(source, start, end));
  return true;
};

function putIsoTime(): Put<Int32Array> {
  const clock: Clock = [0, 0];
  return (words, at, [source, start, end]) =>
    readIsoClock(source, [start, end], clock) && putMicros(words, at, clock);
}

function putIsoTimestamp(hasZone: boolean): Put<Int32Array> {
  const clock: Clock = [0, 0];
  return (words, at, [source, start, end]) =>
    readIsoTimestamp(source, { start, end, hasZone }, clock) && putMicros(words, at, clock);
}

function putPackedTimestamp(): Put<Int32Array> {
  const clock: Clock = [0, 0];
  return (words, at, [source, start, end]) => {
    if (isZeroDate(source, start, end)) return null;
    return readPackedTimestamp(source, [start, end], clock) && putMicros(words, at, clock);
  };
}
