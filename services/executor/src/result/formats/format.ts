/**
 * PORT: a format of rows. Its table in `packages/contract/src/formats.ts` says how it is called and negotiated; the
 * adapter turns rows into bytes.
 */

import type { CsvOptions, formats } from '@datahub/contract/formats';
import type { SinkColumn } from '../../ports/row-sink.ts';
import type { ByteWriter, Numbers } from '../values/primitives.ts';

export interface FormatOptions {
  numbers: Numbers;
  /** True if the response describes itself, in formats that have a place for it. */
  meta: boolean;
  /** True if `begin` is called for each of several results. Only formats of documents have a place for them. */
  allResults: boolean;
  /** The columns that the receiver adds to each row, for formats that name their columns. */
  added: readonly { name: string; type: string }[];
  /** The columns that the query asserts to have no NULL, for formats that say so. */
  notNull: readonly string[];
  csv?: CsvOptions | undefined;
}

export interface ResponseEnd {
  rowCount: number;
  /** True if a limit cut the rows, or if there are further results. */
  truncated: boolean;
  moreResults: boolean;
  queueMs: number;
  durationMs: number;
}

/** Writes one response. What it has written after a call can be sent at once. */
export interface RowEncoder {
  /** Formats may store what they derive from the columns by the array, which adapters pass again. */
  begin(columns: readonly SinkColumn[]): void;
  /** As `RowSink.row`. */
  row(source: Buffer, offsets: Int32Array): void;
  end(end: ResponseEnd): void;
}

export interface DocumentEncoder extends RowEncoder {
  /** As `RowSink.document`. */
  document(source: Buffer, start: number): void;
}

/** Creates the encoder of one response, which writes to `out`. */
export type Open<E> = (out: ByteWriter, options: FormatOptions) => E;

/** A format of documents must encode them. */
export type Formats = {
  readonly [F in keyof typeof formats]: Open<
    (typeof formats)[F]['rows'] extends 'documents' ? DocumentEncoder : RowEncoder
  >;
};
