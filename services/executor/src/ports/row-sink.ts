/**
 * Where an engine adapter writes its rows. The adapter states the columns once; the rows then go from the database's
 * bytes to the bytes of the response, without a JavaScript value in between.
 */

import type { BinaryKind, ColumnKind } from './column-kind.ts';

export interface SinkColumn {
  /** As the database named it. The sink renames duplicates. */
  name: string;
  /** The type as the engine names it, for `meta`. */
  type: string;
  kind: ColumnKind;
  /** How the bytes read if they come in the database's binary format. Only for a sink with `takesBinary`. */
  binary?: BinaryKind | ColumnKind;
}

export interface RowSink {
  /** True if each row can have members of its own: the adapter may call `document` instead of `row`. */
  readonly takesDocuments: boolean;
  /** True if the sink reads the columns that have `binary`, for less CPU than their texts. */
  readonly takesBinary: boolean;
  /**
   * Called once before the first row of a result, and also if it has no rows; again for each further result, with
   * `RunOptions.allResults`. The array must not change afterwards. For the same
   * columns, an adapter passes the same array again.
   */
  begin(columns: readonly SinkColumn[]): void;
  /** Writes one row. Field i is between `offsets[2i]` and `offsets[2i+1]` of `source`; a start of -1 means NULL. */
  row(source: Buffer, offsets: Int32Array): void;
  /** Writes the BSON document that begins at `source[start]` as one row. */
  document(source: Buffer, start: number): void;
  /** Called after the last row of the statement. What is left of a small answer waits: the statement may still fail. */
  rowsRead?(): void;
  /** True if a row was dropped because of a limit. All further rows are dropped, too. */
  readonly truncated: boolean;
  /** While true, the adapter stops reading from its socket until the listener of `onDrain` is called. */
  readonly full: boolean;
  onDrain(listener: () => void): void;
}
