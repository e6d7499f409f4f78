import { expect, it } from 'vitest';
import { readRowDescription } from '../../../src/engines/postgres/protocol.ts';

/** The body of a RowDescription of text columns with names of these lengths. */
function describing(...lengths: number[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeUInt16BE(lengths.length);
  const rest = Buffer.alloc(18);
  rest.writeUInt32BE(25, 6);
  const fields = lengths.flatMap((length) => [Buffer.alloc(length, 97), Buffer.of(0), rest]);
  return Buffer.concat([count, ...fields]);
}

it('reads the names of as many columns as a server may have', () => {
  const fields = readRowDescription(describing(...Array(1_664).fill(63), 4_096));
  expect(fields.map(({ name }) => name.length)).toEqual([...Array(1_664).fill(63), 4_096]);
  expect(fields.at(-1)).toMatchObject({ typeId: 25 });
});

it('refuses names that are longer than those of a server', () => {
  expect(() => readRowDescription(describing(4_097))).toThrow('names of columns that are too long');
  expect(() => readRowDescription(describing(...Array(129).fill(4_096)))).toThrow(RangeError);
});
