import { expect, it } from 'vitest';
import { formatStatement } from '../../../src/ui/editor/format.ts';

it.each([
  ['postgres', "select a::int, data->>'x' from t where id = :id and b = any(:ids::int[])"],
  ['postgres', 'select * from t where name = {{ name }} and x = :x'],
  ['mysql', 'select `a b` from t where id = :id limit :n'],
  ['mariadb', 'select * from t where id = {{id}} -- a remark'],
])('keeps the variables of a statement on %s', (engine, text) => {
  const formatted = formatStatement(text, engine);
  // Only spaces, line breaks and the case of keywords change.
  const plain = (one: string) => one.replaceAll(/\s+/g, '').toLowerCase();
  expect(plain(formatted)).toBe(plain(text));
  expect(formatted).toContain('\n');
  expect(formatted).toMatch(/^SELECT/);
});

it('refuses what it does not understand, and indents commands of MongoDB', () => {
  expect(() => formatStatement('select (', 'postgres')).toThrow();
  expect(formatStatement('{"find":"t","filter":{"a":":a"}}', 'mongodb')).toContain('\n  "find": "t"');
});

it.each([
  ['postgres', "select 'a'\n'b' as c"],
  ['postgres', "select 'a'\r'b' as c"],
  ['postgres', "select n'abc'"],
  ['postgres', "select U&'\\0041'\n'b'"],
  ['postgres', 'select @-5'],
  ['mysql', 'select 1 # a\r+1'],
  ['mysql', 'select /*! 1 + */ 2'],
])('leaves alone what the formatter would change on %s: %s', (engine, text) => {
  expect(() => formatStatement(text, engine)).toThrow();
});

it('keeps the names that MySQL makes of a text: of columns without AS, of tables and of aliases', () => {
  const text =
    'select start, end, a+b, count( * ) n, 1/3 as Third, case when a then b end as c from t Slow where a=-1';
  expect(formatStatement(text, 'mysql')).toBe(
    `SELECT
  start,
  end,
  a+b,
  count( * ) n,
  1 / 3 AS Third,
  CASE
    WHEN a THEN b
  END AS c
FROM
  t Slow
WHERE
  a = -1`,
  );
  expect(formatStatement('select distinct end from begin as x', 'mariadb')).toMatch(
    /DISTINCT\s+end\s+FROM\s+begin AS x/,
  );
  expect(formatStatement('select (select a+b from u) from t', 'mysql')).toContain('(select a+b from u)');
  // PostgreSQL makes no names of an expression's text.
  expect(formatStatement('select a+b from t', 'postgres')).toContain('a + b');
});
