/** `application/x-ndjson`: a JSON object in each line. A last line says if a limit cut the rows. */

import { cutLine } from '@datahub/contract/formats';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { type ByteWriter, writeAscii } from '../values/primitives.ts';
import type { DocumentEncoder, Open, ResponseEnd } from './format.ts';
import { createLayouts, JsonRows } from './json.ts';

const cutBytes = Buffer.from(cutLine);
/** A row with the value of the cut line, in other bytes. */
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
      out.position - from === cutBytes.length &&
      out.buffer.compare(cutBytes, 0, cutBytes.length, from, out.position) === 0
    ) {
      out.position = from;
      writeAscii(out, sameValue);
    }
    writeAscii(out, '\n');
  }

  end({ truncated }: ResponseEnd): void {
    if (truncated) writeAscii(this.#out, `${cutLine}\n`);
  }
}
