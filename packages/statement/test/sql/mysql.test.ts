import { describe, expect, it } from 'vitest';
import { compileStatement, type Dialect } from '../../src/compile.ts';

const bind = (text: string, json: string, dialect: Dialect, type: string | undefined) =>
  compileStatement(text, {
    dialect,
    command: 'SELECT',
    variables: type === undefined ? [] : [{ key: 'x', type }],
  }).bind({
    pinnedJson: '',
    contextJson: `{"x":${json}}`,
  }).params;

describe('a variable declared as', () => {
  it.each(['mysql', 'mariadb'] as const)('timestamp with a zone is bound in UTC on %s', (dialect) => {
    const at = '2026-01-01T00:30:00.5+02:00';
    const utc = '2025-12-31 22:30:00.5';
    const params = (text: string, x: unknown, type: string) => bind(text, JSON.stringify(x), dialect, type);
    expect(params('SELECT :x', at, 'timestamp')).toEqual([utc]);
    expect(params('SELECT 1 WHERE a IN (:x)', [at, null], 'timestamp[]')).toEqual([utc, null]);
    expect(params('SELECT :x', at, 'string')).toEqual([at]);
    expect(bind('SELECT :x', JSON.stringify(at), 'postgres', 'timestamp')).toEqual([at]);
  });

  it.each(['mysql', 'mariadb'] as const)('bigint and decimal are bound as such on %s', (dialect) => {
    const params = (text: string, json: string, type: string) => bind(text, json, dialect, type);
    const long = '9'.repeat(60);
    for (const [type, json, bound] of [
      ['bigint', '"9223372036854775807"', 9_223_372_036_854_775_807n],
      ['bigint', '-9223372036854775808', -9_223_372_036_854_775_808n],
      ['bigint', '"9223372036854775808"', 9_223_372_036_854_775_808n],
      ['bigint', '5', 5],
      ['decimal', '0.1', { decimal: '0.1' }],
      ['decimal', '"-.50"', { decimal: '-.50' }],
      ['decimal', '12345678901234567890.10', { decimal: '12345678901234567890.10' }],
      ['decimal', `"${long}.12345"`, { decimal: `${long}.12345` }],
      ['decimal', `"${long}.123456"`, `${long}.123456`],
      ['decimal', `"0.${'1'.repeat(31)}"`, `0.${'1'.repeat(31)}`],
      ['decimal', '"1e3"', { decimal: '1000' }],
      ['decimal', '-1.50E-10', { decimal: '-0.00000000015' }],
      ['decimal', '1e64', { decimal: `1${'0'.repeat(64)}` }],
      ['decimal', '1e65', 1e65],
      ['decimal', '1e-31', 1e-31],
      ['decimal', '"1e400"', '1e400'],
      ['decimal', 'null', null],
    ]) {
      expect(params('SELECT :x', String(json), String(type))).toEqual([bound]);
      if (json === 'null') continue;
      const list = params('SELECT 1 WHERE a IN (:x)', `[${json},${json},null]`, `${type}[]`);
      expect(list).toEqual([bound, bound, null, null]);
    }
  });

  it.each(['mysql', 'mariadb'] as const)('number, or not declared, is bound as a number on %s', (dialect) => {
    const decimal = (digits: string) => ({ decimal: digits });
    for (const [json, asNumber, undeclared = asNumber] of [
      ['10.0', 10],
      ['1e3', 1000],
      ['-0.0', 0],
      ['9223372036854775807', 9_223_372_036_854_775_807n],
      ['-9.223372036854775808e18', -9_223_372_036_854_775_808n],
      ['18446744073709551615', 18_446_744_073_709_551_615n],
      ['18446744073709551616', decimal('18446744073709551616')],
      ['-9223372036854775809', decimal('-9223372036854775809')],
      ['1.10', 1.1, decimal('1.10')],
      ['0.30000000000000004', 0.30000000000000004, decimal('0.30000000000000004')],
      ['0.1234567890123456789', decimal('0.1234567890123456789')],
      ['1.5e-07', 1.5e-7],
      ['1e22', 1e22],
      ['1.2345678901234567890e25', decimal('12345678901234567890000000')],
      ['1.5', 1.5, decimal('1.5')],
      [`1.${'3'.repeat(70)}`, 4 / 3],
    ] as const) {
      for (const [type, bound] of [
        ['number', asNumber],
        [undefined, undeclared],
      ] as const) {
        expect(bind('SELECT :x', json, dialect, type)).toEqual([bound]);
        const list = bind('SELECT 1 WHERE a IN (:x)', `[${json},null]`, dialect, type && `${type}[]`);
        expect(list).toEqual([bound, null]);
      }
    }
    for (const json of ['1e400', '-1e400', '1e-400', `1e${'9'.repeat(400)}`])
      expect(() => bind('SELECT :x', json, dialect, 'number')).toThrow('context.x must be 0, a number from');
  });
});

describe('a text whose type MySQL takes from what it stands beside', () => {
  const untyped = (text: string, context: object, dialect: Dialect = 'mysql') =>
    compileStatement(text, { dialect, command: 'SELECT', variables: [{ key: 'n', type: 'bigint' }] })
      .bind({ pinnedJson: '', contextJson: JSON.stringify({ x: 'a', n: '5', ids: [1, 2, 3], ...context }) })
      .untyped?.flatMap(({ index, name, isMerged }) => (isMerged ? [[index, name]] : []));

  it('is found with its place among the parameters', () => {
    expect(untyped('SELECT COALESCE(:x, id), IF(:x, :x, :n) FROM t', {})).toEqual([
      [0, 'x'],
      [2, 'x'],
    ]);
    expect(untyped('SELECT IF(id IN (:ids), CASE WHEN 1 THEN :x ELSE 2 END, 0) FROM t', {})).toEqual([
      [4, 'x'],
    ]);
    expect(untyped('SELECT CASE WHEN 1 THEN :x WHEN 2 THEN 0 ELSE :x END', {})).toEqual([
      [0, 'x'],
      [1, 'x'],
    ]);
    expect(untyped('SELECT NULLIF(:n, 1)', {})).toBeUndefined();
    expect(untyped('SELECT COALESCE(:x + 1, id), F(:x), id = :x FROM t', {})).toEqual([]);
    expect(untyped('SELECT COALESCE(:x, id) FROM t', { x: 1 })).toBeUndefined();
    expect(untyped('SELECT COALESCE(:x, id) FROM t', {}, 'mariadb')).toBeUndefined();
  });

  it('can be written with another mark, and is no JSON', () => {
    const text = 'SELECT :x, :d FROM t WHERE id IN (:ids) AND v = :x';
    const bound = compileStatement(text, { dialect: 'mysql', command: 'SELECT', variables: [] }).bind({
      pinnedJson: '',
      contextJson: '{"x":"a","d":{"b":1},"ids":["c","d","e"]}',
    });
    expect(bound.untyped?.map(({ index, isJson }) => [index, isJson])).toEqual([
      [0, false],
      [1, true],
      [2, false],
      [6, false],
    ]);
    const marks = new Map([0, 3, 6].map((index) => [index, 'CONCAT(?)']));
    expect(bound.textWith?.(marks)).toBe(
      'SELECT CONCAT(?), ? FROM t WHERE id IN (?,CONCAT(?),?,?) AND v = CONCAT(?)',
    );
  });

  it('is told apart by what becomes of it', () => {
    const rolesOf = (command: string, text: string) =>
      compileStatement(text, { dialect: 'mysql', command, variables: [] })
        .bind({ pinnedJson: '', contextJson: '{"x":1,"ids":[1,2,3]}' })
        .roles?.();
    expect(rolesOf('SELECT', 'SELECT d + :x, F(:x), IF(1, :x, 0), :x DIV 2, :x')).toBe('aopao');
    expect(rolesOf('SELECT', 'SELECT 1 FROM t WHERE d = :x AND d IN (:ids) AND d > 1 + :x LIMIT :x')).toBe(
      'cllllaw',
    );
    expect(rolesOf('INSERT', 'INSERT INTO t VALUES (:x, :x + 1), (:x, F(:x))')).toBe('wawo');
    expect(rolesOf('UPDATE', 'UPDATE t SET a = :x, b = :x * a, c = 1 - :x WHERE d = :x')).toBe('waac');
    const other = 'INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = :x, b = b + :x';
    expect(rolesOf('INSERT', other)).toBe('wa');
    expect(rolesOf('SELECT', "SELECT NULLIF(:x, ''), :x LIKE 'a'")).toBe('tc');
    expect(rolesOf('CALL', 'CALL p(:x, F(:x), :x + 1)')).toBe('woa');
    expect(rolesOf('SELECT', 'SELECT a FROM (SELECT :x AS a, 1, :x) AS t')).toBe('ii');
    expect(rolesOf('SELECT', 'SELECT 1, :x UNION SELECT :x, F(1, :x)')).toBe('iio');
    expect(rolesOf('SELECT', 'SELECT * FROM (VALUES ROW(:x, 1), ROW(F(:x), :x)) AS t')).toBe('ror');
    expect(
      rolesOf('SELECT', 'SELECT :x IN (a, b), :x NOT IN (a, b), :x IN (a), CASE :x WHEN a THEN 1 END'),
    ).toBe('sscs');
    expect(rolesOf('SELECT', 'SELECT a BETWEEN :x AND :x, :x BETWEEN a AND b')).toBe('bbs');
    expect(rolesOf('SELECT', 'SELECT :x + INTERVAL 1 DAY, INTERVAL :x DAY + :x')).toBe('ooo');
    const found = "SELECT FIND_IN_SET(CONCAT(:x), IF(a = :x, b, c)), GROUP_CONCAT(a, IFNULL(:x, ''))";
    expect(rolesOf('SELECT', found)).toBe('fcf');
  });

  it('is no operand of a comparison, so a list is JSON text in the results of a CASE', () => {
    const text = 'SELECT CASE WHEN a THEN :x WHEN b THEN 0 END';
    expect(bind(text, '[1]', 'mysql', undefined)).toEqual(['[1]']);
    for (const compared of ['SELECT CASE :x WHEN 1 THEN 2 END', 'SELECT CASE a WHEN :x THEN 2 END'])
      expect(() => bind(compared, '[1]', 'mysql', undefined)).toThrow('must not be a list here');
  });
});

describe('a variable in LIMIT or OFFSET', () => {
  const bind = (text: string, n: string, dialect: Dialect = 'mysql') =>
    compileStatement(text, { dialect, command: 'SELECT', variables: [] }).bind({
      pinnedJson: '',
      contextJson: `{"n":${n}}`,
    });

  it.each(['SELECT 1 LIMIT :n', 'SELECT 1 LIMIT 5 OFFSET :n', 'SELECT 1 LIMIT 5, :n'])(
    'is a whole number in %s',
    (text) => {
      for (const dialect of ['mysql', 'mariadb'] as const) {
        for (const n of ['0', '7', '"10"']) expect(bind(text, n, dialect).params).toHaveLength(1);
        for (const n of ['-1', '2.5', '"abc"', '"1.5"', '""', 'true', 'null'])
          expect(() => bind(text, n, dialect)).toThrow(
            expect.objectContaining({
              errors: [{ path: ['context', 'n'], detail: expect.stringContaining('LIMIT') }],
            }),
          );
      }
      expect(bind('SELECT :n, 1 LIMIT 1', '-1').params).toEqual([-1]);
    },
  );
});
