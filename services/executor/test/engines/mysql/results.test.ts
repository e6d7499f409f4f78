import { describe, expect, it } from 'vitest';
import { createTextReader } from '../../../src/engines/mysql/results.ts';

const text = (value: string) => [value.length, ...Buffer.from(value)];
const column = Buffer.from([
  ...['def', '', '', '', 'c', 'c'].flatMap(text),
  ...[0x0c, 45, 0, 4, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0],
]);
const nullValue = 0xfb;

describe('the answer to a query of the hub', () => {
  /** Reads packets as they lie in a buffer with what follows them. */
  const readRow = (columns: number) => {
    const { rows, response } = createTextReader(false);
    const take = (packet: Buffer) => response(Buffer.concat([packet, Buffer.alloc(64)]), 0, packet.length);
    take(Buffer.from([columns]));
    for (let i = 0; i < columns; i++) take(column);
    take(Buffer.from([0xfe, 0, 0, 2, 0]));
    return { rows, row: (...bytes: number[]) => take(Buffer.from(bytes)) };
  };

  it('has a bounded number of rows of one byte', () => {
    const { rows, row } = readRow(1);
    expect(() => {
      for (;;) row(nullValue);
    }).toThrow('The response to a query of the hub is too long.');
    // Each takes about 60 bytes of memory.
    expect(rows.length).toBeLessThan(300_000);
  });

  it('has no row that continues in the bytes after it', () => {
    const { rows, row } = readRow(2);
    expect(() => row(nullValue)).toThrow(RangeError);
    expect(() => row(nullValue, 5, 97)).toThrow('The server sent a row that is shorter than its columns.');
    row(nullValue, 1, 97);
    expect(rows).toEqual([[null, 'a']]);
  });
});
