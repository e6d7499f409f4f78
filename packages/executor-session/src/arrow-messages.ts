/**
 * The messages of Arrow's IPC stream: `Schema.fbs` and `Message.fbs` of Apache Arrow 1.5, with the slots and numbers
 * of their tables.
 */

import { Builder } from 'flatbuffers';

/** A type of Arrow. `table` writes its parameters, and returns their offset. */
export interface ArrowType {
  /** The name that error messages use. */
  name: string;
  id: number;
  table(builder: Builder): number;
  /** The name of an extension type that this type stores. */
  extension?: string;
}

export interface ArrowField {
  name: string;
  type: ArrowType;
  nullable: boolean;
}

const unit = { day: 0, micros: 2 };

/** A table with fields of two or four bytes. */
const table =
  (...fields: ((builder: Builder, slot: number) => void)[]) =>
  (builder: Builder): number => {
    builder.startObject(fields.length);
    for (const [slot, add] of fields.entries()) add(builder, slot);
    return builder.endObject();
  };
const short = (value: number) => (builder: Builder, slot: number) => builder.addFieldInt16(slot, value, -1);
const int = (value: number) => (builder: Builder, slot: number) => builder.addFieldInt32(slot, value, -1);
const bool = (value: boolean) => (builder: Builder, slot: number) =>
  builder.addFieldInt8(slot, Number(value), -1);

export const types = {
  int: (bits: 8 | 16 | 32 | 64, isSigned: boolean): ArrowType => ({
    name: `${isSigned ? '' : 'u'}int${bits}`,
    id: 2,
    table: table(int(bits), bool(isSigned)),
  }),
  float: (bits: 32 | 64): ArrowType => ({ name: `float${bits}`, id: 3, table: table(short(bits / 32)) }),
  binary: { name: 'binary', id: 4, table: table() },
  utf8: { name: 'utf8', id: 5, table: table() },
  json: { name: 'utf8', id: 5, table: table(), extension: 'arrow.json' },
  bool: { name: 'bool', id: 6, table: table() },
  decimal: (precision: number, scale: number): ArrowType => ({
    name: `decimal128(${precision}, ${scale})`,
    id: 7,
    table: table(int(precision), int(scale), int(128)),
  }),
  date: { name: 'date32', id: 8, table: table(short(unit.day)) },
  time: { name: 'time64[us]', id: 9, table: table(short(unit.micros), int(64)) },
  timestamp: { name: 'timestamp[us]', id: 10, table: table(short(unit.micros)) },
  instant: {
    name: 'timestamp[us, UTC]',
    id: 10,
    table: (builder) => {
      const zone = builder.createString('UTC');
      return table(short(unit.micros), (_, slot) => builder.addFieldOffset(slot, zone, 0))(builder);
    },
  },
  duration: { name: 'duration[us]', id: 18, table: table(short(unit.micros)) },
} as const satisfies Record<string, ArrowType | ((...options: never[]) => ArrowType)>;

const header = { schema: 1, recordBatch: 3 };
const versionV5 = 4;
const continuation = 0xffffffff;
export const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]);

export const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** Precedes metadata of this length, which is a multiple of eight. */
export function prefix(metadataBytes: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(continuation);
  bytes.writeUInt32LE(metadataBytes, 4);
  return bytes;
}

/** The metadata of the message with the schema, which has no body. */
export function schemaMetadata(fields: readonly ArrowField[]): Buffer {
  const builder = new Builder(1_024);
  const offsets = fields.map((field) => addField(builder, field));
  const list = addOffsets(builder, offsets);
  builder.startObject(4);
  builder.addFieldInt16(0, 0, -1);
  builder.addFieldOffset(1, list, 0);
  const schema = builder.endObject();
  return toMetadata(builder, { kind: header.schema, table: schema, bodyBytes: 0, custom: 0 });
}

function addField(builder: Builder, { name, type, nullable }: ArrowField): number {
  const label = builder.createString(name);
  const parameters = type.table(builder);
  const children = addOffsets(builder, []);
  const custom =
    type.extension === undefined
      ? 0
      : addPairs(builder, [
          ['ARROW:extension:name', type.extension],
          ['ARROW:extension:metadata', ''],
        ]);
  builder.startObject(7);
  builder.addFieldOffset(0, label, 0);
  builder.addFieldInt8(1, Number(nullable), -1);
  builder.addFieldInt8(2, type.id, 0);
  builder.addFieldOffset(3, parameters, 0);
  builder.addFieldOffset(5, children, 0);
  builder.addFieldOffset(6, custom, 0);
  return builder.endObject();
}

export interface Batch {
  rows: number;
  /** The number of NULLs of each column. */
  nulls: readonly number[];
  /** The length of each buffer, without padding. */
  buffers: readonly number[];
  /** True in the last batch of an answer that a limit cut. */
  isTruncated: boolean;
}

/**
 * The metadata of a batch. Its length and first eight bytes depend only on the number of columns and buffers. It says
 * whether the rows are truncated, because HTTP clients drop trailers.
 */
export function batchMetadata({ rows, nulls, buffers, isTruncated }: Batch): Buffer {
  const builder = new Builder(1_024);
  builder.startVector(16, nulls.length, 8);
  for (const count of nulls.toReversed()) addPair(builder, rows, count);
  const nodes = builder.endVector();
  const bodyBytes = buffers.reduce((sum, bytes) => sum + padded(bytes), 0);
  builder.startVector(16, buffers.length, 8);
  let at = bodyBytes;
  for (const bytes of buffers.toReversed()) {
    at -= padded(bytes);
    addPair(builder, at, bytes);
  }
  const list = builder.endVector();
  const custom = addPairs(builder, [['truncated', String(isTruncated)]]);
  builder.startObject(3);
  builder.addFieldInt64(0, BigInt(rows), -1n);
  builder.addFieldOffset(1, nodes, 0);
  builder.addFieldOffset(2, list, 0);
  const batch = builder.endObject();
  return toMetadata(builder, { kind: header.recordBatch, table: batch, bodyBytes, custom });
}

/** A struct of two numbers of 64 bits. */
function addPair(builder: Builder, first: number, second: number): void {
  builder.prep(8, 16);
  builder.writeInt64(BigInt(second));
  builder.writeInt64(BigInt(first));
}

function addPairs(builder: Builder, pairs: readonly [key: string, value: string][]): number {
  const offsets = pairs.map(([key, value]) => {
    const [name, text] = [builder.createString(key), builder.createString(value)];
    builder.startObject(2);
    builder.addFieldOffset(0, name, 0);
    builder.addFieldOffset(1, text, 0);
    return builder.endObject();
  });
  return addOffsets(builder, offsets);
}

function addOffsets(builder: Builder, offsets: readonly number[]): number {
  builder.startVector(4, offsets.length, 4);
  for (const offset of offsets.toReversed()) builder.addOffset(offset);
  return builder.endVector();
}

interface Head {
  kind: number;
  table: number;
  bodyBytes: number;
  custom: number;
}

function toMetadata(builder: Builder, { kind, table: content, bodyBytes, custom }: Head): Buffer {
  builder.startObject(5);
  builder.addFieldInt16(0, versionV5, -1);
  builder.addFieldInt8(1, kind, 0);
  builder.addFieldOffset(2, content, 0);
  builder.addFieldInt64(3, BigInt(bodyBytes), -1n);
  builder.addFieldOffset(4, custom, 0);
  builder.finish(builder.endObject());
  const bytes = builder.asUint8Array();
  const metadata = Buffer.alloc(padded(bytes.length));
  metadata.set(bytes);
  return metadata;
}
