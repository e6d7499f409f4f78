/** `application/x-ndjson`: a JSON object in each line. */

import type { SinkColumn } from '../../ports/row-sink.ts';
import { type ByteWriter, writeAscii } from '../values/primitives.ts';
import type { DocumentEncoder, Open, ResponseEnd } from './format.ts';
import { createLayouts, JsonRows } from './json.ts';

export function createNdjson(): Open<DocumentEncoder> {
  const layouts = createLayouts();
  return (out, { numbers }) => new NdjsonEncoder(out, new JsonRows(out, numbers, layouts));
}

class NdjsonEncoder implements DocumentEncoder {
  readonly #out: ByteWriter;
  readonly #rows: JsonRows;

  constructor(out: ByteWriter, rows: JsonRows) {
    this.#out = out;
    this.#rows = rows;
  }

  begin(columns: readonly SinkColumn[]): void {
    this.#rows.begin(columns);
  }

  row(source: Buffer, offsets: Int32Array): void {
    this.#rows.row(source, offsets);
    writeAscii(this.#out, '\n');
  }

  document(source: Buffer, start: number): void {
    this.#rows.document(source, start);
    writeAscii(this.#out, '\n');
  }

  end({ truncated }: ResponseEnd): void {
    if (truncated) writeAscii(this.#out, '{"truncated":true}\n');
  }
}
