/**
 * Where an engine adapter writes its rows. The adapter names the columns and the encoders of their fields once; the rows
 * then go from the database's bytes to the bytes of the answer, without a JavaScript value in between.
 */

import type { ByteWriter } from './result/byte-writer.ts';

export type RowFormat = 'json' | 'ndjson' | 'csv';

/** Appends a field that is not NULL, given in its wire format at `source[start, end)`, to the answer. */
export type FieldEncoder = (out: ByteWriter, source: Buffer, start: number, end: number) => void;

/** Appends the document that begins at `source[start]` as a JSON object. */
export type DocumentEncoder = (out: ByteWriter, source: Buffer, start: number) => void;

export interface SinkColumn {
  /** As the database named it. The sink renames duplicates. */
  name: string;
  /** The type as the engine names it, for `meta`. */
  type: string;
  encode: FieldEncoder;
  /** A JSON document: a CSV field contains its text as it is. */
  isJson?: boolean;
}

export interface RowSink {
  readonly format: RowFormat;
  /** `string`: bigint and decimal values are always strings. */
  readonly numbers: 'auto' | 'string';
  /** Called once before the first row, and also if there are no rows. */
  begin(columns: SinkColumn[]): void;
  /** Writes one row. Field i is between `offsets[2i]` and `offsets[2i+1]` of `source`; a start of -1 means NULL. */
  row(source: Buffer, offsets: Int32Array): void;
  /**
   * Writes one row with its own members: `write` appends it as a JSON object. Not for CSV, where all rows have the same
   * columns.
   */
  document(source: Buffer, start: number, write: DocumentEncoder): void;
  /** While true, the adapter stops reading from its socket until the listener of `onDrain` is called. */
  readonly full: boolean;
  onDrain(listener: () => void): void;
}
