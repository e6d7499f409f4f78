import { expect, it } from 'vitest';
import { sumsOf } from '../../src/sums.ts';

const of = (list: string, engine: 'postgres' | 'mysql' = 'postgres') => [
  ...sumsOf(`SELECT region, ${list} FROM sales WHERE x = :x GROUP BY 1;`, engine),
];

it.each([
  ['sum(revenue) AS revenue', 'revenue'],
  ['count(*) AS "How many"', 'How many'],
  ['sum(total - refunded) AS Net', 'net'],
  ['coalesce(sum(x), 0)::numeric(12, 2) AS a', 'a'],
  ['sum(a) FILTER (WHERE b > 1) + count(c) n', 'n'],
  ['round(sum(x) / 1.0, 2) - 1 AS x, (sum(y)) AS y', 'y'],
  ['round(sum(x)) + round(sum(y)::numeric, 2) AS x', 'x'],
  ['cast(sum(x) AS decimal(10, 2)) AS x', 'x'],
  ['sum(x)', 'sum'],
])('adds %s', (list, name) => {
  expect(of(list)).toEqual([name]);
});

it.each([
  'avg(x) AS x',
  'sum(a) / sum(b) AS ratio',
  'round(sum(a) / count(*), 2) AS mean',
  'round(sum(a) * 100 / (sum(a) + 5)) AS share',
  '100.0 * sum(a) / count(*) AS share',
  'count(DISTINCT customer) AS customers',
  'sum(x) OVER (ORDER BY day) AS running',
  'max(x) AS most',
  'revenue',
  'coalesce(sum(x), 1) AS x',
  'sum(x) AS x, *',
  '(SELECT sum(x) FROM t) AS x',
  'max(x) AS s, sum(x) AS s',
  'sum(x) AS s, max(x) AS s',
  'sum(x) AS region',
])('does not add %s', (list) => {
  expect(of(list)).toEqual([]);
});

it('leaves out a sum in far more parentheses than people write', () => {
  const within = (depth: number) => of(`${'('.repeat(depth)}sum(x)${')'.repeat(depth)} AS x`);
  expect([within(20), within(20_000)]).toEqual([['x'], []]);
});

it('names columns as the server does', () => {
  expect(of('sum(x) AS Revenue, COUNT(*)', 'mysql')).toEqual(['Revenue', 'COUNT(*)']);
});

it('knows nothing of subtotals, of several SELECTs and of unfinished texts', () => {
  expect(sumsOf('SELECT a, sum(b) AS b FROM t GROUP BY ROLLUP (a)', 'postgres').size).toBe(0);
  expect(sumsOf('SELECT a, sum(b) AS b FROM t UNION SELECT a, avg(b) FROM t', 'postgres').size).toBe(0);
  expect(sumsOf("SELECT sum(b AS b, 'x", 'postgres').size).toBe(0);
  expect([...sumsOf('WITH t AS (SELECT avg(x) AS x) SELECT sum(x) AS total FROM t', 'mysql')]).toEqual([
    'total',
  ]);
});
