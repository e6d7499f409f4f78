import { expect, it } from 'vitest';
import { RowStore } from '../../../src/state/rows/row-store.ts';
import { hasOtherOrder } from '../../../src/state/rows/sort-keys.ts';

/** The cells of a column in the order in which the table shows them. */
async function sorted(type: string, values: unknown[], descending = false): Promise<unknown[]> {
  const store = new RowStore([{ name: 'v', type }]);
  store.add(values.map((v) => JSON.stringify({ v })));
  await store.arrange({ sort: { column: 0, descending }, filter: '' }, () => true);
  return Array.from({ length: store.length }, (_, row) => JSON.parse(store.cells(row)[0] as string));
}

it('sorts numbers by all their digits, NaN above all others, and nulls last', async () => {
  const values = ['90', 'NaN', '3', null, '97', 'NaN', '-Infinity', '1e3', '37.50', '37.5'];
  const order = ['-Infinity', '3', '37.50', '37.5', '90', '97', '1e3', 'NaN', 'NaN', null];
  expect(await sorted('numeric', values)).toEqual(order);
  expect(await sorted('numeric', values, true)).toEqual([
    ...['NaN', 'NaN', '1e3', '97', '90', '37.50', '37.5'],
    ...['3', '-Infinity', null],
  ]);
  const long = ['9007199254740993', '123456789012345678901234567891', '9007199254740992', '-5', '10'];
  expect(await sorted('bigint', long)).toEqual([
    ...['-5', '10', '9007199254740992', '9007199254740993'],
    '123456789012345678901234567891',
  ]);
});

it('sorts dates and times by when they are, whatever their year and their fraction', async () => {
  const days = ['12026-01-01', '0999-01-01', 'infinity', '0044-03-15 BC', '-infinity', '0100-01-01 BC'];
  const order = ['-infinity', '0100-01-01 BC', '0044-03-15 BC', '0999-01-01', '12026-01-01', 'infinity'];
  expect(await sorted('date', days)).toEqual(order);
  const times = ['2026-01-01T10:00:00.5Z', '2026-01-01T10:00:00Z', '2026-01-01T10:00:01Z'];
  expect(await sorted('timestamptz', times)).toEqual([times[1], times[0], times[2]]);
});

it('sorts texts as they are', async () => {
  expect(await sorted('text', ['b', '10', null, 'a', '9'])).toEqual(['10', '9', 'a', 'b', null]);
});

it('knows the types whose texts are in another order than their values', () => {
  const types = ['money', 'interval', 'time', 'timetz', 'time with time zone', 'inet', 'integer[]'];
  expect(types.filter((type) => !hasOtherOrder(type))).toEqual([]);
  const others = ['text', 'timestamp', 'timestamptz', 'date', 'integer', 'uuid', ''];
  expect(others.filter(hasOtherOrder)).toEqual([]);
});
