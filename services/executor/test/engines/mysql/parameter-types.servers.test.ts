/** Texts beside values of another type: MySQL would read them as numbers or dates, with no more than a warning. */

import { compileStatement } from '@datahub/statement/compile';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../../fixture.ts';

const servers = [
  { dialect: 'mysql', url: process.env.MYSQL_URL, gives: 'an error' },
  { dialect: 'mariadb', url: process.env.MARIADB_URL, gives: 'the text' },
] as const;
const rows = 'FROM (SELECT 5 AS id, CAST("2026-01-02 03:04:05" AS DATETIME) AS at) AS t';
const merging = [
  'COALESCE(:x, id)',
  'IFNULL(:x, id)',
  'IF(id = 5, :x, id)',
  'CASE WHEN id = 5 THEN :x WHEN id = 6 THEN 1 ELSE id END',
  'CASE WHEN id = 6 THEN id ELSE :x END',
  'NULLIF(:x, id)',
  'COALESCE(:x, at)',
];

describe.each(servers)('a text beside another value on $dialect', ({ dialect, url, gives }) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect(dialect, url as string);
    });
    afterAll(() => connection.close());

    const read = (item: string, value: unknown) => readJson(item, JSON.stringify(value));
    const readJson = async (item: string, value: string) => {
      const compiled = compileStatement(`SELECT ${item} AS r ${rows}`, {
        ...{ dialect, command: 'SELECT', variables: [] },
      });
      const contextJson = `{"x":${value}}`;
      const { text, ...bound } = compiled.bind({ pinnedJson: '', contextJson });
      return (await ask(connection, text, { ...bound, key: `${item} ${bound.key}` })).data[0]?.r;
    };

    it.each(merging)(`gives ${gives} in %s, and no number or date made of it`, async (item) => {
      if (gives === 'the text') expect(await read(item, 'abc')).toBe('abc');
      else
        await expect(read(item, 'abc')).rejects.toMatchObject({
          code: 'CONTEXT_INVALID',
          errors: [{ path: ['context', 'x'], detail: expect.stringContaining('write CAST(:x AS CHAR)') }],
        });
      // The next run has the prepared statement.
      expect(await read(item, null)).not.toBe('abc');
      expect(String(await read(item, item.includes('at)') ? '2026-05-06' : '7'))).toMatch(
        /^(7|2026-05-06.*)$/,
      );
      expect(await read(item.replace(':x', 'CAST(:x AS CHAR)'), 'abc')).toBe('abc');
    });

    it('negates integers as they are, whatever another call sent before', async () => {
      for (const other of ['12345678901234567890.5', '"9007199254740993"']) {
        await readJson('-:x', other);
        expect(await read('-:x', -1)).toBe(1);
      }
    });

    it('gives integers as they are, whatever another call sent before', async () => {
      for (const other of ['12345678901234567890.5', '0.5', '"7"']) {
        expect(await read('COALESCE(:x, 0)', 7)).toBe(7);
        await readJson('COALESCE(:x, 0)', other);
        expect(await read('COALESCE(:x, 0)', 7)).toBe(7);
      }
    });

    // What MySQL would make of a parameter differs from what it makes of the same text in the statement.
    it.each([
      ["IF(:x = '', NULL, :x)", '"José"', 'José'],
      ["UPPER(CASE WHEN :x = '' THEN NULL ELSE :x END)", '"José"', 'JOSÉ'],
      ['COALESCE(NULL, :x)', '"José"', 'José'],
      ['CAST(:x AS TIME)', '"10:11:12"', '10:11:12'],
      ['CONCAT(HOUR(:x), EXTRACT(MINUTE FROM :x))', '"10:11:12.5"', '1011'],
      ["ADDTIME(:x, '01:00:00')", '"2026-01-02 10:11:12"', '2026-01-02 11:11:12'],
      ['HOUR(:x)', '101112', 10],
      ['DATE_ADD(:x, INTERVAL 1 DAY)', '"2026-01-02T10:11:12Z"', '2026-01-03 10:11:12'],
      [':x - INTERVAL 1 MONTH', '"2026-01-02T10:11:12Z"', '2025-12-02 10:11:12'],
      ["CAST('2026-01-02' AS DATE) = COALESCE(:x, CAST('2026-01-02' AS DATE))", '"2026"', 0],
      ["CAST('2026-01-02' AS DATE) = COALESCE(:x, CAST('2026-01-02' AS DATE))", '"2026-13-45"', 0],
      ["CAST('2026-01-02' AS DATE) = COALESCE(:x, CAST('2026-01-02' AS DATE))", '20261301', 0],
      ["CAST('2026-01-02' AS DATE) = COALESCE(:x, CAST('2026-01-03' AS DATE))", '20260102', 1],
      ["CAST('2026-01-02' AS DATE) < :x", '20260103', 1],
      ["CAST('10:11' AS TIME) = COALESCE(:x, CAST('10:11' AS TIME))", '"99999"', 0],
      ['HOUR(:x)', '"2026-01-02 10:11:12"', 10],
      [':x << 1', '"10"', 20],
      ["JSON_EXTRACT(:x, '$.a')", '"{\\"a\\":\\"b\\"}"', 'b'],
      ["JSON_SET('{}', '$.a', :x)", '"b"', { a: 'b' }],
      ["'b' MEMBER OF (:x)", '"[\\"b\\"]"', 1],
      ['CONCAT(10.50 + :x)', '9.50', '20.00'],
      ['CONCAT(10.50 + :x)', '9', '19.50'],
      ['CONCAT(10.50 + :x)', 'true', '11.50'],
      ['CONCAT(id * :x)', '0.120', '0.600'],
      ['CONCAT(COALESCE(:x, NULL))', '9.5', '9.5'],
      ['CONCAT(GREATEST(:x, :x))', '9.50', '9.50'],
      ['CONCAT(MAX(:x))', '9.5', '9.5'],
      ['CONCAT(COALESCE(:x, 1.5))', '9.50', '9.50'],
      ['(SELECT r + 0 FROM (SELECT :x AS r) AS u)', `1${'0'.repeat(40)}`, `1${'0'.repeat(40)}`],
      ["CAST('2026-03-04 05:06:07' AS DATETIME) > :x", '20260304', 1],
      ["CAST('2026-03-04 05:06:07' AS DATETIME) < :x", '20260304', 0],
      ["CAST('10:11' AS TIME) > :x", '"10"', 1],
      ['CAST(:x AS SIGNED)', '"1.5"', 1],
      ['TIME(:x)', '"10:11:12"', '10:11:12'],
      [
        "CAST(TIME(:x) AS CHAR) = '10:11:12.500000' OR CAST(TIME(:x) AS CHAR) = '10:11:12.5'",
        '"10:11:12.5"',
        1,
      ],
      ['TIMESTAMP(:x)', '"2026-03-04 05:06:07.5"', '2026-03-04T05:06:07.500'],
      ["LEFT('abc', :x)", '"1.5"', 'a'],
      ["CAST(CAST('2026-01-01' AS DATE) + INTERVAL :x DAY AS CHAR)", '"1.5"', '2026-01-02'],
      ['CAST(2026 AS YEAR) + :x', '-3', 2023],
      ['CAST(2026 AS YEAR) = :x', '2026.5', 0],
      ['HEX(:x)', '18446744073709551615', 'FFFFFFFFFFFFFFFF'],
      [':x | 0', '18446744073709551615', '18446744073709551615'],
      ['CONCAT(ROUND(:x, 2))', '1.115', '1.12'],
      ['CONCAT(ROUND(:x))', '2.5', '3'],
      ['CONCAT(ROUND(1.25, :x))', '1', '1.3'],
      ['CONCAT(:x % :x)', '1.10', '0.00'],
      ['CONCAT(-:x)', '9007199254740993', '-9007199254740993'],
      ['STRCMP(:x, id)', '"05"', -1],
      ['7 >> :x', '"1.5"', 3],
      ["CONCAT(COALESCE(:x, 1.5), '')", 'null', '1.5'],
      ["FIELD(JSON_OBJECT('a', 1), :x, 'b')", 'null', 0],
      ["CAST('10:11' AS TIME) > :x", '9999', 1],
      ["CONCAT(CONVERT('a' USING utf16), :x)", '20260304', 'a20260304'],
      ['COALESCE(CONVERT(NULL USING utf16), :x)', '20260304', '20260304'],
      ["LPAD(CONVERT('b' USING utf16), 3, :x)", '1e-7', '0.b'],
      ["'abc' NOT REGEXP :x", 'null', null],
      ['COUNT(DISTINCT :x)', 'null', 0],
      ["CONCAT(COALESCE(:x, id), '')", '"-3"', '-3'],
      ["CONCAT(MOD(:x, 2), '')", '"5"', '1'],
      [
        "(SELECT MAX(r) + 0 FROM (SELECT CAST('10:11:12' AS TIME) AS r UNION ALL SELECT :x) AS u)",
        'null',
        101112,
      ],
      ["NULLIF(CAST('2026-03-04' AS DATETIME), :x)", '20260304', null],
      [":x IN (id, 'pears')", '"apples"', 0],
      ["CASE :x WHEN id THEN 1 WHEN 'apples' THEN 2 ELSE 3 END", '"apples"', 2],
      ["CONCAT(COALESCE(:x, :x, 1.5), '')", '9.50', '9.50'],
      ["CONCAT(MAX(IF(id = 5, :x, :x)), '')", '"2026-03-29"', '2026-03-29'],
      ["'b' NOT BETWEEN 'a' AND :x", 'null', null],
      ["CONCAT(TIME(COALESCE(:x, :x))) LIKE '10:11:12.5%'", '"10:11:12.5"', 1],
      ["CONVERT('a' USING utf16) IN (:x, 'a')", '20260304', 1],
      ["CONVERT('b' USING utf16) IN (:x, 'a')", '20260304', 0],
      ["REGEXP_REPLACE('abc', :x, 'd')", 'null', null],
      ["FIND_IN_SET(:x, CONVERT('a,é' USING latin1))", '"é"', 2],
      ["FIND_IN_SET(TRIM(:x), CONVERT('a,b' USING utf16))", '"b"', 2],
      ["FIND_IN_SET(:x, '1,20')", '20', 2],
      ["FIND_IN_SET(:x, 'a')", `"a') OR ('1' = '1"`, 0],
      ["GROUP_CONCAT(CONVERT('é' USING latin1), :x)", '"ü"', 'éü'],
      ["GROUP_CONCAT(CONVERT('é' USING utf16), COALESCE(:x, ''))", '"\\u00fc\'"', "éü'"],
      ["GROUP_CONCAT(CONVERT('é' USING utf16), :x)", '-1.50', 'é-1.50'],
    ])('reads %s of %s as with the value in the text', async (item, value, expected) => {
      if (dialect === 'mariadb' && /MEMBER|JSON_SET|YEAR|FIELD|TIME\) > :x/.test(item)) return;
      expect(await readJson(item, value)).toEqual(expected);
      // The next run has the prepared statement.
      expect(await readJson(item, value)).toEqual(expected);
    });

    it('reads several variables as with their values in the text', async () => {
      for (const [item, x, y, expected] of [
        ['COALESCE(:x, :y)', '"n/a"', '1.5', 'n/a'],
        ['GREATEST(:x, :y)', '1.5', '"abc"', dialect === 'mysql' ? 'abc' : 1.5],
        ["CONCAT(COALESCE(:x, :y), '!')", 'null', '1.50', '1.50!'],
        ['MAX(IF(id = 6, :x, :y))', '1', '"Zoë"', 'Zoë'],
        ['NULLIF(:x, :y)', '"2026-03-04"', '1', '2026-03-04'],
        ['JSON_ARRAY(COALESCE(:x, :y))', '"abc"', '1.5', ['abc']],
        ['CONCAT(:x * :y)', '1.10', '3', '3.30'],
      ] as const) {
        const compiled = compileStatement(`SELECT ${item} AS r ${rows}`, {
          ...{ dialect, command: 'SELECT', variables: [] },
        });
        const bound = compiled.bind({ pinnedJson: '', contextJson: `{"x":${x},"y":${y}}` });
        const { data } = await ask(connection, bound.text, { ...bound, key: `${item} ${bound.key}` });
        expect([item, data[0]?.r]).toEqual([item, expected]);
      }
    });

    it('reads rows of VALUES as with the values in the text', async () => {
      const row = dialect === 'mysql' ? 'ROW' : '';
      const text = `(SELECT GROUP_CONCAT(a, '/') FROM (WITH u(a) AS (VALUES ${row}(:x), ${row}(2)) SELECT a FROM u) AS v)`;
      expect(await readJson(text, '"abc d"')).toBe('abc d/,2/');
      expect(await readJson(text, '9007199254740993')).toBe('9007199254740993/,2/');
      expect(await readJson(text, '1.10')).toBe('1.10/,2.00/');
      expect(await readJson(text, 'null')).toBe('2/');
    });

    it('names columns without a name as with the variable, whatever its value', async () => {
      const text = `SELECT ROUND(1.5 * :x), FIND_IN_SET(:x, 'a'), IF(id = 5, :x, id) ${rows}`;
      const compiled = compileStatement(text, { dialect, command: 'SELECT', variables: [] });
      for (const value of ['5', '1.5', '12345678901234567890.5', '"7"', 'null']) {
        const bound = compiled.bind({ pinnedJson: '', contextJson: `{"x":${value}}` });
        const { data } = await ask(connection, bound.text, { ...bound, key: `names ${bound.key}` });
        expect(Object.keys(data[0] ?? {})).toEqual([
          'ROUND(1.5 * ?)',
          "FIND_IN_SET(?, 'a')",
          'IF(id = 5, ?, id)',
        ]);
      }
    });

    it('computes with the digits of a text beside a number', async () => {
      if (dialect === 'mariadb') return;
      expect(await read('CONCAT(10.50 + :x)', '9.5')).toBe('20.00');
      expect(await read('CONCAT(id + :x)', '0.25')).toBe('5.25');
      expect(await read('id = 5 AND :x = 9.5', '9.50')).toBe(1);
    });

    it('refuses a variable that MySQL drops, and goes on', async () => {
      if (dialect === 'mariadb') return;
      const inner = 'SELECT 1 AS x UNION ALL SELECT 2';
      for (const text of [
        `(SELECT MAX(x) FROM (SELECT x FROM (${inner}) AS t ORDER BY :x) AS u)`,
        `(SELECT GROUP_CONCAT(x ORDER BY :x) FROM (${inner}) AS t WHERE x = :x)`,
      ]) {
        const refused = { code: 'SQL_REJECTED', message: expect.stringContaining('ORDER BY in a subquery') };
        await expect(read(text, 2)).rejects.toMatchObject(refused);
        expect(await read('5', null)).toBe(5);
      }
    });

    it('computes exactly with a fraction without a type', async () => {
      expect(await readJson('ROUND(1.15 * :x, 2)', '1.1')).toBe(1.27);
      expect(await readJson('TRUNCATE(2.30 * :x, 2)', '1.1')).toBe(2.53);
      expect(await readJson('0.10 * :x = 0.15', '1.5')).toBe(1);
      expect(await readJson('id IN (:x)', '[4.5,5.0]')).toBe(1);
      expect(await readJson(':x + 0e0', '1e-7')).toBe(1e-7);
    });

    it('finds no row by a text that is no date', async () => {
      if (dialect === 'mariadb') return;
      for (const x of ['abc', '10', ''])
        for (const operator of ['>=', '<', '=', '<>'])
          expect(await read(`IF(at ${operator} :x, 1, 0)`, x)).toBe(0);
    });

    it('finds booleans in JSON, and no numbers', async () => {
      const operate = (...texts: string[]) => operateMysql(url as string, texts);
      await operate(
        'DROP TABLE IF EXISTS hub_truths',
        'CREATE TABLE hub_truths (id int, doc JSON)',
        `INSERT INTO hub_truths VALUES (1, '{"on":true}'), (2, '{"on":false}'), (3, '{"on":1}')`,
      );
      const find = async (condition: string, context: object) => {
        const text = `SELECT id FROM hub_truths WHERE ${condition} ORDER BY id`;
        const compiled = compileStatement(text, { dialect, command: 'SELECT', variables: [] });
        const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify(context) });
        const { data } = await ask(connection, bound.text, { ...bound, key: `${text} ${bound.key}` });
        return data.map(({ id }) => id);
      };
      const on = "JSON_EXTRACT(doc, '$.on')";
      const numbers = dialect === 'mysql' ? [] : [3];
      expect(await find(`${on} = :v`, { v: true })).toEqual([1, ...numbers]);
      expect(await find(`${on} = :v`, { v: false })).toEqual([2]);
      expect(await find(`${on} = :v`, { v: 1 })).toEqual(dialect === 'mysql' ? [3] : [1, 3]);
      expect(await find(`${on} <> :v`, { v: true })).toEqual(dialect === 'mysql' ? [2, 3] : [2]);
      expect(await find(`${on} IN (:v)`, { v: [true, false] })).toEqual([1, 2, ...numbers]);
      expect(await find(`${on} NOT IN (:v)`, { v: [true] })).toEqual(dialect === 'mysql' ? [2, 3] : [2]);
      expect(
        await find("id = 1 AND JSON_EXTRACT(JSON_SET(doc, '$.on', :v), '$.on') = TRUE", { v: true }),
      ).toEqual([1]);
      if (dialect === 'mysql') {
        expect(await find(':v MEMBER OF (JSON_ARRAY(1))', { v: true })).toEqual([]);
        expect(await find(':v MEMBER OF (JSON_ARRAY(TRUE))', { v: true })).toEqual([1, 2, 3]);
      }
      await operate('DROP TABLE hub_truths');
    });

    it('stores texts as they are', async () => {
      const operate = (...texts: string[]) => operateMysql(url as string, texts);
      await operate(
        'DROP TABLE IF EXISTS hub_texts',
        'CREATE TABLE hub_texts (l VARCHAR(20) CHARACTER SET latin1, b VARBINARY(20), d DATE)',
      );
      const write = async (text: string, context: object) => {
        const compiled = compileStatement(text, {
          dialect,
          command: text.startsWith('I') ? 'INSERT' : 'UPDATE',
          variables: [],
        });
        const bound = compiled.bind({ pinnedJson: '', contextJson: JSON.stringify(context) });
        return await ask(connection, bound.text, { ...bound, key: text, kind: 'write' });
      };
      await write("INSERT INTO hub_texts (l, b) VALUES (IF(:a = '', NULL, :a), :a)", { a: 'José' });
      await write('UPDATE hub_texts SET d = :d', { d: 20260102 });
      const read = 'SELECT HEX(l) AS l, HEX(b) AS b, d FROM hub_texts';
      const row = { l: '4A6F73E9', b: '4A6F73C3A9', d: '2026-01-02' };
      expect((await ask(connection, read)).data).toEqual([row]);
      await operate('DROP TABLE hub_texts');
    });

    it('stores the columns of subqueries as with the values in the text', async () => {
      const operate = (...texts: string[]) => operateMysql(url as string, texts);
      await operate(
        'DROP TABLE IF EXISTS hub_unions',
        'CREATE TABLE hub_unions (t VARCHAR(40), n INT, f DOUBLE)',
        'DROP PROCEDURE IF EXISTS hub_inout',
        'CREATE PROCEDURE hub_inout(INOUT d DECIMAL(10, 2)) SET d = d + 1',
      );
      const write = async (text: string, contextJson: string) => {
        const command = /^\w+/.exec(text)?.[0] as string;
        const compiled = compileStatement(text, { dialect, command, variables: [] });
        const bound = compiled.bind({ pinnedJson: '', contextJson });
        return await ask(connection, bound.text, { ...bound, key: text + contextJson, kind: compiled.kind });
      };
      await write('INSERT INTO hub_unions (t) SELECT u.x FROM (SELECT :a AS x) AS u', '{"a":10.50}');
      await write('INSERT INTO hub_unions (t) SELECT :a UNION ALL SELECT :a', '{"a":10.50}');
      for (const column of ['n', 'f'])
        for (const a of ['"abc"', '"2026-03-04"', '{"b":1}'])
          await expect(
            write(`INSERT INTO hub_unions (${column}) SELECT :a UNION ALL SELECT :a`, `{"a":${a}}`),
          ).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      // MariaDB refuses this of a literal, too.
      const forms =
        dialect === 'mariadb'
          ? []
          : ["NULLIF(:a, '')", "IF(:a = '', NULL, :a)", "CASE WHEN :a <> '' THEN :a END"];
      for (const item of forms) {
        await write(`INSERT INTO hub_unions (f) VALUES (${item})`, '{"a":10.25}');
        await write(`DELETE FROM hub_unions WHERE f = ${item}`, '{"a":10.25}');
      }
      if (dialect === 'mysql') {
        await write("UPDATE hub_unions SET t = NULLIF(:a, '')", '{"a":10.50}');
        await write('DELETE FROM hub_unions WHERE t LIKE :a', '{"a":10.5}');
      }
      const row = { t: '10.50', n: null, f: null };
      expect((await ask(connection, 'SELECT * FROM hub_unions')).data).toEqual([row, row, row]);
      for (const [a, d] of [
        ['9.50', 10.5],
        ['9', 10],
        ['"9.5"', 10.5],
      ] as const)
        expect((await write('CALL hub_inout(:a)', `{"a":${a}}`)).data).toEqual([{ d }]);
      await operate('DROP TABLE hub_unions', 'DROP PROCEDURE hub_inout');
    });

    it('puts no text into JSON that it is beside', async () => {
      const other = 'JSON_OBJECT("a", 1)';
      for (const item of [`COALESCE(:x, ${other})`, `IF(id = 5, :x, ${other})`, `NULLIF(:x, ${other})`]) {
        const read = () => readJson(item, '"1, \\"admin\\": true"');
        if (dialect === 'mariadb') expect(await read()).toBe('1, "admin": true');
        else await expect(read(), item).rejects.toMatchObject({ code: 'CONTEXT_INVALID' });
      }
      const inParentheses = await readJson(`COALESCE((:x), ${other})`, '"1, \\"admin\\": true"');
      expect(inParentheses).toBe('1, "admin": true');
      expect(await readJson(`COALESCE(:x, ${other})`, '{"b":2}')).toEqual(
        dialect === 'mysql' ? { b: 2 } : '{"b":2}',
      );
    });

    it('takes the type of a changed column a minute later', async () => {
      const operate = (...texts: string[]) => operateMysql(url as string, texts);
      await operate(
        'DROP TABLE IF EXISTS hub_changed_types',
        'CREATE TABLE hub_changed_types (id int)',
        'INSERT INTO hub_changed_types VALUES (5)',
      );
      const changed = 'SELECT COALESCE(:x, id) AS r FROM hub_changed_types';
      const compiled = compileStatement(changed, { dialect, command: 'SELECT', variables: [] });
      const { text, ...bound } = compiled.bind({ pinnedJson: '', contextJson: '{"x":"abc"}' });
      const readText = async () => (await ask(connection, text, bound)).data;
      if (dialect === 'mysql') await expect(readText()).rejects.toMatchObject({ code: 'CONTEXT_INVALID' });
      else expect(await readText()).toEqual([{ r: 'abc' }]);
      await operate('ALTER TABLE hub_changed_types MODIFY id varchar(10)');
      const now = performance.now.bind(performance);
      const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
      try {
        expect(await readText()).toEqual([{ r: 'abc' }]);
        expect(await readText()).toEqual([{ r: 'abc' }]);
      } finally {
        later.mockRestore();
      }
      await operate('DROP TABLE hub_changed_types');
    });

    it('compares texts with numbers as before, and binds numbers as they are', async () => {
      expect(await read('id = :x', 'abc')).toBe(0);
      expect(await read('COALESCE(:x, id)', 1.5)).toBe(1.5);
      expect(await read("COALESCE(:x, 'b')", 'abc')).toBe('abc');
    });
  });
});
