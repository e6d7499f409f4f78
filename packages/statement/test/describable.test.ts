import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../src/compile.ts';

const compileWith = (text: string, variables: { key: string; type?: string; valueJson?: string }[] = []) =>
  compileStatement(text, { dialect: 'postgres', command: 'SELECT', variables });

describe('a text', () => {
  it('for describing has a list if the type, the default or the position implies one', () => {
    const texts = (text: string, ...variables: NonNullable<Parameters<typeof compileWith>[1]>) =>
      compileWith(text, variables)
        .describable()
        .map((form) => form.text);
    const text = 'SELECT x IN (:c)';
    expect(texts(text, { key: 'c', type: 'bigint[]' })).toEqual(['SELECT x = ANY ($1::bigint[])']);
    expect(texts(text, { key: 'c', type: 'bigint' })).toEqual(['SELECT x IN ($1::bigint)']);
    expect(texts(text, { key: 'c', valueJson: '7' })).toEqual(['SELECT x IN ($1)', 'SELECT x = ANY ($1)']);
    expect(texts(text, { key: 'c', valueJson: '[7]' })).toEqual(['SELECT x = ANY ($1)', 'SELECT x IN ($1)']);
    expect(texts('SELECT x IN (:c), :c + 1, y IN (:d)')).toEqual([
      'SELECT x = ANY ($1), $1 + 1, y = ANY ($2)',
      'SELECT x IN ($1), $1 + 1, y = ANY ($2)',
      'SELECT x IN ($1), $1 + 1, y IN ($2)',
    ]);
  });

  it('of a variable that is declared as a list is NULL and still a list', () => {
    const compiled = compileWith('SELECT x NOT IN (:c)', [{ key: 'c', type: 'bigint[]' }]);
    expect(compiled.bind({ pinnedJson: '', contextJson: '{"c": null}' })).toMatchObject({
      text: 'SELECT x <> ALL ($1::bigint[])',
      params: [null],
    });
  });
});

describe('the nullability of columns', () => {
  const facts = (text: string, dialect: Dialect = 'postgres') =>
    compileStatement(text, { dialect, command: 'SELECT', variables: [] }).columnFacts();

  it.each([
    ['SELECT a FROM t', true, true],
    ['SELECT a FROM t JOIN u USING (id) WHERE b IN (1, 2)', true, true],
    ['WITH t AS (SELECT 1) SELECT a FROM t', true, true],
    ['SELECT "left" FROM t', true, false],
    ['SELECT a FROM t LEFT JOIN u USING (id)', false, false],
    ['SELECT a FROM u right join t USING (id)', false, false],
    ['SELECT a FROM t FULL JOIN u USING (id)', false, false],
    ['SELECT a FROM t GROUP BY ROLLUP (a)', false, false],
    ['SELECT a FROM t GROUP BY a WITH CUBE', false, false],
    ['SELECT a, GROUPING(a) FROM t GROUP BY GROUPING SETS (a, ())', false, false],
    // PostgreSQL reports no table for the columns of a UNION.
    ['SELECT a FROM t UNION SELECT b FROM u', true, false],
    ['SELECT a FROM t EXCEPT SELECT b FROM u', true, false],
    // Columns beside an aggregate are NULL when it has no rows.
    ['SELECT a, count(*) FROM t', true, false],
    ['SELECT a, shop.median_of(b) FROM t', true, false],
    ['SELECT a, upper(b), coalesce(c, 1) FROM t', true, true],
    ['SELECT a FROM t HAVING a > 1', true, false],
    ['SHOW a', false, false],
  ])('%s keeps NOT NULL: %s, on MySQL %s', (text, onPostgres, onMysql) => {
    const command = text.startsWith('SHOW') ? 'SHOW' : 'SELECT';
    const keeps = (dialect: Dialect) =>
      compileStatement(text, { dialect, command, variables: [] }).columnFacts().keepsNotNull;
    expect(keeps('postgres')).toBe(onPostgres);
    if (!text.includes('"')) expect(keeps('mysql')).toBe(onMysql);
  });

  it('is found for expressions of the outermost SELECT', () => {
    const text = `SELECT count(*), COUNT( * ) AS n, exists (SELECT 1) found, 1, -1.5 x, 'a' AS b, true,
      count(a), count(DISTINCT a) FILTER (WHERE b), exists (SELECT 1) IS NULL, 'a'::int,
      a, "a" b, 1 + a, count(*) + a, NULL, date '2026-01-01', "count"(a), t.count(a)
      FROM t WHERE a IN (SELECT 1, 2)`;
    expect(facts(text).neverNull).toEqual([
      ...[true, true, true, true, true, true, true],
      ...[true, true, true, true],
      ...[false, false, false, false, false, false, false, false],
    ]);
    expect(facts('SELECT DISTINCT 1, a FROM t').neverNull).toEqual([true, false]);
    const variables = facts('SELECT :a, :b AS x, -:a, (SELECT :a), y FROM t', 'mysql').variables;
    expect(variables).toEqual(['a', 'b', undefined, undefined, undefined]);
    expect(facts('SELECT :a AS x UNION SELECT 2', 'mysql').variables).toEqual([]);
    expect(facts('WITH x AS (SELECT a) SELECT 1 FROM x').neverNull).toEqual([true]);
    expect(facts("SELECT `a`, 1, 'x' FROM t", 'mysql').neverNull).toEqual([false, true, true]);
    expect(facts("SELECT count(*), 1, 'x' FROM t", 'mysql').neverNull).toEqual([true, false, false]);
  });

  it.each([
    'SELECT 1 UNION SELECT NULL',
    'SELECT 1 FROM t GROUP BY ROLLUP (1)',
    'SELECT *, 1 FROM t',
    'SELECT t.*, 1 FROM t',
    'SELECT DISTINCT ON (a) 1 FROM t',
    '(SELECT 1)',
  ])('is unknown for the expressions of %s', (text) => {
    expect(facts(text).neverNull).toEqual([]);
  });

  it.each<[text: string, tables: string[], kept: boolean[]]>([
    ['SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x', ['a'], [true, false]],
    [
      'SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON left(a.x, 1) = b.x JOIN c ON true',
      ['a', 'c'],
      [true, false, true],
    ],
    ['SELECT x.id, "X".id FROM s.t AS x LEFT OUTER JOIN t "X" USING (id), u', ['u'], [true, false]],
    ['SELECT a.* FROM a NATURAL LEFT JOIN b CROSS JOIN c', ['a', 'c'], []],
    [
      'WITH a AS (SELECT 1) SELECT a.id, s.id FROM a LEFT JOIN b ON true JOIN s.a s ON true',
      [],
      [false, true],
    ],
    // The rows of b and of c can be NULL together.
    ['SELECT a.id, c.id FROM a LEFT JOIN b JOIN c ON true ON true', [], [false, false]],
    ['SELECT a.id FROM a RIGHT JOIN b ON true', [], [false]],
    ['SELECT a.id FROM a FULL JOIN b ON true', [], [false]],
    ['SELECT a.id FROM a UNION SELECT 1', [], [false]],
    ['SELECT a.id FROM (SELECT 1) a LEFT JOIN b ON true', [], [false]],
    ['SELECT a.id FROM f(1) a LEFT JOIN b ON true', [], [false]],
    ['SELECT a.id FROM LATERAL (SELECT 1) a LEFT JOIN b ON true', [], [false]],
    ['SELECT a.id FROM (a LEFT JOIN b ON true)', [], [false]],
    // A subquery passes on a column of a.
    ['SELECT b.id, a.id FROM a LEFT JOIN LATERAL (SELECT a.id) b ON false', [], [false, true]],
    ['SELECT a.id FROM a GROUP BY ROLLUP (a.id)', [], []],
  ])('of %s is kept for %j and %j', (text, tables, kept) => {
    const found = facts(text);
    expect([...found.keptTables].sort()).toEqual(tables);
    expect(found.kept).toEqual(kept);
  });

  it.each([
    ["coalesce(a, 'x')", true],
    ['coalesce(a, coalesce(b, 0)) n', true],
    ["coalesce(a, 'x'::text)", true],
    ['coalesce(a, b)', false],
    ['coalesce(a, NULL)', false],
    ["coalesce(a, 'x') || b", false],
    ["coalesce('x')", false],
    ['coalesce(a, 1, b)', true],
    ['NOT EXISTS (SELECT 1)', true],
    ['a IS NULL', true],
    ['a + b * c IS NOT NULL n', true],
    ['NOT a IS TRUE OR b IS UNKNOWN', true],
    ['a IS NULL AND b', false],
    ['a || (b IS NULL)', false],
    ['a IS DISTINCT', false],
    ['count(*) > 0', true],
    ['count(*) >= count(a) more', true],
    ['count(*) > a', false],
    ['(count(*) - 1) * 2 <> 4 / 2', true],
    ['1 <-> 2', false],
    ['1 @> 2', false],
    ["1 -> 'a'", false],
    ["'a' || 'b'", true],
    ["'a' || a", false],
    ['1 IN (1, NULL)', false],
    ["'a' LIKE NULL", false],
    ['1 = ANY (a)', false],
    ["CASE WHEN a THEN 'x' ELSE 'y' END", true],
    ["CASE a WHEN 1 THEN 'x' WHEN NULL THEN 'z' ELSE 'y' END kind", true],
    ['CASE WHEN a THEN CASE WHEN b THEN 1 ELSE 2 END ELSE count(*) END', true],
    ['CASE WHEN a THEN CASE WHEN b THEN 1 END ELSE 2 END', false],
    ["CASE WHEN a THEN 'x' END", false],
    ["CASE WHEN a THEN NULL ELSE 'y' END", false],
    ["CASE WHEN a THEN b ELSE 'y' END", false],
    ["CASE WHEN t.else THEN 'y' END", false],
    ["CASE WHEN a THEN 'x' ELSE 'y' END || b", false],
    ['count(*)::numeric(10, 2)', true],
    ['CAST(count(*) AS text)', true],
    ['CAST(a AS text)', false],
    ['1::my_domain', false],
    ['1::int[]', false],
    ["upper('a')", true],
    ["lower(upper('a') || 'b')", true],
    ['lower(a)', false],
    ['my_function(1)', false],
    ["substring('a' FROM 'b')", false],
    ["to_char(1, '')", false],
    ['row_number() OVER (ORDER BY a)', true],
    ['lag(1) OVER w', false],
    ['percentile_cont(0.5) WITHIN GROUP (ORDER BY a)', false],
    ['greatest(a, 1)', true],
    ['nullif(1, 1)', false],
    ['(SELECT count(*) FROM u WHERE u.a = t.a)', true],
    ['(SELECT count(*) FROM u GROUP BY a)', false],
    ['(SELECT count(*) FROM u HAVING false)', false],
    ['(SELECT count(*) FROM u LIMIT 0)', false],
    ['(SELECT count(*) FROM (SELECT 1 LIMIT 1) u)', true],
    ['(SELECT count(*) OVER () FROM u)', false],
    ['(SELECT count(t.a) FROM u)', false],
    ['(SELECT 1 FROM u)', false],
    ['(1, 2)', false],
    ['(1', false],
  ])('of %s is proven: %s', (item, isProven) => {
    expect(facts(`SELECT ${item} FROM t`).neverNull).toEqual([isProven]);
  });

  it.each([
    ['1 = 1', true],
    ['a IS NULL', true],
    ['IFNULL(a, 0)', true],
    ['GREATEST(1, 2)', true],
    ["CASE WHEN a THEN 'x' ELSE 'y' END", true],
    ['GREATEST(a, 1)', false],
    ['1 / 0', false],
    ['1 % 0', false],
    ['1 <=> a', false],
    // OR, of which a value decides nothing.
    ["a || 'b' IS NULL", false],
    ["CAST('x' AS DATE)", false],
    ["UPPER('a')", false],
    ['COUNT(a)', true],
    ['COUNT(a) n', true],
    // A stored function of this name.
    ['COUNT (a)', false],
    ['COUNT(*) > 0', false],
    ['COUNT(a) + 1', false],
  ])('of %s on MySQL is proven: %s', (item, isProven) => {
    expect(facts(`SELECT ${item} FROM t`, 'mysql').neverNull).toEqual([isProven]);
  });

  it('names the functions that it relies on', () => {
    expect([...facts("SELECT lower('a'), coalesce(a, 1), count(b) FROM t").functions]).toEqual([
      'lower',
      'count',
    ]);
  });

  it.each<[text: string, command: string, keeps: boolean]>([
    ['INSERT INTO t VALUES (1) RETURNING id', 'INSERT', true],
    ['UPDATE t SET a = 1 FROM u WHERE true RETURNING t.id, u.id', 'UPDATE', true],
    ['DELETE FROM t RETURNING *', 'DELETE', true],
    ['WITH x AS (INSERT INTO t VALUES (1) RETURNING id) SELECT id FROM x', 'INSERT', true],
    ['INSERT INTO t VALUES (1) RETURNING old.id', 'INSERT', false],
    ['DELETE FROM t RETURNING "new".id', 'DELETE', false],
    ['DELETE FROM t RETURNING WITH (NEW AS n) n.id', 'DELETE', false],
    ['UPDATE t SET a = 1 FROM u LEFT JOIN v ON true RETURNING v.id', 'UPDATE', false],
    ['MERGE INTO t USING u ON true WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING u.id', 'MERGE', false],
    ['INSERT INTO t VALUES (1)', 'INSERT', false],
  ])('under RETURNING: %s (%s) %s', (text, command, keeps) => {
    const found = (dialect: Dialect) =>
      compileStatement(text, { dialect, command, variables: [] }).columnFacts().keepsNotNull;
    expect(found('postgres')).toBe(keeps);
    if (/^(?!WITH|MERGE)[^"]*$/.test(text)) expect(found('mariadb')).toBe(false);
  });
});
