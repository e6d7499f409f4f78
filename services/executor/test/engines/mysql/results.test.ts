import { describe, expect, it } from 'vitest';
import { ColumnReader } from '../../../src/engines/mysql/protocol.ts';
import { createTextReader } from '../../../src/engines/mysql/results.ts';

const text = (value: string) => [value.length, ...Buffer.from(value)];
const column = Buffer.from([
  ...['def', '', '', '', 'c', 'c'].flatMap(text),
  ...[0x0c, 45, 0, 4, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0],
]);
const nullValue = 0xfb;

describe('the definition of a column', () => {
  it('does not continue in the bytes after it', () => {
    const read = (bytes: number) => {
      const followed = Buffer.concat([column.subarray(0, bytes), Buffer.alloc(64)]);
      const reader = new ColumnReader(1, false);
      reader.read(followed, 0, bytes);
      return reader.columns;
    };
    const fillerBytes = 2;
    expect(read(column.length)).toMatchObject([{ name: 'c', type: 0xfd }]);
    for (let bytes = 0; bytes < column.length - fillerBytes; bytes++)
      expect(() => read(bytes), `${bytes} bytes`).toThrow('shorter than its fields');
  });

  it('has no text that is longer than it', () => {
    // The name takes 40,000 of the bytes that follow.
    const long = Buffer.concat([Buffer.from([0, 0, 0, 0, 0xfc, 0x40, 0x9c]), Buffer.alloc(60_000)]);
    expect(() => new ColumnReader(1, false).read(long, 0, 30)).toThrow(RangeError);
  });
});

describe('the name of a column', () => {
  it('has at most 4,096 bytes', () => {
    const named = (bytes: number) => {
      const length = Buffer.from([0xfd, bytes & 255, (bytes >> 8) & 255, bytes >> 16]);
      const name = Buffer.concat([length, Buffer.alloc(bytes, 97)]);
      const before = Buffer.from(['def', '', '', ''].flatMap(text));
      const definition = Buffer.concat([before, name, column.subarray(column.length - 15)]);
      const reader = new ColumnReader(1, false);
      reader.read(definition, 0, definition.length);
      return reader.columns[0]?.name.length;
    };
    expect(named(4_096)).toBe(4_096);
    expect(() => named(4_097)).toThrow('name of a column that is too long');
  });
});

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
    }).toThrow('names more tables and columns than the hub reads');
    // Each takes about 60 bytes of memory.
    expect(rows.length).toBeLessThan(600_000);
  });

  it('has no row that continues in the bytes after it', () => {
    const { rows, row } = readRow(2);
    expect(() => row(nullValue)).toThrow(RangeError);
    expect(() => row(nullValue, 5, 97)).toThrow('The server sent a row that is shorter than its columns.');
    row(nullValue, 1, 97);
    expect(rows).toEqual([[null, 'a']]);
  });
});
