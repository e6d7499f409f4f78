import { describe, expect, it } from 'vitest';
import { convertSql } from '../../src/import/plain-sql.ts';

const required = (...keys: string[]) => keys.map((key) => ({ key, required: true }));

describe('convertSql', () => {
  it.each([
    ['SELECT {{ a }}, {{b.start}}', 'SELECT :a, :b_start', required('a', 'b_start')],
    ['SELECT {{Day}}, {{ Day }}, {{day 1}}', 'SELECT :Day, :Day, :day_1', required('Day', 'day_1')],
    [
      "SELECT 1 WHERE a > DATE'{{d}}' AND b LIKE'x\\' AND c = '{{d}}'",
      "SELECT 1 WHERE a > CAST(:d AS date) AND b LIKE'x\\' AND c = :d",
      required('d'),
    ],
    ["SELECT '{{d}}'::date", 'SELECT :d::date', [{ key: 'd', type: 'date', required: true }]],
    [
      'SELECT $1::int[], $2, $1',
      'SELECT :p1::int[], :p2, :p1',
      [
        { key: 'p1', type: 'integer[]', required: true },
        { key: 'p2', required: true },
      ],
    ],
    ['SELECT %(a)s, 5 %% 2', 'SELECT :a, 5 % 2', required('a')],
    [
      "SELECT '50%%', DATE_FORMAT(d, '%%Y') /* 5%% */, \"a%%\" = %(a)s -- %%",
      "SELECT '50%', DATE_FORMAT(d, '%Y') /* 5% */, \"a%\" = :a -- %",
      required('a'),
    ],
    ['SELECT 5 %% 2', 'SELECT 5 %% 2', []],
    ["SELECT '5%%' -- %%", "SELECT '5%%' -- %%", []],
    [
      'SELECT a$1 FROM t$2 [[WHERE b = {{{b}}}]]',
      'SELECT a$1 FROM t$2 WHERE ((b = :b) OR :b IS NULL)',
      [{ key: 'b', value: null }],
    ],
    [
      "SELECT j ? 'k', a @> b, @c, @@d, x::int, y[1:2]",
      "SELECT j ? 'k', a @> b, :c, @@d, x::int, y[1:2]",
      required('c'),
    ],
    ['SELECT ARRAY[[1,2],[:a,4]]', 'SELECT ARRAY[[1,2],[:a,4]]', required('a')],
    [
      'SELECT a FROM t WHERE b BETWEEN {{x}} AND {{y}};',
      'SELECT a FROM t WHERE b BETWEEN :x AND :y',
      required('x', 'y'),
    ],
    [
      "SELECT ':a', \"b:c\", $$ $1 :d $$, E'\\':e' -- :f\n/* {{g}} */",
      "SELECT ':a', \"b:c\", $$ $1 :d $$, E'\\':e' -- :f\n/* {{g}} */",
      [],
    ],
    [
      "SELECT a LIKE '%{{b}}%'",
      "SELECT a LIKE CONCAT('%', :b, '%')",
      [{ key: 'b', type: 'string', required: true }],
    ],
    [
      'SELECT a FROM t WHERE b = {{b}} [[AND c = {{b}}]]',
      'SELECT a FROM t WHERE b = :b AND (c = :b)',
      required('b'),
    ],
    [
      'SELECT a FROM t WHERE d [[OR b = {{b}}]] -- {{b}}',
      'SELECT a FROM t WHERE d OR ((b = :b) AND NOT (:b IS NULL)) -- {{b}}',
      [{ key: 'b', value: null }],
    ],
    [
      'SELECT a FROM t WHERE (b [[OR a = {{a}}]]) AND c',
      'SELECT a FROM t WHERE (b OR ((a = :a) AND NOT (:a IS NULL))) AND c',
      [{ key: 'a', value: null }],
    ],
    ['SELECT a FROM t [[LIMIT {{n}}]]', 'SELECT a FROM t LIMIT :n', [{ key: 'n', value: null }]],
    [
      'SELECT COALESCE([[ {{a}}, ]] now()), [[ {{b}} --]] 5\n',
      'SELECT COALESCE(:a,  now()), COALESCE(:b, 5)',
      [
        { key: 'a', value: null },
        { key: 'b', value: null },
      ],
    ],
    [
      "SELECT now() - interval '{{n}} days'",
      "SELECT now() - CAST(CONCAT(:n, ' days') AS interval)",
      [{ key: 'n', type: 'string', required: true }],
    ],
    [
      'SELECT a FROM t [[WHERE b = {{b}} OR c = {{ c }}]]',
      'SELECT a FROM t WHERE ((b = :b OR c = :c) OR :b IS NULL OR :c IS NULL)',
      [
        { key: 'b', value: null },
        { key: 'c', value: null },
      ],
    ],
  ])('of PostgreSQL: %s', (source, text, context) => {
    expect(convertSql(source, 'postgres')).toEqual({ text, command: 'SELECT', context });
  });

  it.each([
    ["SELECT ?, `a?`, 'it\\'s ?', ? # ?", "SELECT :p1, `a?`, 'it\\'s ?', :p2 # ?", required('p1', 'p2')],
    ['SELECT @a, 5--?', 'SELECT @a, 5--:p1', required('p1')],
    ...[
      [`"say ""{{ x }}"" now"`, `CONCAT('say "', :x, '" now')`],
      [`"O'{{ x }}'s"`, `CONCAT('O''', :x, '''s')`],
      [String.raw`"a\"b\'c {{ x }}"`, String.raw`CONCAT('a\"b\'c ', :x)`],
      [String.raw`'it''s \' "" {{ x }}\\'`, String.raw`CONCAT('it''s \' "" ', :x, '\\')`],
    ].map(([from, to]): [string, string, object[]] => [
      `SELECT a FROM t WHERE b = ${from}`,
      `SELECT a FROM t WHERE b = ${to}`,
      [{ key: 'x', type: 'string', required: true }],
    ]),
  ])('of MySQL: %s', (source, text, context) => {
    expect(convertSql(source, 'mysql')).toEqual({ text, command: 'SELECT', context });
  });

  it('does not split an escape of MySQL', () => {
    const source = String.raw`SELECT a FROM t WHERE b = 'x\{{ y }}'`;
    expect(convertSql(source, 'mysql')).toMatchObject([
      { column: 27, detail: 'A backslash stands before a value.' },
    ]);
    expect(convertSql(source, 'postgres')).toMatchObject({
      text: String.raw`SELECT a FROM t WHERE b = CONCAT('x\', :y)`,
    });
  });

  it('ends a comment where the database ends it', () => {
    expect(convertSql("SELECT 1 -- it\u2028's {{x}}\nWHERE a = '{{y}}'", 'postgres')).toMatchObject({
      text: "SELECT 1 -- it\u2028's {{x}}\nWHERE a = :y",
    });
  });

  it('takes comments of PostgreSQL with others in them as a whole', () => {
    const text = "/* a /* b */ it's :old; */ SELECT 1 WHERE a = '{{x}}'";
    expect(convertSql(text, 'postgres')).toMatchObject({
      text: text.replace("'{{x}}'", ':x'),
      context: [{ key: 'x', required: true }],
    });
    expect(convertSql('/* a /* b */ SELECT :x', 'mysql')).toMatchObject({ context: [{ key: 'x' }] });
  });

  it.each([
    ['INSERT INTO t VALUES (:a)', 'INSERT'],
    ['-- a job\ncall p(:a)', 'CALL'],
    ['WITH x AS (SELECT 1) SELECT * FROM x', 'SELECT'],
    ['WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x', 'DELETE'],
    ["VALUES ('insert')", 'SELECT'],
  ])('the command of %s is %s', (source, command) => {
    expect(convertSql(source, 'postgres')).toMatchObject({ command });
  });

  it.each([
    ['SELECT 1;\nSELECT 2', [1, 9], 'several statements'],
    ['SELECT *\nFROM {{t}}', [2, 6], 'stands for a name'],
    ['SELECT a FROM t ORDER BY {{by}}', [1, 26], 'stands for a name'],
    ['SELECT * FROM {{#12}} AS q', [1, 15], 'is no variable'],
    ['SELECT a FROM t WHERE {{when}} AND b', [1, 23], 'stands for a condition'],
    ['SELECT a FROM t WHERE 1 = 1 [[AND {{when}}]]', [1, 35], 'stands for a condition'],
    ['SELECT a FROM t [[ORDER BY {{by}}]]', [1, 17], 'can be optional'],
    ["SELECT 'a {{#b}}'", [1, 8], 'is no variable'],
    ['SELECT a FROM t WHERE 1 = 1 [[AND a = {{a}} OR b = 2]]', [1, 29], 'Write parentheses'],
    ['SELECT a FROM t [[WHERE a = {{a}} OR b = 2]] AND c', [1, 17], 'Write parentheses'],
    ['SELECT a FROM t WHERE b [[OR a = {{a}}]] AND c', [1, 25], 'Write parentheses'],
    ['SELECT a FROM t WHERE b [[OR a = {{a}}]] [[AND c = {{c}}]]', [1, 25], 'Write parentheses'],
    ['SELECT a FROM t WHERE b [[OR a = {{a}}]] -- a\n/* b */ AND c', [1, 25], 'Write parentheses'],
    ['SELECT a FROM t WHERE (b [[AND a = {{a}})]]', [1, 26], 'must end in it'],
    ['SELECT a FROM t_{{year}}', [1, 17], 'stands for a name'],
    ['SELECT %s', [1, 8], 'Give %s a name'],
    ['-- nothing', [1, 1], 'no statement'],
  ])('does not convert %s', (source, [line, column], detail) => {
    expect(convertSql(source, 'postgres')).toMatchObject([
      { line, column, detail: expect.stringContaining(detail) },
    ]);
  });

  it.each(['||', 'XOR'])('does not convert %s in an optional part at MySQL', (operator) => {
    expect(convertSql(`SELECT a FROM t WHERE b [[AND c = {{c}} ${operator} d]]`, 'mysql')).toMatchObject([
      { line: 1, column: 25, detail: expect.stringContaining('Write parentheses') },
    ]);
  });
});
