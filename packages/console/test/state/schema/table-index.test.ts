import { expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { TableIndex } from '../../../src/state/schema/table-index.ts';

const column = (name: string, type = 'text') => ({ name, type, nullable: true });
const table = (name: string, columns: string[], schema = 'public') => ({
  schema,
  name,
  kind: 'table',
  columns: columns.map((one) => column(one)),
  primaryKey: [],
  foreignKeys: [],
});
const index = new TableIndex('s', [
  table('orders', ['id', 'region', 'placed_at']),
  table('order_items', ['order_id', 'product']),
  table('customers', ['id', 'name']),
  table('ledger', ['amount'], 'books'),
]);

/** `|` is where the cursor stands. */
function at(marked: string): string[] {
  const cursor = marked.indexOf('|');
  return index
    .complete({ text: marked.replace('|', ''), engine: 'postgres' }, cursor)
    .options.map(({ label }) => label);
}

it.each([
  ['SELECT * FROM ord|', ['order_items', 'orders']],
  ['SELECT * FROM orders JOIN c|', ['customers']],
  ['SELECT r| FROM orders', ['region']],
  ['SELECT o.| FROM orders o JOIN customers c', ['id', 'region', 'placed_at']],
  ['SELECT c.n| FROM orders o JOIN customers AS c', ['name']],
  ['SELECT orders.p| FROM orders WHERE id = 1', ['placed_at']],
  ['SELECT * FROM books.|', ['ledger']],
  ['SELECT * FROM "ord|', ['order_items', 'orders']],
])('completes %s', (text, expected) => expect(at(text)).toEqual(expected));

it('finds tables by name, by schema and by column, names first', () => {
  expect(index.search('order', 10).tables.map(({ name }) => name)).toEqual(['order_items', 'orders']);
  expect(index.search('books', 10).tables.map(({ name }) => name)).toEqual(['ledger']);
  expect(index.search('region', 10)).toMatchObject({ total: 1, tables: [{ name: 'orders' }] });
});

it('says that it left some out', () => {
  const many = Array.from({ length: 100 }, (_, n) => table(`part_${n}`, [`column_${n}`]));
  const cut = (text: string) =>
    new TableIndex('s', many).complete({ text, engine: 'postgres' }, text.length).cut;
  expect(cut('SELECT * FROM p')).toBe(true);
  expect(cut('SELECT * FROM part_9')).toBe(false);
  expect(cut('SELECT part_')).toBe(true);
  expect(cut('SELECT part_99')).toBe(false);
  // Tables are offered only for a longer word here.
  const short = 'SELECT c FROM part_1';
  expect(new TableIndex('s', many).complete({ text: short, engine: 'postgres' }, 8)).toMatchObject({
    cut: true,
    options: [{ label: 'column_1' }],
  });
});

it('reads the columns of the tables that a statement names, however many tables there are', () => {
  const columns = Array.from({ length: 10 }, (_, c) => `column_${c}`);
  const many = Array.from({ length: 20_000 }, (_, n) => table(`t_${n.toString(36)}_facts`, columns));
  let read = 0;
  const counted = many.map((one) => ({
    ...one,
    get columns() {
      read += 1;
      return one.columns;
    },
  }));
  const large = new TableIndex('s', counted);
  const readBy = (marked: string) => {
    read = 0;
    expect(
      large.complete({ text: marked.replace('|', ''), engine: 'postgres' }, marked.indexOf('|')).options,
    ).not.toEqual([]);
    return read;
  };
  expect(readBy('SELECT * FROM t_a|')).toBe(0);
  expect(readBy('SELECT * FROM fac|')).toBe(0);
  expect(readBy('SELECT col| FROM t_1_facts')).toBe(1);
});

it('completes the columns of a WITH, however long its literals are', async () => {
  const word = 'a'.repeat(400_000);
  expect(at(`WITH a AS (SELECT '${word}' AS first, o."second", x.third$) SELECT a.| FROM a`)).toEqual([
    'first',
    'second',
    'third$',
  ]);
  const complete = (size: number) => at(`WITH a AS (SELECT '${'a'.repeat(size)}') SELECT a.| FROM a`);
  await expectLinear(complete, 400_000);
});
