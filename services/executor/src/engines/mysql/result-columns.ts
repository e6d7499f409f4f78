/** The columns of a result, which are kept with their statement for the next run. */

import type { SinkColumn } from '../../ports/row-sink.ts';
import { type KeptOfConnection, weightOf } from '../shared/kept-statements.ts';
import * as protocol from './protocol.ts';
import {
  formatOf,
  isForeign,
  kindOf,
  outKindOf,
  sizeOf,
  textKindOf,
  toOutParameter,
  typeName,
} from './values.ts';

/** The part of a prepared statement that has its columns. */
export interface WithColumns {
  /** Set if the server takes the statement only as a text, so that it is not prepared. */
  text?: string;
  /** The names of columns that the server would name otherwise, by their places. */
  readonly names: ReadonlyMap<number, string>;
  /** The columns of its last result, if they are kept. */
  lastColumns: ResultColumns | undefined;
  readonly kept: KeptOfConnection;
}

type Definitions = readonly protocol.ColumnDefinition[];

/** The columns of a result with derived data. */
export class ResultColumns {
  /** The concatenated packets of the definitions, and the end of each. */
  readonly bytes: Buffer;
  readonly ends: readonly number[];
  readonly sizes: readonly number[];
  /** True for rows of the text protocol. */
  readonly isText: boolean;
  /** True if the server wrote a text in another character set than the hub's. */
  readonly isForeign: boolean;
  /** The positions of a row's fields. All rows use the same array. */
  readonly offsets: Int32Array;
  readonly weight: number;
  readonly #definitions: Definitions;
  readonly #names: WithColumns['names'];
  #columns: SinkColumn[] | undefined;
  #outColumns: SinkColumn[] | undefined;

  constructor(
    packets: readonly Buffer[],
    definitions: Definitions,
    { text, names }: Pick<WithColumns, 'text' | 'names'>,
  ) {
    let end = 0;
    this.isText = text !== undefined;
    this.isForeign = definitions.some(isForeign);
    this.bytes = Buffer.concat(packets);
    this.ends = packets.map((packet) => (end += packet.length));
    this.sizes = definitions.map(({ type }) => sizeOf(type));
    this.offsets = new Int32Array(definitions.length * 2);
    this.weight = weightOf(definitions.length, this.bytes.length);
    this.#definitions = definitions;
    this.#names = names;
  }

  /** Returns the same array each time. */
  forSink(areOutParameters: boolean): readonly SinkColumn[] {
    if (areOutParameters) {
      this.#outColumns ??= this.#definitions.map(toOutParameter).map(toSinkColumn(outKindOf));
      return this.#outColumns;
    }
    this.#columns ??= this.#definitions
      .map(toSinkColumn(this.isText ? textKindOf : kindOf))
      .map((column, i) => ({ ...column, name: this.#names.get(i) ?? column.name }));
    return this.#columns;
  }

  /** The settings by which the server writes the values. */
  get formats(): protocol.Format[] {
    return this.#definitions.flatMap((definition) => formatOf(definition) ?? []);
  }

  /** True if the packet at `source[start, end)` equals the definition of column `i`. */
  matches(i: number, source: Buffer, { start, end }: { start: number; end: number }): boolean {
    const from = i === 0 ? 0 : (this.ends[i - 1] as number);
    const to = this.ends[i] as number;
    return to - from === end - start && source.compare(this.bytes, from, to, start, end) === 0;
  }
}

const toSinkColumn =
  (toKind: typeof kindOf) =>
  (column: protocol.ColumnDefinition): SinkColumn => ({
    name: column.name,
    type: typeName(column),
    kind: toKind(column),
  });

/** The most bytes of definitions that are stored with a statement. */
const keptBytesMax = 65_536;

/** Keeps the columns for the next run of the statement, if there is room, in place of those before. */
export function keepColumns(prepared: WithColumns, columns: ResultColumns | undefined): void {
  const { kept, lastColumns } = prepared;
  if (lastColumns !== undefined) kept.give(lastColumns.weight);
  const isKept = columns !== undefined && columns.bytes.length <= keptBytesMax && kept.take(columns.weight);
  prepared.lastColumns = isKept ? columns : undefined;
}

interface FreshColumns {
  reader: protocol.ColumnReader;
  packets: Buffer[];
}

/**
 * Reads the column definitions of a result. The server sends them with each execution. While their bytes are the same
 * as the last time, the derived data is reused.
 */
export class ResultColumnsReader {
  readonly #prepared: WithColumns;
  readonly #hasExtended: boolean;
  readonly count: number;
  /** True for more columns than the hub reads. Their definitions are dropped. */
  readonly isTooWide: boolean;
  /** The number of definitions that are the same as the last time, or were dropped. */
  #same = 0;
  /** Set at the first definition that differs. */
  #fresh: FreshColumns | undefined;

  constructor(prepared: WithColumns, count: number, hasExtended: boolean) {
    this.#prepared = prepared;
    this.count = count;
    this.isTooWide = count > protocol.columnsMax;
    this.#hasExtended = hasExtended;
    if (count < 0 || count > protocol.announcedColumnsMax)
      throw new RangeError('The server announced too many columns.');
    if (!this.isTooWide && prepared.lastColumns?.ends.length !== count) this.#readAnew();
  }

  /** The number of definitions that were read. */
  get seen(): number {
    return this.#fresh?.packets.length ?? this.#same;
  }

  /** Reads one definition. Returns true if it was the last. */
  read(source: Buffer, start: number, end: number): boolean {
    if (this.#fresh === undefined) {
      if (this.isTooWide || this.#prepared.lastColumns?.matches(this.#same, source, { start, end }))
        return ++this.#same === this.count;
      this.#readAnew();
    }
    return this.#readFresh(source, start, end);
  }

  /** The columns, available after the last definition. */
  get columns(): ResultColumns {
    const { lastColumns } = this.#prepared;
    if (this.#fresh === undefined) return lastColumns as ResultColumns;
    const { packets, reader } = this.#fresh;
    const columns = new ResultColumns(packets, reader.columns, this.#prepared);
    keepColumns(this.#prepared, columns);
    return columns;
  }

  #readAnew(): void {
    this.#fresh = { reader: new protocol.ColumnReader(this.count, this.#hasExtended), packets: [] };
    const { bytes, ends } = this.#prepared.lastColumns ?? noColumns;
    for (let i = 0; i < this.#same; i++) this.#readFresh(bytes, ends[i - 1] ?? 0, ends[i] as number);
  }

  #readFresh(source: Buffer, start: number, end: number): boolean {
    const { reader, packets } = this.#fresh as FreshColumns;
    reader.read(source, start, end);
    packets.push(Buffer.from(source.subarray(start, end)));
    return reader.whole;
  }
}

const noColumns = new ResultColumns([], [], { names: new Map() });
