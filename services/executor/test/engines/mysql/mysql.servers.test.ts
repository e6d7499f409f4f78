import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { type AskOptions, ask, dial, operateMysql, settingsOf } from '../../fixture.ts';

const servers = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const;

describe.each(servers)('%s', (name, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    const engine = createMysqlEngine();
    const open = (change: object = {}) =>
      engine.connect(
        { ...settingsOf(name, url as string), ...change },
        { dial, signal: AbortSignal.timeout(60_000) },
      );
    let connection: Connection;

    beforeAll(async () => {
      connection = await open();
    });
    afterAll(() => connection.close());

    const value = async (expression: string, asked: object = {}) =>
      (await ask(connection, `SELECT ${expression} AS v`, asked)).data[0]?.v;

    it('keeps the modes by which the server refuses values, and computes groups of variables', async () => {
      const read = await ask(connection, 'SELECT @@GLOBAL.sql_mode AS own, @@sql_mode AS used');
      const { own, used } = read.data[0] as { own: string; used: string };
      const kept = ['STRICT_ALL_TABLES', 'NO_ZERO_IN_DATE', 'NO_ZERO_DATE'].filter((mode) =>
        own.split(',').includes(mode),
      );
      expect(used.split(',').sort()).toEqual(
        ['ERROR_FOR_DIVISION_BY_ZERO', 'NO_ENGINE_SUBSTITUTION', 'STRICT_TRANS_TABLES', ...kept].sort(),
      );
      const grouped = 'SELECT FLOOR(a / ?) AS v FROM (SELECT 7 AS a) AS t GROUP BY FLOOR(a / ?)';
      expect((await ask(connection, grouped, { params: [2, 2] })).data).toEqual([{ v: 3 }]);
    });

    it.each<[string, unknown]>([
      ['NULL', null],
      ['1', 1],
      ['-5', -5],
      ['999999999999999', 999999999999999],
      ['1000000000000000', '1000000000000000'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['CAST(18446744073709551615 AS UNSIGNED)', '18446744073709551615'],
      ['CAST(4294967296 AS SIGNED)', 4294967296],
      ["CAST('12345678901234567890.12345' AS DECIMAL(30, 5))", '12345678901234567890.12345'],
      ['0.1e0', 0.1],
      ['1e300', 1e300],
      ["'a\\\"\\\\\\n😀'", 'a"\\\n😀'],
      ["''", ''],
      ["DATE '2026-11-20'", '2026-11-20'],
      ["CAST('13:04:05.123456' AS TIME(6))", '13:04:05.123456'],
      ["CAST('-100:00:01' AS TIME)", '-100:00:01'],
      ["CAST('2026-11-20 13:04:05' AS DATETIME)", '2026-11-20T13:04:05.000'],
      ["CAST('2026-11-20 13:04:05.120000' AS DATETIME(6))", '2026-11-20T13:04:05.120'],
      ["x'deadbeef'", '3q2+7w=='],
    ])('writes %s', async (expression, expected) => {
      expect(await value(expression)).toEqual(expected);
    });

    it('writes vectors of MySQL 9 as base64 of their bytes', async () => {
      if (!/^MySQL (9|\d\d)/.test(connection.serverVersion)) return;
      expect(await value("STRING_TO_VECTOR('[1,2.5]')")).toBe('AACAPwAAIEA=');
    });

    it('runs what the server does not prepare, and does not invent its columns', async () => {
      expect((await ask(connection, 'SHOW COUNT(*) WARNINGS')).data).toEqual([
        { '@@session.warning_count': 0 },
      ]);
      await ask(connection, 'CREATE TABLE IF NOT EXISTS unprepared (a INT)', { kind: 'standalone' });
      const text = 'CHECK TABLE unprepared';
      const { data } = await ask(connection, text, { kind: 'standalone' });
      expect(data).toMatchObject([{ Op: 'check', Msg_type: 'status', Msg_text: 'OK' }]);
      const described = connection.describe({ key: 'd', text, params: [], kind: 'standalone' });
      const columns = await described.then(
        (signature) => signature.columns.map((column) => column.name),
        ({ code }) => code,
      );
      expect(columns).toEqual(name === 'mysql' ? 'OPTION_REFUSED' : Object.keys(data[0] ?? {}));
      await ask(connection, 'DROP TABLE unprepared', { kind: 'standalone' });
      expect(connection.broken).toBe(false);
    });

    it('returns columns with any name', async () => {
      const { text } = await ask(
        connection,
        'SELECT 1 AS id, 2 AS id, 3 AS id_2, 4 AS `__proto__`, 5 AS `a"b`',
      );
      expect(text).toBe('{"data":[{"id":1,"id_3":2,"id_2":3,"__proto__":4,"a\\"b":5}]}');
      expect(connection.broken).toBe(false);
    });

    it('binds values of every kind', async () => {
      const { data } = await ask(connection, 'SELECT ? AS n, ? AS f, ? AS s, ? AS b, ? AS z', {
        params: [9007199254740991, 1.5, "o'h\\'", true, null],
      });
      expect(data).toEqual([{ n: '9007199254740991', f: 1.5, s: "o'h\\'", b: 1, z: null }]);
    });

    it.each([250, 251, 65_535, 65_536, 100_000])('binds a text of %d characters', async (length) => {
      for (const character of ['x', 'é', '😀']) {
        const text = character.repeat(length);
        const { data } = await ask(connection, 'SELECT ? AS s, ? AS n', { params: [text, 7] });
        expect(data).toEqual([{ s: text, n: 7 }]);
      }
    });

    it('binds numbers at the limits of their types', async () => {
      const numbers = [0, -1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32, 1e300];
      const params = [...numbers, 9223372036854775807n, -9223372036854775808n, { decimal: '-0.30' }, null, 7];
      const text = `SELECT CONCAT_WS(',', ${params.map(() => '?').join()}) AS v`;
      const { data } = await ask(connection, text, { params });
      expect(data).toEqual([
        {
          v: '0,-1,2147483647,2147483648,-2147483648,-2147483649,4294967296,1e300,9223372036854775807,-9223372036854775808,-0.30,7',
        },
      ]);
    });

    it('reads each result by its own columns', async () => {
      const text = 'SELECT ? AS v, 1 AS n';
      for (const [param, v] of [
        [7, 7],
        ['seven', 'seven'],
        ['seven', 'seven'],
        [1.5, 1.5],
        [null, null],
        [{ decimal: '0.70' }, 0.7],
        [7, 7],
      ] as const) {
        for (const numbers of ['auto', 'string'] as const) {
          const { data } = await ask(connection, text, { params: [param], numbers });
          expect(String(data[0]?.v), `${v}`).toMatch(new RegExp(`^${v}0*$`));
          expect(data[0]?.n).toSatisfy((n) => Number(n) === 1);
        }
      }
    });

    it('reads a table after its columns have changed', async () => {
      const read = 'SELECT * FROM hub_changes';
      await operateMysql(url as string, [
        'DROP TABLE IF EXISTS hub_changes',
        'CREATE TABLE hub_changes (a INT, b VARCHAR(10))',
        "INSERT INTO hub_changes VALUES (1, 'b')",
      ]);
      for (const [change, row] of [
        ["COMMENT = 'unchanged'", { a: 1, b: 'b' }],
        ['CHANGE b c VARCHAR(10)', { a: 1, c: 'b' }],
        ['CHANGE a a VARCHAR(10)', { a: '1', c: 'b' }],
        ['ADD d DOUBLE DEFAULT 1.5', { a: '1', c: 'b', d: 1.5 }],
        ['DROP a', { c: 'b', d: 1.5 }],
        ['CHANGE d d BIGINT', { c: 'b', d: 2 }],
      ] as const) {
        await operateMysql(url as string, [`ALTER TABLE hub_changes ${change}`]);
        for (let time = 0; time < 2; time++)
          expect((await ask(connection, read)).data, change).toEqual([row]);
      }
      await operateMysql(url as string, ['DROP TABLE hub_changes']);
    });

    it('has no limit of rows but its own, whatever the server sets', async () => {
      const read = 'SELECT @@sql_select_limit AS n';
      const rows = [{ n: '18446744073709551615' }];
      expect((await ask(connection, read)).data).toEqual(rows);
      await ask(connection, 'SET sql_select_limit = 3', { kind: 'standalone' });
      expect((await ask(connection, read)).data).toEqual(rows);
    });

    it('never writes with a read', async () => {
      await ask(connection, 'DROP TABLE IF EXISTS hub_unwritten', { kind: 'standalone' });
      await ask(connection, 'CREATE TABLE hub_unwritten (a INT)', { kind: 'standalone' });
      await expect(ask(connection, 'INSERT INTO hub_unwritten VALUES (1)')).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
      expect((await ask(connection, 'SELECT * FROM hub_unwritten')).data).toEqual([]);
      await ask(connection, 'DROP TABLE hub_unwritten', { kind: 'standalone' });
    });

    it('returns affected rows and ids of writes', async () => {
      await ask(connection, 'DROP TABLE IF EXISTS hub_auto', { kind: 'standalone' });
      await ask(connection, 'CREATE TABLE hub_auto (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)', {
        kind: 'standalone',
      });
      const insert = (options: object = {}) =>
        ask(connection, 'INSERT INTO hub_auto (v) VALUES (1), (2)', { kind: 'write', ...options });
      expect((await insert({ dryRun: true })).data).toMatchObject([{ affectedRows: 2 }]);
      await expect(insert({ maxAffected: 1 })).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
      expect((await insert()).data).toEqual([{ affectedRows: 2, insertId: expect.any(Number) }]);
      await expect(insert()).rejects.toMatchObject({ code: 'CONSTRAINT', sql: { state: '23000' } });
      expect((await ask(connection, 'SELECT COUNT(*) AS n FROM hub_auto')).data).toEqual([{ n: 2 }]);
      await ask(connection, 'DROP TABLE hub_auto', { kind: 'standalone' });
    });

    it('writes the numbers of a write as it was asked to', async () => {
      await ask(connection, 'DROP TABLE IF EXISTS hub_ids', { kind: 'standalone' });
      await ask(
        connection,
        'CREATE TABLE hub_ids (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 7',
        { kind: 'standalone' },
      );
      const insert = async (options: AskOptions) =>
        (await ask(connection, 'INSERT INTO hub_ids (v) VALUES (1)', { kind: 'write', ...options })).text;
      const answer = (count: string, id: string) => `{"data":[{"affectedRows":${count},"insertId":${id}}]}`;
      expect(await insert({ numbers: 'auto' })).toBe(answer('1', '7'));
      expect(await insert({ numbers: 'string' })).toBe(answer('"1"', '"8"'));
      expect(await insert({ numbers: 'number' })).toBe(answer('1', '9'));
      // MariaDB cannot continue after the last id, so the first one is far from it.
      await ask(connection, 'ALTER TABLE hub_ids AUTO_INCREMENT = 18446744073709551001', {
        kind: 'standalone',
      });
      expect(await insert({ numbers: 'auto' })).toBe(answer('1', '"18446744073709551001"'));
      expect(await insert({ numbers: 'string' })).toBe(answer('"1"', '"18446744073709551002"'));
      expect(await insert({ numbers: 'number' })).toBe(answer('1', '18446744073709551003'));
      expect(await insert({ format: 'csv' })).toBe('affectedRows,insertId\r\n1,18446744073709551004\r\n');
      const arrow = await ask(connection, 'INSERT INTO hub_ids (v) VALUES (1)', {
        ...{ kind: 'write', format: 'arrow' },
      });
      expect(
        tableFromIPC(arrow.bytes)
          .toArray()
          .map((row) => row.toJSON()),
      ).toEqual([{ affectedRows: 1n, insertId: 18446744073709551005n }]);
      await ask(connection, 'DROP TABLE hub_ids', { kind: 'standalone' });
    });

    it('returns negative ids, and none if the sign of the column is not known', async () => {
      const run = (text: string) => ask(connection, text, { kind: 'standalone' });
      await run('DROP TABLE IF EXISTS hub_signed, hub_unsigned');
      await run('CREATE TABLE hub_signed (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)');
      await run('CREATE TABLE hub_unsigned (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT)');
      await run('CREATE OR REPLACE VIEW hub_signed_view AS SELECT * FROM hub_signed');
      const insert = async (into: string, id: string, options: AskOptions = {}) => {
        const text = `INSERT INTO ${into} (id, v) VALUES (${id}, 1)`;
        return (await ask(connection, text, { kind: 'write', ...options })).text;
      };
      expect(await insert('hub_signed', '-5')).toBe('{"data":[{"affectedRows":1,"insertId":-5}]}');
      const least = '-9223372036854775808';
      expect(await insert('hub_signed', least, { format: 'csv' })).toBe(
        `affectedRows,insertId\r\n1,${least}\r\n`,
      );
      expect(await insert('hub_unsigned', '18446744073709551611', { numbers: 'string' })).toBe(
        '{"data":[{"affectedRows":"1","insertId":"18446744073709551611"}]}',
      );
      expect(await insert('hub_signed_view', '-6')).toBe('{"data":[{"affectedRows":1}]}');
      expect(await insert('hub_signed_view', '6')).toBe('{"data":[{"affectedRows":1,"insertId":6}]}');
      await run('DROP VIEW hub_signed_view');
      await run('DROP TABLE hub_signed, hub_unsigned');
    });

    it('keeps its connection after failing statements', async () => {
      for (let i = 0; i < 300; i++) {
        await expect(
          ask(connection, `SELECT ${i} FROM no_such_table`, { key: `k${i}` }),
        ).rejects.toMatchObject({
          code: 'SQL_REJECTED',
          sql: { state: '42S02' },
        });
      }
      expect(connection.broken).toBe(false);
      expect(await value('1')).toBe(1);
    });

    it('leaves no variable, lock or temporary table for the next statement', async () => {
      await ask(connection, 'SELECT @hub_seen := 42');
      await ask(connection, "SELECT GET_LOCK('hub', 0)");
      await ask(connection, 'CREATE TEMPORARY TABLE hub_temp (a INT)', { kind: 'standalone' });
      if (connection.broken) connection = await open();
      expect((await ask(connection, "SELECT @hub_seen AS v, IS_FREE_LOCK('hub') AS f")).data).toEqual([
        { v: null, f: 1 },
      ]);
      if (connection.broken) connection = await open();
      await expect(ask(connection, 'SELECT * FROM hub_temp')).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    });

    it('cancels a statement at the database', async () => {
      const running = ask(connection, 'SELECT SLEEP(600), BENCHMARK(1000000000, SHA2(1, 512))').catch(
        (err) => err,
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
      await connection.cancel(AbortSignal.timeout(30_000));
      const outcome = await running;
      expect(outcome instanceof Error ? outcome : {}).toMatchObject({ code: 'CANCELLED' });
      if (connection.broken) connection = await open();
      expect(await value('2')).toBe(2);
    });

    it('has no values in its errors', async () => {
      const secret = 'canary-4711';
      for (const text of ['SELECT CAST(? AS JSON)', 'SELECT UUID_TO_BIN(?)', 'SELECT ST_GeomFromText(?)']) {
        const err = await ask(connection, text, { params: [secret] }).catch((failure) => failure);
        expect(`${err.message ?? ''}${JSON.stringify(err)}`).not.toContain(secret);
      }
    });
  });
});
