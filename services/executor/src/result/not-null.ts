/** Checks the columns that a query asserts in `notNull`, before their values are encoded. */

import { HubError } from '@datahub/service-kit/call/error';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { Outcome } from '../ports/engine.ts';
import type { SinkColumn } from '../ports/row-sink.ts';
import { uniqueNames } from './column-names.ts';
import type { ResponseWriter, Timing } from './response.ts';
import { createFinder, types } from './values/bson-reader.ts';
import { isZeroDate } from './values/packed-times.ts';

type IsNull = (source: Buffer, start: number, end: number) => boolean;

/** An asserted column. `index` is -1 if the result lacks it. */
interface Asserted {
  name: string;
  index: number;
  /** For a kind with values that are null in a response, although they are not NULL in the database. */
  isNull: IsNull | undefined;
}

/** A null in one of the columns throws CONTRACT_BROKEN. Of several results, it checks the first. */
export class NotNullWriter implements ResponseWriter {
  readonly #writer: ResponseWriter;
  readonly #notNull: readonly string[];
  readonly #find: ReturnType<typeof createFinder>;
  #asserted: readonly Asserted[] = [];
  #hasBegun = false;

  constructor(writer: ResponseWriter, notNull: readonly string[]) {
    this.#writer = writer;
    this.#notNull = notNull;
    this.#find = createFinder(notNull);
  }

  get takesDocuments() {
    return this.#writer.takesDocuments;
  }

  get takesBinary() {
    return this.#writer.takesBinary;
  }

  get rowCount() {
    return this.#writer.rowCount;
  }

  get truncated() {
    return this.#writer.truncated;
  }

  get full(): boolean {
    return this.#writer.full;
  }

  onDrain(listener: () => void): void {
    this.#writer.onDrain(listener);
  }

  begin(columns: readonly SinkColumn[]): void {
    const names = uniqueNames(columns.map(({ name }) => name));
    const asserted = this.#hasBegun ? [] : this.#notNull;
    this.#hasBegun = true;
    this.#asserted = asserted.map((name) => {
      const index = names.indexOf(name);
      const { kind } = columns[index] ?? {};
      return { name, index, isNull: kind && nullTestOf(kind) };
    });
    this.#writer.begin(columns);
  }

  row(source: Buffer, offsets: Int32Array): void {
    for (const { name, index, isNull } of this.#asserted) {
      if (index < 0) this.#fail(name, 'the result has no such column');
      const start = offsets[2 * index] as number;
      if (start < 0 || isNull?.(source, start, offsets[2 * index + 1] as number)) this.#fail(name);
    }
    this.#writer.row(source, offsets);
  }

  document(source: Buffer, start: number): void {
    const found = this.#find(source, start);
    for (const name of this.#notNull) {
      const { type } = found.get(name) ?? { type: types.null };
      if (type === types.null || type === types.undefined) this.#fail(name);
    }
    this.#writer.document(source, start);
  }

  rowsRead(): void {
    this.#writer.rowsRead?.();
  }

  turnToFinish(): Promise<void> | undefined {
    return this.#writer.turnToFinish();
  }

  finish(outcome: Outcome, timing: Timing): Promise<void> | undefined {
    return this.#writer.finish(outcome, timing);
  }

  abandon(): void {
    this.#writer.abandon();
  }

  #fail(name: string, but = 'it is null in a row of the result'): never {
    // A timer must not send the remaining bytes.
    this.#writer.abandon();
    throw new HubError(
      'CONTRACT_BROKEN',
      `The query asserts in notNull that the column ${JSON.stringify(name)} is never null, but ${but}.`,
      { retryable: false },
    );
  }
}

function nullTestOf(kind: ColumnKind): IsNull | undefined {
  if ((kind.is === 'date' || kind.is === 'timestamp') && kind.bytes === 'packed') return isZeroDate;
  return kind.is === 'json' ? isJsonNull : undefined;
}

/** A document of PostgreSQL's type json has the blanks with which it was written. */
const isJsonNull: IsNull = (source, start, end) => {
  let [from, to] = [start, end];
  while (from < to && isBlank(source[from] as number)) from++;
  while (from < to && isBlank(source[to - 1] as number)) to--;
  return to - from === 4 && source.toString('latin1', from, to) === 'null';
};

const isBlank = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
