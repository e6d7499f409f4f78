/**
 * `application/vnd.apache.arrow.stream`: a schema, then batches of rows in columns.
 *
 * Readers take the end of the bytes between two messages for the end of the rows. So each message is followed at once by
 * the start of the next one, and an answer that fails ends inside a message. There is always a last batch, perhaps
 * without rows.
 *
 * If the receiver adds columns, the schema has them, and a batch is what the receiver makes a message of; see
 * `arrow-labels.ts`.
 */

import {
  batchHeader,
  batchMessage,
  type ColumnBatch,
  emptyColumns,
} from '@datahub/executor-session/arrow-batches';
import {
  type ArrowField,
  endOfStream,
  padded,
  prefix,
  schemaMetadata,
  types,
} from '@datahub/executor-session/arrow-messages';
import { HubError } from '@datahub/service-kit/call/error';
import type { SinkColumn } from '../../ports/row-sink.ts';
import { type ArrowColumn, arrowColumn } from '../arrow/columns.ts';
import { uniqueNames } from '../column-names.ts';
import type { ByteWriter } from '../values/primitives.ts';
import type { FormatOptions, Open, ResponseEnd, RowEncoder } from './format.ts';

export const createArrow = (): Open<RowEncoder> => (out, options) => new ArrowEncoder(out, options);

/**
 * A batch ends with the row that reaches one of these. Bytes are the database's, which has none for a NULL, where Arrow has
 * up to 16: so many values have 2 MiB, which wait for a slow reader twice. Batches do not depend on time, so equal rows are
 * equal bytes. Batches of 4 MiB take as much CPU and 50 MiB more memory for a million
 * rows.
 */
const batch = { rowsMax: 16_384, cellsMax: 131_072, bytesMax: 1_048_576 };
const rowsAtFirst = 64;
/** Places for more values are not kept for the next batch, which may wait for a slow reader: they have up to 16 MiB. */
const keptCellsMax = 262_144;

class ArrowEncoder implements RowEncoder {
  readonly #out: ByteWriter;
  readonly #options: FormatOptions;
  #fields: ArrowField[] = [];
  #columns: ArrowColumn[] = [];
  #rows = 0;
  #rowsMax = 0;
  #rowsBefore = 0;
  #batchRows = batch.rowsMax;
  #bytes = 0;
  /** The bytes with which each batch begins. */
  #head: Buffer[] = [];

  constructor(out: ByteWriter, options: FormatOptions) {
    this.#out = out;
    this.#options = options;
  }

  begin(columns: readonly SinkColumn[]): void {
    const { numbers, notNull, added } = this.#options;
    const names = uniqueNames(columns.map(({ name }) => name));
    const neverNull = new Set(notNull);
    this.#columns = columns.map(
      ({ kind, binary = kind }) => arrowColumn(binary, numbers, this.#out) ?? failWithoutTypes(),
    );
    this.#fields = this.#columns.map(({ type }, i) => {
      const name = names[i] as string;
      return { name, type, nullable: !neverNull.has(name) };
    });
    const fields = [...this.#fields, ...added.map((column) => addedColumn(column).field)];
    this.#batchRows = Math.min(batch.rowsMax, Math.ceil(batch.cellsMax / Math.max(1, columns.length)));
    this.#grow();
    const empty = this.#batch(false);
    const lengths = added.flatMap((column) => addedColumn(column).empty);
    const whole = {
      ...empty,
      nulls: [...empty.nulls, ...added.map(() => 0)],
      buffers: [...empty.buffers, ...lengths.map((length) => Buffer.alloc(length))],
    };
    this.#head = batchMessage(whole).head;
    const schema = schemaMetadata(fields);
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
    this.#writeBatch(false, { isLast: false });
  }

  end({ truncated }: ResponseEnd): void {
    this.#writeBatch(truncated, { isLast: true });
  }

  #grow(): void {
    this.#rowsMax = Math.max(rowsAtFirst, 2 * this.#rowsMax, this.#rowsBefore);
    for (const column of this.#columns) column.grow(this.#rowsMax);
  }

  #release(): void {
    for (const column of this.#columns) column.release();
    this.#rowsBefore = this.#rowsMax;
    this.#rowsMax = 0;
  }

  #batch(isTruncated: boolean): ColumnBatch {
    const columns = this.#columns;
    const buffers = columns.flatMap((column) => column.buffers(this.#rows));
    return { rows: this.#rows, nulls: columns.map(({ nulls }) => nulls), buffers, isTruncated };
  }

  /** Writes a batch after its head, and what follows it: in one go, so that the output grows once. */
  #writeBatch(isTruncated: boolean, { isLast }: { isLast: boolean }): void {
    const batch = this.#batch(isTruncated);
    if (this.#options.added.length > 0) this.#write([batchHeader(batch, isLast), ...batch.buffers]);
    else this.#write([...batchMessage(batch).rest, ...(isLast ? [endOfStream] : this.#head)]);
    for (const column of this.#columns) column.clear();
    if (this.#rowsMax * this.#columns.length > keptCellsMax) this.#release();
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

/** A column that the receiver adds. */
function addedColumn({ name, type }: { name: string; type: string }) {
  const isText = type === 'text';
  const field: ArrowField = { name, type: isText ? types.utf8 : types.float(64), nullable: true };
  return { field, empty: isText ? emptyColumns.text : emptyColumns.number };
}

function failWithoutTypes(): never {
  throw new HubError(
    'NOT_ACCEPTABLE',
    'The columns of this result have no types, so it is not available as Arrow.',
    { retryable: false },
  );
}
