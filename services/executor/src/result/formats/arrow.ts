/**
 * `application/vnd.apache.arrow.stream`: a schema, then batches of rows in columns.
 *
 * Readers take the end of the bytes between two messages for the end of the rows. So each message is followed at once by
 * the start of the next one, and an answer that fails ends inside a message. There is always a last batch, perhaps
 * without rows.
 */

import { HubError } from '@datahub/service-kit/call/error';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { type ArrowColumn, arrowColumn } from '../arrow/columns.ts';
import {
  type ArrowField,
  batchMetadata,
  endOfStream,
  padded,
  prefix,
  schemaMetadata,
} from '../arrow/messages.ts';
import { uniqueNames } from '../column-names.ts';
import type { ByteWriter } from '../values/primitives.ts';
import type { FormatOptions, Open, ResponseEnd, RowEncoder } from './format.ts';

export const createArrow = (): Open<RowEncoder> => (out, options) => new ArrowEncoder(out, options);

/**
 * A batch ends with the row that reaches one of these. Bytes are the database's, which has none for a NULL. Batches do not
 * depend on time, so equal rows are equal bytes. Batches of 4 MiB take as much CPU and 50 MiB more memory for a million
 * rows.
 */
const batch = { rowsMax: 16_384, cellsMax: 1_048_576, bytesMax: 1_048_576 };
const rowsAtFirst = 64;
/** `apache-arrow` takes the end of the bytes for the end of the rows until it has read the first bytes of metadata. */
const sentMetadataBytes = 8;

class ArrowEncoder implements RowEncoder {
  readonly #out: ByteWriter;
  readonly #options: FormatOptions;
  #fields: ArrowField[] = [];
  #columns: ArrowColumn[] = [];
  #rows = 0;
  #rowsMax = 0;
  #batchRows = batch.rowsMax;
  #bytes = 0;
  /** The bytes with which each batch begins. */
  #head: Buffer[] = [];

  constructor(out: ByteWriter, options: FormatOptions) {
    this.#out = out;
    this.#options = options;
  }

  begin(columns: readonly SinkColumn[]): void {
    const { numbers, notNull } = this.#options;
    const names = uniqueNames(columns.map(({ name }) => name));
    this.#columns = columns.map(
      ({ kind, binary = kind }) => arrowColumn(binary, numbers) ?? failWithoutTypes(),
    );
    this.#fields = this.#columns.map(({ type }, i) => {
      const name = names[i] as string;
      return { name, type, nullable: !notNull.includes(name) };
    });
    this.#batchRows = Math.min(batch.rowsMax, Math.ceil(batch.cellsMax / Math.max(1, columns.length)));
    this.#grow();
    const metadata = this.#metadata(this.#buffers(), false);
    this.#head = [prefix(metadata.length), metadata.subarray(0, sentMetadataBytes)];
    const schema = schemaMetadata(this.#fields);
    this.#write([prefix(schema.length), schema, ...this.#head]);
  }

  row(source: Buffer, offsets: Int32Array): void {
    if (this.#rows === this.#rowsMax) this.#grow();
    const columns = this.#columns;
    const row = this.#rows++;
    let bytes = 0;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as ArrowColumn;
      const start = offsets[2 * i] as number;
      const end = offsets[2 * i + 1] as number;
      if (start < 0) column.appendNull(row);
      else if (column.append(row, source, start, end)) bytes += end - start;
      else this.#fail(i);
    }
    this.#bytes += bytes;
    if (this.#rows < this.#batchRows && this.#bytes < batch.bytesMax) return;
    this.#writeBatch(false, this.#head);
  }

  end({ truncated }: ResponseEnd): void {
    this.#writeBatch(truncated, [endOfStream]);
  }

  #grow(): void {
    this.#rowsMax = Math.max(rowsAtFirst, 2 * this.#rowsMax);
    for (const column of this.#columns) column.grow(this.#rowsMax);
  }

  #buffers(): Buffer[] {
    return this.#columns.flatMap((column) => column.buffers(this.#rows));
  }

  #metadata(buffers: readonly Buffer[], isTruncated: boolean): Buffer {
    const nulls = this.#columns.map((column) => column.nulls);
    return batchMetadata({
      rows: this.#rows,
      nulls,
      buffers: buffers.map(({ length }) => length),
      isTruncated,
    });
  }

  /** Writes a batch after its head, and what follows it: in one go, so that the output grows once. */
  #writeBatch(isTruncated: boolean, next: readonly Buffer[]): void {
    const buffers = this.#buffers();
    const metadata = this.#metadata(buffers, isTruncated);
    this.#write([metadata.subarray(sentMetadataBytes), ...buffers, ...next]);
    for (const column of this.#columns) column.clear();
    this.#rows = 0;
    this.#bytes = 0;
  }

  /** Writes each part, and zeros up to a multiple of eight bytes. */
  #write(parts: readonly Buffer[]): void {
    const out = this.#out;
    out.reserve(parts.reduce((sum, { length }) => sum + padded(length), 0));
    for (const part of parts) {
      out.buffer.set(part, out.position);
      out.position += part.length;
      const end = out.position - part.length + padded(part.length);
      out.buffer.fill(0, out.position, end);
      out.position = end;
    }
  }

  #fail(index: number): never {
    const { name, type } = this.#fields[index] as ArrowField;
    throw new HubError(
      'CONTRACT_BROKEN',
      `The column ${JSON.stringify(name)} has a value that Arrow’s type ${type.name} cannot hold, such as an infinity, NaN or a year BC. Convert the column to a text in the statement, or request JSON.`,
      { retryable: false },
    );
  }
}

function failWithoutTypes(): never {
  throw new HubError(
    'NOT_ACCEPTABLE',
    'The columns of this result have no types, so it is not available as Arrow.',
    { retryable: false },
  );
}
