/** A sink of rows that the hub reads for itself. */

import type { RowSink, SinkColumn } from '../ports/row-sink.ts';

export interface SinkWatcher {
  onColumns?(columns: readonly SinkColumn[]): void;
  /** The engine stops after a row that throws. */
  beforeRow(offsets: Int32Array): void;
}

/** Passes on all that it gets. */
export const watched = (sink: RowSink, { onColumns, beforeRow }: SinkWatcher): RowSink => ({
  takesDocuments: sink.takesDocuments,
  takesBinary: sink.takesBinary,
  begin: (columns) => {
    onColumns?.(columns);
    sink.begin(columns);
  },
  row: (source, offsets) => {
    beforeRow(offsets);
    sink.row(source, offsets);
  },
  document: (source, start) => sink.document(source, start),
  get truncated() {
    return sink.truncated;
  },
  get full() {
    return sink.full;
  },
  onDrain: (listener) => sink.onDrain(listener),
});
