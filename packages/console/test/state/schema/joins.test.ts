import { expect, it } from 'vitest';
import { ctesIn } from '../../../src/state/schema/ctes.ts';
import { aliasFor } from '../../../src/state/schema/joins.ts';
import type { ForeignKey } from '../../../src/state/schema/protocol.ts';
import { TableIndex } from '../../../src/state/schema/table-index.ts';

const table = (name: string, columns: string[], foreignKeys: ForeignKey[] = [], schema = 'public') => ({
  schema,
  name,
  kind: 'table',
  columns: columns.map((column) => ({ name: column, type: 'text', nullable: true })),
  primaryKey: [],
  foreignKeys,
});
const references = (columns: string[], name: string, referencedColumns: string[]): ForeignKey => ({
  columns,
  schema: 'public',
  table: name,
  referencedColumns,
});
const index = new TableIndex('s', [
  table('orders', ['id', 'customer_id'], [references(['customer_id'], 'customers', ['id'])]),
  table('customers', ['id', 'name']),
  table('units', ['area', 'no'], [references(['area', 'no'], 'zones', ['code', 'number'])]),
  table('zones', ['code', 'number']),
  table('ledger', ['amount'], [], 'books'),
]);
const at = (marked: string): string[] => {
  const cursor = marked.indexOf('|');
  return index
    .complete({ text: marked.replace('|', ''), engine: 'postgres' }, cursor)
    .options.map(({ label }) => label);
};

it('offers joins by foreign keys, from both sides', () => {
  expect(at('SELECT * FROM orders o JOIN |')[0]).toBe('customers c ON c.id = o.customer_id');
  expect(at('SELECT * FROM customers c JOIN or|')[0]).toBe('orders o ON o.customer_id = c.id');
  expect(at('SELECT * FROM orders c JOIN |')[0]).toBe('customers c2 ON c2.id = c.customer_id');
  expect(at('SELECT * FROM units u JOIN |')[0]).toBe('zones z ON z.code = u.area AND z.number = u.no');
  expect(at('SELECT * FROM ledger l JOIN c|')).toEqual(['customers']);
});

it.each([
  ['postgres', 'SELECT * FROM sales.orders o JOIN |', '"User" u ON u.id = o."userId"'],
  ['postgres', 'SELECT * FROM "User" JOIN |', 'sales.orders o ON o."userId" = "User".id'],
  ['postgres', 'SELECT * FROM public.orders JOIN |', 'areas a ON a."offset" = orders.rank$'],
  ['postgres', 'SELECT * FROM ord|', 'orders'],
  ['postgres', 'SELECT * FROM ord|', 'sales.orders'],
  ['postgres', 'SELECT * FROM sales.ord|', 'orders'],
  ['postgres', 'WITH Big AS (SELECT 1 AS One, 2 AS "Two") SELECT * FROM b|', 'big'],
  ['postgres', 'WITH Big AS (SELECT 1 AS One, 2 AS "Two") SELECT b.| FROM Big b', 'one'],
  ['postgres', 'WITH Big AS (SELECT 1 AS One, 2 AS "Two") SELECT b.| FROM Big b', '"Two"'],
  ['mysql', 'SELECT * FROM sales.orders O JOIN |', 'User u ON u.id = O.userId'],
  ['mariadb', 'SELECT * FROM public.orders JOIN |', 'areas a ON a.`offset` = orders.rank$'],
  ['mysql', 'WITH Big AS (SELECT 1 AS `Rows`) SELECT b.| FROM Big b', '`Rows`'],
])('writes names as %s needs them in %s', (engine, marked, expected) => {
  const named = new TableIndex('s', [
    table('User', ['id']),
    table('orders', ['userId'], [references(['userId'], 'User', ['id'])], 'sales'),
    table('orders', ['rank$'], [references(['rank$'], 'areas', ['offset'])]),
    table('areas', ['offset']),
  ]);
  const statement = { text: marked.replace('|', ''), engine };
  const found = named.complete(statement, marked.indexOf('|')).options;
  expect(found.map(({ insert }) => insert)).toContain(expected);
});

it('offers the names and columns of a WITH, and schemas', () => {
  const text =
    'WITH big AS (SELECT o.id, sum(x) AS total, f(a, b) FROM orders o), c (n, m) AS (SELECT 1, 2) ';
  expect(ctesIn(text, 'postgres')).toEqual([
    { name: 'big', columns: ['id', 'total'] },
    { name: 'c', columns: ['n', 'm'] },
  ]);
  expect(at(`${text}SELECT * FROM bi|`)).toEqual(['big']);
  expect(at(`${text}SELECT b.| FROM big b`)).toEqual(['id', 'total']);
  expect(at(`${text}SELECT to| FROM big`)).toEqual(['total', 'customers']);
  expect(at('SELECT * FROM boo|')).toEqual(['books']);
  expect(ctesIn('SELECT 1, x AS (', 'postgres')).toEqual([]);
});

it('makes short names that are no words of SQL', () => {
  expect(aliasFor('order_items', new Set(['oi']), 'postgres')).toBe('oi2');
  expect(aliasFor('odd_numbers', new Set(), 'postgres')).toBe('on2');
  expect(aliasFor('2024', new Set(), 'postgres')).toBe('t');
});
