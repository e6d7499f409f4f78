import { expect, it } from 'vitest';
import { RowStore } from '../../../src/state/rows/row-store.ts';

const columns = [
  { name: 'customer_id', type: 'bigint' },
  { name: 'total', type: 'numeric' },
  { name: 'at', type: 'timestamptz' },
  { name: 'note', type: 'text' },
];

async function found(filter: string): Promise<number[]> {
  const store = new RowStore(columns);
  store.add([
    '{"customer_id":12345,"total":1234.50,"at":"2026-11-24T10:00:00.000Z","note":"first"}',
    '{"customer_id":678,"total":"9007199254740993","at":"2026-11-25T10:00:00.500Z","note":null}',
  ]);
  await store.arrange({ sort: undefined, filter }, () => true);
  return Array.from({ length: store.length }, (_, row) => store.lineAt(row));
}

it('finds numbers and times as they are drawn, and as they are', async () => {
  expect(await found('1,234')).toEqual([0]);
  expect(await found('1234.5')).toEqual([0]);
  expect(await found('9,007,199,254,740,993')).toEqual([1]);
  expect(await found('2026-11-24 10:00:00Z')).toEqual([0]);
  expect(await found('2026-11-25T10')).toEqual([1]);
  expect(await found('25 10:00:00.500')).toEqual([1]);
  expect(await found('FIRST')).toEqual([0]);
});

it('draws ids without separators, so that a filter does not find them with one', async () => {
  expect(await found('12,345')).toEqual([]);
  expect(await found('12345')).toEqual([0]);
});
