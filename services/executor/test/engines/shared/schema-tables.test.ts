import { expect, it } from 'vitest';
import { schemaColumnsMax, toSchema } from '../../../src/engines/shared/schema-tables.ts';

const columnsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    schema: 's',
    name,
    kind: 'table' as const,
    column: { name: `c${i}`, type: 'integer' },
  }));
const shapeOf = (columns: ReturnType<typeof columnsOf>) => {
  const { tables, truncated } = toSchema(columns);
  return [tables.map(({ name, columns }) => `${name} ${columns.length}`), truncated];
};

it('says when there are more columns than one answer holds, and shows whole tables', () => {
  const rest = schemaColumnsMax - 2;
  expect(shapeOf([...columnsOf('a', 2), ...columnsOf('b', rest)])).toEqual([['a 2', `b ${rest}`], undefined]);
  expect(shapeOf([...columnsOf('a', 2), ...columnsOf('b', rest + 1)])).toEqual([['a 2'], true]);
  expect(shapeOf([...columnsOf('a', 2), ...columnsOf('b', rest), ...columnsOf('c', 1)])).toEqual([
    ['a 2', `b ${rest}`],
    true,
  ]);
  expect(shapeOf(columnsOf('a', schemaColumnsMax + 1))).toEqual([[`a ${schemaColumnsMax}`], true]);
});
