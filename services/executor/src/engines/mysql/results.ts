/** Reads the response to an execution: columns, binary rows, end; of several results the first with rows is the answer. */

import type { Outcome } from '../../engine.ts';
import type { RowSink } from '../../row-sink.ts';
import { ColumnReader, readEof, readLength, readOk, type Status } from './protocol.ts';
import { encoderOf, isJson, sizeOf, typeName } from './values.ts';
import type { Response } from './wire.ts';

export interface ResultOptions {
  sink: RowSink;
  /** Filled as the response is read. */
  outcome: Outcome;
  hasExtended: boolean;
  rowsMax: number | undefined;
  discarding: () => boolean;
  /** At the end of each result. */
  onStatus: (status: Status) => void;
  pause: () => void;
  resume: () => void;
}

const okHeader = 0x00;
const eofHeader = 0xfe;
const eofBytesMax = 9;

export function createResultReader(options: ResultOptions): Response {
  const { sink, outcome, hasExtended } = options;
  const rowsMax = options.rowsMax ?? Number.POSITIVE_INFINITY;
  let state: 'head' | 'columns' | 'columns-end' | 'rows' = 'head';
  let head = new ColumnReader(0, hasExtended);
  let sizes: number[] = [];
  let offsets = new Int32Array(0);
  /** Rows of a second result are read and left. */
  let isAnswer = false;
  /** Also those after the most that is asked for: a write with RETURNING touched them all. */
  let rowsSeen = 0;

  const readHead = (source: Buffer, start: number, end: number): boolean => {
    if (source[start] === okHeader) {
      const status = readOk(source, start, end);
      const { affectedRows, insertId, moreResults } = status;
      options.onStatus(status);
      if (!outcome.hasRows) {
        outcome.affectedRows = affectedRows;
        if (insertId !== '0') outcome.insertId = insertId;
      }
      return !moreResults;
    }
    head = new ColumnReader(readLength(source, start).value, hasExtended);
    state = 'columns';
    return false;
  };

  const begin = (): void => {
    const { columns } = head;
    isAnswer = !outcome.hasRows;
    if (!isAnswer) return;
    outcome.hasRows = true;
    sizes = columns.map(({ type }) => sizeOf(type));
    offsets = new Int32Array(columns.length * 2);
    sink.begin(
      columns.map((column) => ({
        name: column.name,
        type: typeName(column),
        encode: encoderOf(column, sink.numbers),
        isJson: isJson(column),
      })),
    );
    sink.onDrain(options.resume);
  };

  const row = (source: Buffer, start: number, end: number): void => {
    if (!isAnswer) return;
    rowsSeen++;
    if (options.discarding()) return;
    if (outcome.rowCount >= rowsMax) {
      outcome.truncated = true;
      return;
    }
    outcome.rowCount++;
    if (findFields(source, { start, sizes, offsets }) > end)
      throw new RangeError('A row is shorter than its fields.');
    sink.row(source, offsets);
    if (sink.full) options.pause();
  };

  return (source, start, end) => {
    switch (state) {
      case 'head':
        return readHead(source, start, end);
      case 'columns':
        head.read(source, start, end);
        if (head.whole) state = 'columns-end';
        return false;
      case 'columns-end':
        begin();
        state = 'rows';
        return false;
      default:
        if (source[start] === eofHeader && end - start < eofBytesMax) {
          state = 'head';
          if (isAnswer) outcome.affectedRows = rowsSeen;
          // Rows are what is held back, and there are no more.
          options.resume();
          const status = readEof(source, start);
          options.onStatus(status);
          return !status.moreResults;
        }
        row(source, start, end);
        return false;
    }
  };
}

/** A binary row: a zero, a bit for each NULL from the third on, then the values one after the other. Gives where the last one ends. */
function findFields(
  source: Buffer,
  { start, sizes, offsets }: { start: number; sizes: number[]; offsets: Int32Array },
): number {
  let at = start + 1 + ((sizes.length + 9) >> 3);
  for (let i = 0; i < sizes.length; i++) {
    const bit = i + 2;
    if (((source[start + 1 + (bit >> 3)] as number) & (1 << (bit & 7))) !== 0) {
      offsets[2 * i] = -1;
      continue;
    }
    const size = sizes[i] as number;
    if (size >= 0) {
      offsets[2 * i] = at;
      at += size;
    } else if (size === -2) {
      offsets[2 * i] = at + 1;
      at += 1 + (source[at] as number);
    } else {
      const { value, next } = readLength(source, at);
      offsets[2 * i] = next;
      at = next + value;
    }
    offsets[2 * i + 1] = at;
  }
  return at;
}
