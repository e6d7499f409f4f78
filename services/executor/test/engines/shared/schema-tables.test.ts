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
  const { tables, truncated } = toSchema(columns, []);
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

it('groups the columns of keys, and leaves out those of tables that are not shown', () => {
  const at = (name: string, key: string, column: string) => ({ schema: 's', name, key, column });
  const to = (table: string, column: string) => ({ schema: 's', table, column });
  const { tables } = toSchema(
    [...columnsOf('a', 2), ...columnsOf('b', 1)],
    [
      { ...at('a', 'first', 'c0'), referenced: to('x', 'i') },
      { ...at('a', 'first', 'c1'), referenced: to('x', 'j') },
      { ...at('a', 'second', 'c1'), referenced: to('b', 'c0') },
      { ...at('a', 'a_pkey', 'c1'), referenced: undefined },
      { ...at('a', 'a_pkey', 'c0'), referenced: undefined },
      { ...at('hidden', 'h_pkey', 'c0'), referenced: undefined },
      { ...at('hidden', 'first', 'c0'), referenced: to('b', 'c0') },
    ],
  );
  expect(tables).toMatchObject([
    {
      primaryKey: ['c1', 'c0'],
      foreignKeys: [
        { columns: ['c0', 'c1'], schema: 's', table: 'x', referencedColumns: ['i', 'j'] },
        { columns: ['c1'], schema: 's', table: 'b', referencedColumns: ['c0'] },
      ],
    },
    { primaryKey: [], foreignKeys: [] },
  ]);
});
