import { expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../src/compile.ts';

const warnings = (text: string, dialect: Dialect = 'postgres', declared: string[] = []) =>
  compileStatement(text, { dialect, command: 'SELECT', variables: declared.map((key) => ({ key })) })
    .warnings()
    .map(({ code, line, column }) => `${code} ${line}:${column}`);

it.each([
  ["SELECT *\nFROM t WHERE a = ':x'", ['QUOTED_VARIABLE 2:19']],
  ["SELECT a FROM t WHERE a LIKE '%:x%'", ['QUOTED_VARIABLE 1:32']],
  ["SELECT a FROM t WHERE a = :x AND b = 'at :x'", ['QUOTED_VARIABLE 1:42']],
  ["SELECT 'at :y', 'urn:isbn', '12:30:00', 'x::int', 'a:b' FROM t", []],
  ['SELECT a FROM t ORDER BY :x', ['ORDER_BY_VARIABLE 1:26']],
  ['SELECT a FROM t ORDER BY a, :x DESC LIMIT :n', ['ORDER_BY_VARIABLE 1:29']],
  ['SELECT row_number() OVER (ORDER BY :x) FROM t', ['ORDER_BY_VARIABLE 1:36']],
  ['SELECT a FROM t ORDER BY CASE :x WHEN 1 THEN a END, b + :x, coalesce(a, :x), :x + a LIMIT 1', []],
  ['SELECT a FROM (SELECT a FROM t ORDER BY a) s WHERE a IN (1, :x) LIMIT :n', []],
  ['SELECT a FROM :t', ['TABLE_VARIABLE 1:15']],
  ['SELECT a FROM t JOIN :u ON true', ['TABLE_VARIABLE 1:22']],
  ['SELECT a FROM (SELECT 1 FROM :t) s', ['TABLE_VARIABLE 1:30']],
  ['SELECT extract(year FROM :at), trim(FROM :x), a IS DISTINCT FROM :b FROM t', []],
  ['SELECT names[:i], names[ :j ] FROM t', ['SLICE_BOUND 1:14', 'SLICE_BOUND 1:26']],
  ['SELECT names[1:n], names[: n], names[:1], names[{{i}}], ARRAY[:x] FROM t', []],
  ['SELECT a FROM t FOR UPDATE', ['LOCKING_READ 1:17']],
  ['SELECT a FROM (SELECT a FROM t FOR NO KEY UPDATE) s', ['LOCKING_READ 1:32']],
  ['WITH w AS (DELETE FROM t RETURNING a) SELECT a FROM w', ['WRITING_WITH 1:12']],
  [
    'WITH v AS (SELECT 1), w AS NOT MATERIALIZED (\nWITH u AS (SELECT 2) insert INTO t TABLE u RETURNING a), x AS (UPDATE t SET a = 1) SELECT a FROM w',
    ['WRITING_WITH 2:22', 'WRITING_WITH 2:64'],
  ],
  ["WITH w AS (SELECT (1) update, '(DELETE' FROM t) SELECT CAST(a AS int) FROM w", []],
  ['SELECT substring(a FOR 2), substring(a FROM 1 FOR length) FROM t', []],
])('%s', (text, expected) => {
  expect(warnings(text)).toEqual(expected);
});

it('uses the quotes of each dialect, and declared names', () => {
  expect(warnings('SELECT ":x" FROM t', 'mysql')).toEqual(['QUOTED_VARIABLE 1:9']);
  expect(warnings('SELECT `:x` FROM t', 'mysql')).toEqual([]);
  expect(warnings('SELECT a FROM t FOR UPDATE', 'mysql')).toEqual(['LOCKING_READ 1:17']);
  expect(warnings('SELECT a FROM t FOR SHARE')).toEqual(['LOCKING_READ 1:17']);
  expect(warnings('SELECT a FROM t FOR SHARE', 'mysql')).toEqual([]);
  for (const dialect of ['mysql', 'mariadb'] as const)
    expect(warnings('WITH w AS (DELETE FROM t) SELECT 1', dialect)).toEqual(['WRITING_WITH 1:12']);
  expect(warnings('SELECT names[:i] FROM t', 'postgres', ['i'])).toEqual([]);
  expect(warnings("SELECT 'at :y'", 'postgres', ['y'])).toEqual(['QUOTED_VARIABLE 1:12']);
});

it.each([
  ['a = :l', ['LIST_COMPARED 1:27']],
  ['a IN (:l, 5) OR a LIKE :l', ['LIST_COMPARED 1:46']],
  ['JSON_CONTAINS(a, :l)', ['LIST_AS_JSON 1:40']],
  [':l IS NULL OR a IN (:l)', []],
  ['a = :x AND a IN (:y)', []],
  ['a = :y OR a IN (:y)', ['LIST_COMPARED 1:27']],
  ['a = :d', ['LIST_COMPARED 1:27']],
])('says on MySQL where a list is none: %s', (condition, expected) => {
  const found = (dialect: Dialect) =>
    compileStatement(`SELECT a FROM t WHERE ${condition}`, {
      dialect,
      command: 'SELECT',
      variables: [
        { key: 'l', type: 'integer[]' },
        { key: 'd', valueJson: '[1]' },
      ],
    })
      .warnings()
      .map(({ code, line, column }) => `${code} ${line}:${column}`);
  for (const dialect of ['mysql', 'mariadb'] as const) expect(found(dialect)).toEqual(expected);
  expect(found('postgres')).toEqual([]);
});

it('says where MariaDB compares JSON as text', () => {
  const found = (dialect: Dialect) =>
    compileStatement('SELECT a FROM t WHERE a = :j AND JSON_EQUALS(a, :j) AND a IN (:j)', {
      dialect,
      command: 'SELECT',
      variables: [{ key: 'j', type: 'json' }],
    })
      .warnings()
      .map(({ code, column }) => `${code} ${column}`)
      .filter((one) => one.startsWith('JSON'));
  expect(found('mariadb')).toEqual(['JSON_COMPARED 27', 'JSON_COMPARED 63']);
  expect(found('mysql')).toEqual([]);
  expect(found('postgres')).toEqual([]);
});

it('lists a bounded number of warnings', () => {
  expect(warnings(`SELECT ${"':x',".repeat(10_000)} 1`)).toHaveLength(20);
});

it.each([
  ['CALL', 'WITH w AS (DELETE FROM t RETURNING a) SELECT a FROM w FOR UPDATE'],
  ['INSERT', 'WITH w AS (DELETE FROM t RETURNING a) INSERT INTO u SELECT a FROM w'],
  ['EXPLAIN', 'EXPLAIN WITH w AS (DELETE FROM t RETURNING a) SELECT a FROM w'],
])('lets a statement write under %s', (command, text) => {
  expect(compileStatement(text, { dialect: 'postgres', command, variables: [] }).warnings()).toEqual([]);
});
