import { describe, expect, it } from 'vitest';
import { ColumnReader, readOk } from '../../../src/engines/mysql/protocol.ts';
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
    }).toThrow('names more types, tables and columns than the hub reads');
    // Each takes about 60 bytes of memory.
    expect(rows.length).toBeLessThan(60_000);
  });

  it('has a bounded number of fields that are NULL', () => {
    const { rows, row } = readRow(250);
    const nulls = new Array(250).fill(nullValue);
    expect(() => {
      for (;;) row(...nulls);
    }).toThrow('names more types, tables and columns than the hub reads');
    // Each field takes eight bytes of memory.
    expect(rows.length * 250 * 8).toBeLessThan(1_048_576);
  });

  it('has no row that continues in the bytes after it', () => {
    const { rows, row } = readRow(2);
    expect(() => row(nullValue)).toThrow(RangeError);
    expect(() => row(nullValue, 5, 97)).toThrow('The server sent a row that is shorter than its columns.');
    row(nullValue, 1, 97);
    expect(rows).toEqual([[null, 'a']]);
  });
});

describe('an OK', () => {
  /** With entries of a changed session, each a type and a content. */
  const okOf = (entries: Buffer) =>
    Buffer.concat([Buffer.from([0, 0, 0, 2, 0x40, 0, 0, 0, 0xfd]), int24(entries.length), entries]);
  const int24 = (value: number) => Buffer.from([value & 255, (value >> 8) & 255, value >> 16]);
  const setting = (name: string, value: string) => {
    const content = [...text(name), ...text(value)];
    return Buffer.from([0, content.length, ...content]);
  };
  const read = (...entries: Buffer[]) => {
    const packet = okOf(Buffer.concat(entries));
    return readOk(packet, 0, packet.length);
  };

  it('says which formats were changed', () => {
    const changed = read(
      setting('time_zone', 'SYSTEM'),
      setting('sql_mode', ''),
      setting('time_zone', 'UTC'),
    );
    expect(changed).toMatchObject({ sessionChanged: true, changed: new Set(['time_zone']) });
    const named = (charset: string) => read(setting('character_set_results', charset)).changed;
    expect([...named('utf8mb4'), ...named('latin1')]).toEqual(['character_set_results']);
  });

  it('has a bounded number of changes', () => {
    const empty = Buffer.from([0, 2, 0, 0]);
    const many = (count: number) => Buffer.concat(new Array(count).fill(empty));
    expect(read(many(1_000)).changed.size).toBe(0);
    expect(() => read(many(1_001))).toThrow('too many changes of the session');
  });
});
