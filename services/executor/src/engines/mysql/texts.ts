/** Rows of a statement of the hub's own, in the text protocol: for small answers about the server itself. */

import { ownAnswerBytesMax } from '../shared/bounds.ts';
import { ColumnReader, readLength } from './protocol.ts';
import type { Response } from './wire.ts';

export type TextRow = (string | null)[];

const okHeader = 0x00;
const eofHeader = 0xfe;
const eofBytesMax = 9;

/** `rows` is filled by the time that the response is whole. */
export function createTextReader(hasExtended: boolean): { rows: TextRow[]; response: Response } {
  const rows: TextRow[] = [];
  let columns: ColumnReader | undefined;
  let state: 'columns' | 'columns-end' | 'rows' = 'columns';
  let bytes = 0;
  const response: Response = (source, start, end) => {
    bytes += end - start;
    if (bytes > ownAnswerBytesMax) throw new RangeError('The server answers with more than was asked for.');
    if (columns === undefined) {
      if (source[start] === okHeader) return true;
      columns = new ColumnReader(readLength(source, start).value, hasExtended);
    } else if (state === 'columns') {
      columns.read(source, start, end);
      if (columns.whole) state = 'columns-end';
    } else if (state === 'columns-end') {
      state = 'rows';
    } else {
      if (source[start] === eofHeader && end - start < eofBytesMax) return true;
      rows.push(readTextRow(source, start, columns.count));
    }
    return false;
  };
  return { rows, response };
}

function readTextRow(source: Buffer, start: number, count: number): TextRow {
  let at = start;
  return Array.from({ length: count }, () => {
    const { value, next } = readLength(source, at);
    at = next + Math.max(0, value);
    return value < 0 ? null : source.toString('utf8', next, at);
  });
}
