/** Checks the columns that a query asserts in `notNull`, while their values are encoded. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Outcome } from '../engine.ts';
import type { ResponseWriter, Timing } from '../execution/execution.ts';
import type { DocumentEncoder, FieldEncoder, SinkColumn } from '../row-sink.ts';
import { uniqueNames } from './column-names.ts';

/** Returns the writer itself if the query asserts nothing. Else a null in one of the columns throws CONTRACT_BROKEN. */
export function withoutNulls(writer: ResponseWriter, notNull: readonly string[] | undefined): ResponseWriter {
  return notNull === undefined || notNull.length === 0 ? writer : new NotNullWriter(writer, notNull);
}

class NotNullWriter implements ResponseWriter {
  readonly #writer: ResponseWriter;
  readonly #notNull: readonly string[];
  /** The indexes of the asserted columns; -1 for a missing column. */
  #indexes: number[] = [];

  constructor(writer: ResponseWriter, notNull: readonly string[]) {
    this.#writer = writer;
    this.#notNull = notNull;
  }

  get format() {
    return this.#writer.format;
  }

  get numbers() {
    return this.#writer.numbers;
  }

  get full(): boolean {
    return this.#writer.full;
  }

  onDrain(listener: () => void): void {
    this.#writer.onDrain(listener);
  }

  begin(columns: SinkColumn[]): void {
    const names = uniqueNames(columns.map(({ name }) => name));
    this.#indexes = this.#notNull.map((name) => names.indexOf(name));
    this.#writer.begin(
      columns.map((column, i) => {
        if (!this.#indexes.includes(i)) return column;
        return { ...column, encode: this.#check(column.encode, names[i] as string) };
      }),
    );
  }

  row(source: Buffer, offsets: Int32Array): void {
    for (const [i, index] of this.#indexes.entries())
      if (index < 0 || (offsets[2 * index] as number) < 0) this.#fail(this.#notNull[i] as string);
    this.#writer.row(source, offsets);
  }

  document(source: Buffer, start: number, write: DocumentEncoder): void {
    this.#writer.document(source, start, (out, from, at) => {
      const begin = out.position;
      write(out, from, at);
      const document = JSON.parse(out.buffer.toString('utf8', begin, out.position)) as object;
      const values = new Map(Object.entries(document));
      for (const name of this.#notNull) if ((values.get(name) ?? null) === null) this.#fail(name);
    });
  }

  finish(outcome: Outcome, timing: Timing): void {
    this.#writer.finish(outcome, timing);
  }

  abandon(): void {
    this.#writer.abandon();
  }

  /**
   * Checks the encoded value, because values that are not NULL in the database can be null in JSON, such as zero dates.
   */
  #check(encode: FieldEncoder, name: string): FieldEncoder {
    return (out, source, start, end) => {
      const begin = out.position;
      encode(out, source, start, end);
      if (out.position - begin === 4 && out.buffer[begin] === letterN) this.#fail(name);
    };
  }

  #fail(name: string): never {
    // A timer must not send the remaining bytes.
    this.#writer.abandon();
    throw new HubError(
      'CONTRACT_BROKEN',
      `The query asserts in notNull that the column ${JSON.stringify(name)} is never null, but it is null in a row of the result.`,
      { retryable: false },
    );
  }
}

const letterN = 0x6e;
