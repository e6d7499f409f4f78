import { expect, test } from 'vitest';
import { kindOf, typeName } from '../../../src/engines/mysql/values.ts';
import { jsonEncoder } from '../../../src/result/values/json-values.ts';
import { ByteWriter } from '../../../src/result/values/primitives.ts';

const float = 0x04;
const double = 0x05;

const columnOf = (type: number) => ({
  name: 'v',
  schema: '',
  table: '',
  isOfMariadb: false,
  type,
  charset: 63,
  length: 0,
  flags: 0,
  decimals: 31,
  extended: '',
});

function write(type: number, value: number): string {
  const source = Buffer.alloc(8);
  if (type === float) source.writeFloatLE(value);
  else source.writeDoubleLE(value);
  const out = new ByteWriter();
  jsonEncoder(kindOf(columnOf(type)), 'auto')(out, source, 0, type === float ? 4 : 8);
  return out.buffer.toString('latin1', 0, out.position);
}

test('a negative zero keeps its sign, which MySQL sends and MariaDB does not', () => {
  expect(write(double, -0)).toBe('-0');
  expect(write(float, -0)).toBe('-0');
});

test('the smallest floats have as few digits as PostgreSQL gives them', () => {
  expect(write(float, 2 ** -149)).toBe('1e-45');
  expect(write(float, 2 ** -126)).toBe('1.1754944e-38');
});

test('a float has the fewest digits that parse to the same value', () => {
  for (const text of ['0.1', '16777216', '3.4028235e+38', '-1.5', '1e-10']) {
    expect(Number(write(float, Number(text)))).toBe(Number(text));
  }
});

test('a type has the name of its column, for any flags', () => {
  const unsigned = 0x20;
  const nameOf = (type: number) => typeName({ ...columnOf(type), flags: unsigned });
  expect([3, 8, 246].map(nameOf)).toEqual(['int unsigned', 'bigint unsigned', 'decimal unsigned']);
  expect([7, 13, 16].map(nameOf)).toEqual(['timestamp', 'year', 'bit']);
});
