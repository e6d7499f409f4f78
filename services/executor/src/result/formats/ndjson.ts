/** `application/x-ndjson`: a JSON object in each line. A last line says if a limit cut the rows. */

import type { SinkColumn } from '../../ports/row-sink.ts';
import { type ByteWriter, writeAscii } from '../values/primitives.ts';
import type { DocumentEncoder, Open, ResponseEnd } from './format.ts';
import { createLayouts, JsonRows } from './json.ts';

/** No row has these bytes. Readers compare bytes, because a row can have the same value. */
const cutMark = Buffer.from('{"truncated":true}');
const sameValue = '{"truncated": true}';

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
    const from = this.#out.position;
    this.#rows.row(source, offsets);
    this.#endRow(from);
  }

  document(source: Buffer, start: number): void {
    const from = this.#out.position;
    this.#rows.document(source, start);
    this.#endRow(from);
  }

  #endRow(from: number): void {
    const out = this.#out;
    if (
      out.position - from === cutMark.length &&
      out.buffer.compare(cutMark, 0, cutMark.length, from, out.position) === 0
    ) {
      out.position = from;
      writeAscii(out, sameValue);
    }
    writeAscii(out, '\n');
  }

  end({ truncated }: ResponseEnd): void {
    if (truncated) writeAscii(this.#out, `${cutMark}\n`);
  }
}
