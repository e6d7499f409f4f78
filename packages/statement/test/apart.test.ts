import { describe, expect, it } from 'vitest';
import { compileStatement } from '../src/compile.ts';

const apart = (text: string, types: Record<string, string> = {}, command = 'SELECT') =>
  compileStatement(text, {
    dialect: 'postgres',
    command,
    variables: Object.entries(types).map(([key, type]) => ({ key, type })),
  }).bind({ pinnedJson: '', contextJson: '{"v":"a"}' }).apart;

describe('a variable without a type', () => {
  it.each([
    ['SELECT 1 FROM t WHERE d <= :v AND ts >= :v', 'SELECT 1 FROM t WHERE d <= $1 AND ts >= $2'],
    ['SELECT 1 FROM t WHERE :v>=d AND (:v) < t.ts', 'SELECT 1 FROM t WHERE $1>=d AND ($2) < t.ts'],
    [
      'SELECT 1 FROM t WHERE d IN (:v) AND ts NOT IN (:v)',
      'SELECT 1 FROM t WHERE d IN ($1) AND ts NOT IN ($2)',
    ],
    [
      'SELECT 1 FROM t WHERE d = ANY(:v) OR ts = ANY(:v)',
      'SELECT 1 FROM t WHERE d = ANY($1) OR ts = ANY($2)',
    ],
    [
      'SELECT 1 FROM t WHERE d BETWEEN :v AND :v AND ts >= :v',
      'SELECT 1 FROM t WHERE d BETWEEN $1 AND $1 AND ts >= $2',
    ],
    [
      'SELECT 1 FROM t WHERE d = COALESCE(:v, d) AND ts = COALESCE(:v, ts)',
      'SELECT 1 FROM t WHERE d = COALESCE($1, d) AND ts = COALESCE($2, ts)',
    ],
    [
      'SELECT 1 FROM t WHERE d IS NOT DISTINCT FROM :v AND ts LIKE :v',
      'SELECT 1 FROM t WHERE d IS NOT DISTINCT FROM $1 AND ts LIKE $2',
    ],
    [
      'SELECT 1 FROM t WHERE x::date = :v AND f(a, b)[1] = :v',
      'SELECT 1 FROM t WHERE x::date = $1 AND f(a, b)[1] = $2',
    ],
    [
      'SELECT 1 FROM t WHERE d IN (:v, e) AND ts = ANY(ARRAY[now(), :v])',
      'SELECT 1 FROM t WHERE d IN ($1, e) AND ts = ANY(ARRAY[now(), $2])',
    ],
    // The test for NULL has the parameter in front of it, which has a type.
    [
      'SELECT 1 FROM t WHERE (d >= :v OR :v IS NULL) AND (ts >= :v OR :v IS NOT NULL)',
      'SELECT 1 FROM t WHERE (d >= $1 OR $1 IS NULL) AND (ts >= $2 OR $2 IS NOT NULL)',
    ],
    // Other places have the type of the first.
    [
      "SELECT 1 FROM t WHERE ts >= :v AND ts < :v + interval '1 day' AND d >= :v",
      "SELECT 1 FROM t WHERE ts >= $1 AND ts < $1 + interval '1 day' AND d >= $2",
    ],
    // Equal expressions stay equal, as GROUP BY needs them.
    [
      'SELECT d > :v, ts > :v FROM t GROUP BY d > :v, ts>:v',
      'SELECT d > $1, ts > $2 FROM t GROUP BY d > $1, ts>$2',
    ],
  ])('has a parameter for each operand: %s', (text, run) => {
    expect(apart(text)?.text).toBe(run);
  });

  it.each([
    ['UPDATE', 'UPDATE t SET ts = :v WHERE d = :v', 'UPDATE t SET ts = $1 WHERE d = $2'],
    [
      'INSERT',
      'INSERT INTO t (d, ts) VALUES (:v, :v), (now(), :v)',
      'INSERT INTO t (d, ts) VALUES ($1, $2), (now(), $2)',
    ],
    [
      'INSERT',
      'INSERT INTO t (d) VALUES (:v) ON CONFLICT (d) DO UPDATE SET ts = :v',
      'INSERT INTO t (d) VALUES ($1) ON CONFLICT (d) DO UPDATE SET ts = $2',
    ],
  ])('has one for each column: %s %s', (command, text, run) => {
    expect(apart(text, {}, command)).toEqual({ text: run, params: [0, 0], texts: [] });
  });

  it.each([
    ['SELECT date(:v)', 'SELECT date($1::date)', [0]],
    [
      'SELECT pg_catalog.DATE( :v ), "timestamp"(:v)',
      'SELECT pg_catalog.DATE( $1::date ), "timestamp"($2::timestamp)',
      [0, 0],
    ],
    [
      'SELECT 1 FROM t WHERE d = :v AND date(:v) = d',
      'SELECT 1 FROM t WHERE d = $1 AND date($2::date) = d',
      [0, 0],
    ],
  ])('is cast where the name of a type is called: %s', (text, run, params) => {
    expect(apart(text)).toEqual({ text: run, params, texts: [] });
  });

  it.each([
    'SELECT app.date(:v), date(:v, 1), date(:v + 1), dates(:v)',
    'SELECT 1 FROM t WHERE d = :v',
    'SELECT 1 FROM t WHERE a = :v::int AND b = :v AND b = f(:v)',
    'SELECT f(x => :v), g(y => :v), doc -> :v, doc ->> :v, a || :v FROM t',
    'SELECT 1 FROM t WHERE a >= :v AND t.a < -:v AND a >= :v - 1',
  ])('has one parameter otherwise: %s', (text) => {
    expect(apart(text)).toBeUndefined();
  });
});

describe('a variable that is declared as string', () => {
  it.each([
    ['SELECT :v, c FROM t WHERE c = :v', 'SELECT $1::text, c FROM t WHERE c = $2', [1]],
    ['SELECT 1 FROM t WHERE :v IS NULL OR c <> :v', 'SELECT 1 FROM t WHERE $1::text IS NULL OR c <> $2', [1]],
    ['SELECT 1 FROM t WHERE NULLIF(c, :v) IS NULL', 'SELECT 1 FROM t WHERE NULLIF(c, $1) IS NULL', [0]],
  ])('has no cast where it is compared: %s', (text, run, texts) => {
    expect(apart(text, { v: 'string' })).toMatchObject({ text: run, texts });
  });

  it('has it in lists', () => {
    const compiled = compileStatement('SELECT 1 FROM t WHERE c IN (:v)', {
      dialect: 'postgres',
      command: 'SELECT',
      variables: [{ key: 'v', type: 'string[]' }],
    });
    const { apart: found, params } = compiled.bind({ pinnedJson: '', contextJson: '{"v":["a"]}' });
    expect(found).toEqual({ text: 'SELECT 1 FROM t WHERE c = ANY ($1)', params: [0], texts: [0] });
    expect(params).toEqual(['{"a"}']);
  });

  it('keeps its cast where it is stored', () => {
    expect(apart('UPDATE t SET c = :v', { v: 'string' }, 'UPDATE')).toBeUndefined();
    expect(apart('INSERT INTO t (c) VALUES (:v)', { v: 'string' }, 'INSERT')).toBeUndefined();
  });
});

it('reads deeply nested operands in time', () => {
  const nested = `${'('.repeat(3_000)}1${' = :v)'.repeat(3_000)}`;
  const start = performance.now();
  apart(`SELECT ${nested} OR a = :v`);
  expect(performance.now() - start).toBeLessThan(1_000);
});

it.each([
  ['SELECT 1 FETCH FIRST :n ROWS ONLY', 'SELECT 1 FETCH FIRST ($1::integer) ROWS ONLY'],
  [
    'SELECT 1 OFFSET :n fetch next\n:n rows only',
    'SELECT 1 OFFSET $1::integer fetch next\n($1::integer) rows only',
  ],
])('a number that counts rows has its cast in parentheses: %s', (text, run) => {
  const variables = [{ key: 'n', type: 'integer' }];
  const compiled = compileStatement(text, { dialect: 'postgres', command: 'SELECT', variables });
  expect(compiled.bind({ pinnedJson: '', contextJson: '{"n":1}' }).text).toBe(run);
});
