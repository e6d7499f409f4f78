/**
 * Where an engine adapter writes its rows: bytes of the answer, in the format the caller asked for. The adapter says
 * once which columns come and how their fields are encoded, then writes field after field without making a value.
 */

import type { ByteWriter } from './result/byte-writer.ts';

export type RowFormat = 'json' | 'ndjson' | 'csv';

/** Appends one non-null field, found at `source[start, end)` in the wire form of its type, as bytes of the answer. */
export type FieldEncoder = (out: ByteWriter, source: Buffer, start: number, end: number) => void;

/** Appends the document that begins at `source[start]` as a JSON object. */
export type DocumentEncoder = (out: ByteWriter, source: Buffer, start: number) => void;

export interface SinkColumn {
  /** As the database named it; the sink renames duplicates. */
  name: string;
  /** The engine's word for the type, for `meta`. */
  type: string;
  encode: FieldEncoder;
  /** A JSON document: in CSV it stands as its text, quotes and all. */
  isJson?: boolean;
}

export interface RowSink {
  readonly format: RowFormat;
  /** `string`: bigint and decimal are always strings. */
  readonly numbers: 'auto' | 'string';
  /** Called once, before the first row, also when there are no rows. */
  begin(columns: SinkColumn[]): void;
  /** Writes one row: `offsets[2i]` and `offsets[2i+1]` bound field i in `source`; a start of -1 is NULL. */
  row(source: Buffer, offsets: Int32Array): void;
  /**
   * Writes one row that has members of its own: `write` appends it as a JSON object. Not for CSV, whose rows all have
   * the columns of the first line.
   */
  document(source: Buffer, start: number, write: DocumentEncoder): void;
  /** True while the receiver is behind: the adapter stops reading from its socket until `onDrain` fires. */
  readonly full: boolean;
  onDrain(listener: () => void): void;
}
